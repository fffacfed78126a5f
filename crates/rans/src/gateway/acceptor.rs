//! Gateway with its listeners and the routes behind them.
//! At run time, a new configuration is applied completely, or not at all.

use super::body::ResponseBody;
use super::config::{GatewayConfig, RouteConfig};
use super::metrics::{self, RouteMetrics};
use super::route::{Route, refused};
use super::translate::ClientInfo;
use crate::request_head::Refusal;
use crate::request_log::{Record, RecordedBody, RouteLog};
use crate::socket::SocketOptions;
use anyhow::{Context as _, Result, bail};
use http::{Method, Request, Response, StatusCode};
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
use tailcut_proxy::http::{Accept, ClientBody, HttpService, ListenerSpec, Listeners, Slot};
use tailcut_proxy::log::{Log, OpenLogs};
use tailcut_proxy::tls::{self, ServerConfig, Stream};
use tokio::net::TcpStream;

/// Routes that a listener uses at present, at least one.
#[derive(Clone)]
struct RouteTarget {
    routes: Arc<[Arc<Route>]>,
    tls: Option<Arc<ServerConfig>>,
}

/// Opens a route. A former route with this name passes its counters and connections on.
async fn open(config: &RouteConfig, before: Option<&Arc<Route>>, log: &Log) -> Result<Arc<Route>> {
    match before {
        Some(before) if before.config == *config => Ok(Arc::clone(before)),
        _ => Route::open(config, before.map(|before| &**before), log).await,
    }
}

fn server_config(config: &RouteConfig) -> Result<Option<Arc<ServerConfig>>> {
    let tls = config.tls.as_ref().map(|tls| tls.config(&tls::HTTP));
    let tls = tls.transpose();
    tls.with_context(|| format!("route {}", config.name))
}

impl RouteTarget {
    /// Returns the first route that takes a request.
    fn choose<B>(&self, request: &Request<B>) -> Option<&Arc<Route>> {
        let mut routes = self.routes.iter();
        routes.find(|route| route.config.matching.accepts(request))
    }

    /// Returns the log for a request that no route takes. It is counted with the first route.
    fn log_of_nobody(&self) -> Option<RouteLog> {
        let log = self.routes.first()?.log.clone();
        let route = "none".into();
        Some(RouteLog { route, ..log })
    }
}

impl Accept for RouteTarget {
    type Stream = Stream;
    /// Whether the connection uses TLS.
    type ConnectionInfo = bool;

    fn expects_proxy_header(&self) -> bool {
        // The first route has the keys of the listener.
        let first = self.routes.first();
        first.is_some_and(|route| route.config.proxy_protocol)
    }

    async fn accept(&self, stream: TcpStream) -> io::Result<(Stream, bool)> {
        SocketOptions::default().set(&stream);
        tls::accept(self.tls.clone(), stream).await
    }
}

impl HttpService for RouteTarget {
    type Body = RecordedBody<ResponseBody>;
    type Error = Infallible;

    fn answer(
        self,
        address: SocketAddr,
        is_secure: bool,
        mut request: Request<ClientBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Infallible>> + Send + 'static {
        let client_info = ClientInfo { address, is_secure };
        let route = self.choose(&request).cloned();
        let log = route.as_ref().map(|route| route.log.clone());
        // The record begins before the future is polled. A client may leave earlier.
        let log = log.or_else(|| self.log_of_nobody()).unwrap_or_default();
        let record = Record::begin(log, address, &mut request);
        async move {
            let answer = match route {
                Some(route) => route.answer(client_info, request).await,
                None => refused(
                    Refusal(StatusCode::NOT_FOUND, "no route takes this request\n"),
                    request.method() == Method::HEAD,
                ),
            };
            Ok(record.answered(answer))
        }
    }
}

/// State of a gateway that the admin page shows.
struct GatewayStatus {
    listeners: Mutex<Vec<Slot<RouteTarget>>>,
    is_accepting: AtomicBool,
    log: Log,
}

impl GatewayStatus {
    fn listeners(&self) -> MutexGuard<'_, Vec<Slot<RouteTarget>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for GatewayStatus {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        let listeners = self.listeners();
        let routes: Vec<_> = listeners
            .iter()
            .flat_map(|slot| {
                let routes: Vec<_> = slot.service().routes.iter().cloned().collect();
                // The connections of a listener are counted with its first route.
                let connections = std::iter::once(Some(slot.connections()));
                routes
                    .into_iter()
                    .zip(connections.chain(std::iter::repeat(None)))
            })
            .collect();
        let shown = routes.iter().map(|(route, connections)| RouteMetrics {
            route,
            connections: *connections,
        });
        metrics::page(&shown.collect::<Vec<_>>(), self.log.dropped())
    }
}

