//! A gateway: its listeners, and the routes behind them. It takes a new configuration while it runs: as a whole,
//! or not at all.

use super::body::Reply;
use super::config::{GatewayConfig, RouteConfig};
use super::metrics::{self, Shown};
use super::route::Route;
use super::translate::Caller;
use crate::socket::SocketOptions;
use anyhow::{Context as _, Result};
use http::{Request, Response};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_proxy::Running;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{Accept, Listeners, Site, Slot, Wanted};
use tailcut_proxy::tls::{self, ServerConfig, Stream};
use tokio::net::TcpStream;

/// The route behind a listener now.
#[derive(Clone)]
struct Behind {
    route: Arc<Route>,
    tls: Option<Arc<ServerConfig>>,
}

impl Behind {
    async fn open(config: &RouteConfig, before: Option<&Arc<Route>>) -> Result<Self> {
        let tls = config.tls.as_ref().map(|tls| tls.config(&tls::HTTP));
        let tls = tls.transpose();
        let tls = tls.with_context(|| format!("route {}", config.name))?;
        let route = match before {
            Some(before) if before.config == *config => Arc::clone(before),
            _ => Route::open(config, before.map(|before| &**before)).await?,
        };
        Ok(Self { route, tls })
    }
}

impl Accept for Behind {
    type Stream = Stream;
    /// Whether it is TLS.
    type Told = bool;

    async fn accept(&self, stream: TcpStream) -> io::Result<(Stream, bool)> {
        SocketOptions::default().set(&stream);
        tls::accept(self.tls.clone(), stream).await
    }
}

impl Site for Behind {
    type Body = Reply;
    type Error = Infallible;

    fn answer(
        self,
        address: SocketAddr,
        is_secure: bool,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Reply>, Infallible>> + Send + 'static {
        let caller = Caller { address, is_secure };
        async move { Ok(self.route.answer(caller, request).await) }
    }
}

/// What is known of a gateway from outside.
struct Known {
    doors: Mutex<Vec<Slot<Behind>>>,
    is_accepting: AtomicBool,
}

impl Known {
    fn doors(&self) -> MutexGuard<'_, Vec<Slot<Behind>>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for Known {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        let doors = self.doors();
        let routes: Vec<_> = doors
            .iter()
            .map(|slot| (slot.site().route, slot.connections()))
            .collect();
        let shown = routes.iter().map(|(route, connections)| Shown {
            route,
            connections: *connections,
        });
        metrics::page(&shown.collect::<Vec<_>>())
    }
}

/// A gateway that accepts.
pub struct Gateway {
    doors: Listeners<Behind>,
    admin: Option<Admin>,
    known: Arc<Known>,
    drain: Duration,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.doors.all().map(|(name, ..)| name);
        f.debug_struct("Gateway")
            .field("routes", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Where a route listens; of use where its port was 0.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let mut doors = self.doors.all();
        doors.find_map(|(known, at, _)| (known == name).then_some(at))
    }

    /// Where health and metrics are served.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// The page of metrics.
    pub fn metrics(&self) -> String {
        self.known.metrics()
    }
}

impl Running for Gateway {
    const NAME: &'static str = "tailcut gateway";
    const WORK: &'static str = "requests";
    type Config = GatewayConfig;

    fn routes(config: &GatewayConfig) -> usize {
        config.routes.len()
    }

    fn files(config: &GatewayConfig) -> Vec<PathBuf> {
        config.files()
    }

    /// Listens on every route and on the admin address, or on none.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a replica's name that cannot be resolved, with its route.
    async fn start(config: &GatewayConfig) -> Result<Self> {
        let known = Known {
            doors: Mutex::default(),
            is_accepting: AtomicBool::new(true),
        };
        let mut gateway = Self {
            doors: Listeners::default(),
            admin: None,
            known: Arc::new(known),
            drain: config.drain,
        };
        gateway.reload(config).await?;
        Ok(gateway)
    }

    fn addresses(&self, config: &GatewayConfig) -> Vec<String> {
        let mut lines = Vec::new();
        for route in &config.routes {
            if let Some(at) = self.address(&route.name) {
                let replicas = route.replicas.iter().map(|replica| replica.to.to_string());
                let replicas = replicas.collect::<Vec<_>>().join(", ");
                let tls = if route.tls.is_some() { " (TLS)" } else { "" };
                lines.push(format!("{}: {at}{tls} -> {replicas}", route.name));
            }
        }
        let admin = self.admin_address();
        lines.extend(admin.map(|at| format!("admin: http://{at}/metrics")));
        lines
    }

    /// Takes a new configuration. Listeners whose address stays go on with what is behind them now: no connection
    /// is refused. Requests that are open end as they began.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a replica's name that cannot be resolved. Then every route is as
    /// it was.
    async fn reload(&mut self, config: &GatewayConfig) -> Result<()> {
        let asked = config.admin.as_ref();
        let admin = Admin::other(self.admin.as_ref(), asked, &self.known).await?;
        let mut wanted = Vec::new();
        let mut replaced = Vec::new();
        for config in &config.routes {
            let mut doors = self.doors.all().map(|(.., slot)| slot.site().route);
            let old = doors.find(|old| old.config.name == config.name);
            let site = Behind::open(config, old.as_ref()).await?;
            replaced.extend(old.filter(|old| !Arc::ptr_eq(old, &site.route)));
            wanted.push(Wanted {
                name: config.name.clone(),
                listen: config.listen.clone(),
                limits: config.limits.front,
                site,
            });
        }
        self.doors.exchange(wanted).await?;
        for old in replaced {
            // Its successor has the same counts.
            old.counts.keep(old.pool().client.counts());
        }
        self.drain = config.drain;
        *self.known.doors() = self.doors.all().map(|(.., slot)| slot.clone()).collect();
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
    }

    /// Stops accepting, lets open requests end for the drain timeout, and resets the rest.
    async fn stop(self) {
        self.known.is_accepting.store(false, Relaxed);
        self.doors.stop(self.drain).await;
    }
}
