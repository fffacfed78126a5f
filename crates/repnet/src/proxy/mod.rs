//! RepNet for any program: a sidecar. A route with `replicate: "in"` stands in front of a server
//! (Redis, memcached, nginx), one with `replicate: "out"` behind a client. Its configuration and
//! its metrics are the same as in the npm package's `repnet-proxy`.

mod command;
mod config;
mod environment;
mod metrics;
mod relay;
mod reload;

pub use command::{ProxyCommand, execute};
pub use config::{ProxyConfig, RouteConfig, Side, parse, route_of_flag};
pub use environment::settings_of_environment;
pub use tailcut_proxy::Endpoint;

use crate::connector::Connector;
use crate::counters::{Counters, Stats};
use crate::listener::TcpListener;
use crate::stream::TcpStream;
use anyhow::Result;
use metrics::{RouteCounts, render};
use relay::{Failed, RelayEnd, relay};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_proxy::BACK_OFF;
use tailcut_proxy::admin::{Admin, Pages};
use tokio::net;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a route's flows share, also after the route has gone.
struct Flows {
    config: RouteConfig,
    counts: RouteCounts,
    /// How many are open.
    open: watch::Sender<usize>,
    /// Whether they are to be reset.
    cut: watch::Sender<bool>,
}

impl Flows {
    fn of(config: &RouteConfig) -> Arc<Self> {
        Arc::new(Self {
            config: config.clone(),
            counts: RouteCounts::default(),
            open: watch::Sender::new(0),
            cut: watch::Sender::new(false),
        })
    }
}

/// A route that accepts. Dropping it closes its port; its flows go on.
struct Route {
    flows: Arc<Flows>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Route {
    /// Configuration with the port that the system chose, where the port was 0.
    fn bound(&self) -> RouteConfig {
        let mut config = self.flows.config.clone();
        config.listen.port = self.address.port();
        config
    }

    /// Closes its port, and waits until it is free.
    async fn close(mut self) -> Arc<Flows> {
        self.accepting.abort();
        // It was aborted: what it ended with says no more.
        let _ = (&mut self.accepting).await;
        Arc::clone(&self.flows)
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

struct Shown {
    routes: Mutex<Vec<Arc<Flows>>>,
    counters: Counters,
    is_accepting: AtomicBool,
}

impl Shown {
    fn routes(&self) -> MutexGuard<'_, Vec<Arc<Flows>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for Shown {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Ordering::Relaxed)
    }

    fn metrics(&self) -> String {
        let routes = self.routes();
        let routes = routes
            .iter()
            .map(|flows| (flows.config.name.as_str(), &flows.counts));
        render(routes, &self.counters.snapshot())
    }
}

/// A proxy that accepts.
pub struct Proxy {
    routes: Vec<Route>,
    admin: Option<Admin>,
    shown: Arc<Shown>,
    drain_timeout: Duration,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.routes.iter().map(|route| &route.flows.config.name);
        f.debug_struct("Proxy")
            .field("routes", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// Listens on every route and on the admin address, or on none.
    ///
    /// # Errors
    /// An address that cannot be listened on, with its route.
    pub async fn start(config: &ProxyConfig) -> Result<Self> {
        let shown = Arc::new(Shown {
            routes: Mutex::default(),
            counters: Counters::new(),
            is_accepting: AtomicBool::new(true),
        });
        let mut proxy = Self {
            routes: Vec::new(),
            admin: None,
            shown,
            drain_timeout: config.drain_timeout,
        };
        proxy.reload(config).await?;
        Ok(proxy)
    }

    /// Where a route listens; of use where its port was 0.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let route = self
            .routes
            .iter()
            .find(|route| route.flows.config.name == name)?;
        Some(route.address)
    }

    /// Where health and metrics are served.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Counters of its flows.
    pub fn stats(&self) -> Stats {
        self.shown.counters.snapshot()
    }

    /// Stops accepting, lets open flows finish for the drain timeout, and resets the rest.
    pub async fn stop(mut self) {
        self.shown.is_accepting.store(false, Ordering::Relaxed);
        self.routes.clear();
        let flows: Vec<Arc<Flows>> = self.shown.routes().drain(..).collect();
        self.shown.routes().extend(flows.iter().cloned());
        let idle = async {
            for flows in &flows {
                // Fails only when the sender is gone, which is held here.
                let _ = flows.open.subscribe().wait_for(|open| *open == 0).await;
            }
        };
        if tokio::time::timeout(self.drain_timeout, idle).await.is_ok() {
            return;
        }
        for flows in &flows {
            flows.cut.send_replace(true);
        }
        for flows in &flows {
            let _ = flows.open.subscribe().wait_for(|open| *open == 0).await;
        }
    }
}

/// In front of a server.
async fn serve_in(listener: TcpListener, flows: Arc<Flows>) {
    loop {
        match listener.accept().await {
            Ok((accepted, _)) => {
                // The two connections of a replicated flow say so themselves.
                let _ = accepted.set_nodelay(true);
                let to = flows.config.to.clone();
                let target = async move {
                    let stream = net::TcpStream::connect((to.host.as_str(), to.port)).await?;
                    stream.set_nodelay(true)?;
                    Ok(TcpStream::plain(stream))
                };
                tokio::spawn(carry(Arc::clone(&flows), accepted, target));
            }
            Err(_) => tokio::time::sleep(BACK_OFF).await,
        }
    }
}

/// Behind a client.
async fn serve_out(listener: net::TcpListener, connector: Connector, flows: Arc<Flows>) {
    loop {
        match listener.accept().await {
            Ok((accepted, _)) => {
                let _ = accepted.set_nodelay(true);
                let to = flows.config.to.clone();
                let connector = connector.clone();
                let target = async move {
                    let stream = connector.connect(&to.host, to.port).await?;
                    stream.set_nodelay(true)?;
                    Ok(stream)
                };
                let accepted = TcpStream::plain(accepted);
                tokio::spawn(carry(Arc::clone(&flows), accepted, target));
            }
            Err(_) => tokio::time::sleep(BACK_OFF).await,
        }
    }
}

/// One flow.
async fn carry(
    flows: Arc<Flows>,
    accepted: TcpStream,
    target: impl Future<Output = io::Result<TcpStream>>,
) {
    let counts = &flows.counts;
    flows.open.send_modify(|open| *open += 1);
    counts.flows.inc();
    counts.active.inc();
    let mut cut = flows.cut.subscribe();
    let target = tokio::select! {
        target = target => Some(target),
        _ = cut.wait_for(|cut| *cut) => None,
    };
    let end = match target {
        Some(Ok(target)) => {
            let cut = async move { drop(cut.wait_for(|cut| *cut).await) };
            relay(accepted, target, cut).await
        }
        failed => {
            accepted.reset();
            RelayEnd {
                failed: Some(match failed {
                    Some(_) => Failed::Target,
                    None => Failed::Cut,
                }),
                ..RelayEnd::default()
            }
        }
    };
    counts.bytes_in.inc_by(end.bytes_in);
    counts.bytes_out.inc_by(end.bytes_out);
    let failed = end.failed.map(|failed| match failed {
        Failed::Accepted => &counts.accepted_errors,
        Failed::Target => &counts.target_errors,
        Failed::Cut => &counts.cut,
    });
    if let Some(failed) = failed {
        failed.inc();
    }
    counts.active.dec();
    flows.open.send_modify(|open| *open -= 1);
}