/// Gateway that accepts requests.
pub struct Gateway {
    listeners: Listeners<RouteTarget>,
    admin: Option<Admin>,
    status: Arc<GatewayStatus>,
    drain: Duration,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.listeners.all().map(|(name, ..)| name);
        f.debug_struct("Gateway")
            .field("routes", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Returns the address of a route's listener. The caller needs it if the configured port was 0.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let mut listeners = self.listeners.all();
        listeners.find_map(|(_, at, slot)| {
            let target = slot.service();
            let mut routes = target.routes.iter();
            routes
                .any(|route| route.config.name == name)
                .then_some(at)
                .flatten()
        })
    }

    /// Returns the address of the admin server for health and metrics.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Returns the text of the metrics page.
    pub fn metrics(&self) -> String {
        self.status.metrics()
    }

    /// Applies a configuration. At the start, a route may have replicas whose names cannot be resolved yet.
    async fn apply(&mut self, config: &GatewayConfig, is_start: bool) -> Result<()> {
        // All steps that can fail come before the first change, so that a failed reload changes nothing.
        let mut logs = Some(OpenLogs::open(&config.log)?);
        if is_start && let Some(logs) = logs.take() {
            self.status.log.set(logs);
        }
        let admin_endpoint = config.admin.as_ref();
        let admin =
            Admin::start_if_changed(self.admin.as_ref(), admin_endpoint, &self.status).await?;
        let former: Vec<Arc<Route>> = self
            .listeners
            .all()
            .flat_map(|(.., slot)| slot.service().routes.iter().cloned().collect::<Vec<_>>())
            .collect();
        let mut specs: Vec<ListenerSpec<RouteTarget>> = Vec::new();
        let mut replaced = Vec::new();
        for config in &config.routes {
            let old = former.iter().find(|old| old.config.name == config.name);
            let route = open(config, old, &self.status.log).await?;
            if !is_start && route.pool().members.is_empty() {
                bail!("route {}: no replica's name can be resolved", config.name);
            }
            replaced.extend(old.filter(|old| !Arc::ptr_eq(old, &route)).cloned());
            // Each listener with port 0 gets another port.
            let is_shared = |spec: &&mut ListenerSpec<_>| {
                spec.listen == config.listen && !config.listen.has_any_port()
            };
            if let Some(spec) = specs.iter_mut().find(is_shared) {
                let routes = spec.service.routes.iter().cloned().chain([route]);
                spec.service.routes = routes.collect();
                continue;
            }
            specs.push(ListenerSpec {
                name: config.name.clone(),
                listen: config.listen.clone(),
                mode: config.listen_mode,
                limits: config.limits.listener,
                service: RouteTarget {
                    routes: [route].into(),
                    tls: server_config(config)?,
                },
            });
        }
        self.listeners.exchange(specs).await?;
        for old in replaced {
            // The new route shares the counters of the old route, so no count is lost.
            old.counts.keep(old.pool().counts());
        }
        self.drain = config.drain;
        if let Some(logs) = logs {
            self.status.log.set(logs);
        }
        // The admin page reads this list, so the list changes only after the exchange has succeeded.
        *self.status.listeners() = self
            .listeners
            .all()
            .map(|(.., slot)| slot.clone())
            .collect();
        // If an address is configured, `None` means that the present admin server already uses this address.
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
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

    /// Opens the listeners of all routes and the admin address. If one fails, none stays open.
    ///
    /// # Errors
    /// An address that cannot be listened on. The error also names the route.
    async fn start(config: &GatewayConfig) -> Result<Self> {
        let status = GatewayStatus {
            listeners: Mutex::default(),
            is_accepting: AtomicBool::new(true),
            log: Log::default(),
        };
        let mut gateway = Self {
            listeners: Listeners::default(),
            admin: None,
            status: Arc::new(status),
            drain: config.drain,
        };
        gateway.apply(config, true).await?;
        Ok(gateway)
    }

    fn log(&self) -> Option<&Log> {
        Some(&self.status.log)
    }

    fn addresses(&self, config: &GatewayConfig) -> Vec<String> {
        let mut lines = Vec::new();
        for route in &config.routes {
            let bound = self.address(&route.name).map(|at| at.to_string());
            let unix = route
                .listen
                .tcp()
                .is_none()
                .then(|| route.listen.to_string());
            if let Some(at) = bound.or(unix) {
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

    /// Applies a new configuration.
    /// A listener whose address is unchanged stays open and uses its new route, so no connection is refused.
    /// Open requests finish with their old route.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a route whose replicas have no address.
    /// All routes then stay unchanged.
    async fn reload(&mut self, config: &GatewayConfig) -> Result<()> {
        self.apply(config, false).await
    }

    /// Stops accepting, lets open requests finish during the drain time, and resets all others.
    async fn stop(self) {
        self.status.is_accepting.store(false, Relaxed);
        self.listeners.stop(self.drain).await;
        self.status.log.close();
    }
}
