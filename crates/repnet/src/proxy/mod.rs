//! RepNet for any program, as a sidecar proxy.
//! A route with `replicate = "in"` is in front of a server (Redis, memcached, nginx).
//! A route with `replicate = "out"` is behind a client.
//! The proxy also reads the configuration of the npm package's `repnet-proxy`, and has the same metrics.

mod command;
mod config;
mod metrics;
mod relay;
mod reload;

pub use command::{ProxyCommand, execute};
pub use config::{Limits, ProxyConfig, RouteConfig, Side, add_environment, add_route};
pub use tailcut_proxy::Endpoint;

use crate::connector::Connector;
use crate::counters::{Counters, Stats};
use crate::listener::TcpListener;
use crate::stream::TcpStream;
use anyhow::{Context, Result};
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
use tailcut_proxy::tls::{self, ServerConfig, Stream};
use tailcut_proxy::{Running as _, report};
use tokio::net;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// State that a route's flows share. It exists until the last flow ends, even if the route was removed.
struct Flows {
    config: RouteConfig,
    counts: RouteCounts,
    /// Number of open flows.
    open: watch::Sender<usize>,
    /// Whether all open flows have to be reset.
    cut: watch::Sender<bool>,
    tls: Option<Arc<ServerConfig>>,
    /// Semaphore that limits the number of open flows.
    places: Arc<Semaphore>,
}

impl Flows {
    fn of(config: &RouteConfig) -> Result<Arc<Self>> {
        let tls = config.tls.as_ref().map(|tls| tls.config(&[]));
        let naming = || format!("route {}", config.name);
        Ok(Arc::new(Self {
            config: config.clone(),
            counts: RouteCounts::default(),
            open: watch::Sender::new(0),
            cut: watch::Sender::new(false),
            tls: tls.transpose().with_context(naming)?,
            places: Arc::new(Semaphore::new(config.limits.connections as usize)),
        }))
    }

    /// Waits until another flow may be opened. The result is never `None`.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }
}

/// Longest time for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Route that accepts flows. Dropping it closes its port. Its flows continue.
struct Route {
    flows: Arc<Flows>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Route {
    /// Returns the configuration. If the configured port was 0, the result has the port that the system chose.
    fn bound(&self) -> RouteConfig {
        let mut config = self.flows.config.clone();
        config.listen.port = self.address.port();
        config
    }

    /// Closes the route's port, and waits until the port is free.
    async fn close(mut self) -> Arc<Flows> {
        self.accepting.abort();
        // The task was aborted, so its result has no meaning.
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

/// Proxy that accepts flows.
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
    /// Returns the address of a route's listener. The caller needs it if the configured port was 0.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let route = self
            .routes
            .iter()
            .find(|route| route.flows.config.name == name)?;
        Some(route.address)
    }

    /// Returns the address of the admin server for health and metrics.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Returns the counters of the proxy's flows.
    pub fn stats(&self) -> Stats {
        self.shown.counters.snapshot()
    }
}

/// Accepts flows on a route in front of a server.
async fn serve_in(listener: TcpListener, flows: Arc<Flows>) {
    while let Some(place) = flows.place().await {
        match listener.accept().await {
            Ok((accepted, from)) => {
                // Replicated connections set the option themselves. An error means that the connection has ended.
                let _ = accepted.set_nodelay(true);
                let to = flows.config.to.clone();
                let liveness = flows.config.settings.liveness;
                let target = async move {
                    let stream = net::TcpStream::connect((to.host.as_str(), to.port)).await?;
                    stream.set_nodelay(true)?;
                    liveness.apply(&stream);
                    Ok(TcpStream::plain(stream, &liveness))
                };
                let flow = carry(Arc::clone(&flows), from, accepted, target);
                tokio::spawn(async move {
                    flow.await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(BACK_OFF).await,
        }
    }
}

/// Accepts flows on a route behind a client.
async fn serve_out(listener: net::TcpListener, connector: Connector, flows: Arc<Flows>) {
    let liveness = flows.config.settings.liveness;
    // Accepted connections inherit these options.
    liveness.apply(&listener);
    while let Some(place) = flows.place().await {
        match listener.accept().await {
            Ok((accepted, from)) => {
                let _ = accepted.set_nodelay(true);
                let to = flows.config.to.clone();
                let connector = connector.clone();
                let target = async move {
                    let stream = connector.connect(&to.host, to.port).await?;
                    stream.set_nodelay(true)?;
                    Ok(stream)
                };
                let accepted = TcpStream::plain(accepted, &liveness);
                let flow = carry(Arc::clone(&flows), from, accepted, target);
                tokio::spawn(async move {
                    flow.await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(BACK_OFF).await,
        }
    }
}

/// Carries one flow from a client at `from`.
async fn carry(
    flows: Arc<Flows>,
    from: SocketAddr,
    accepted: TcpStream,
    target: impl Future<Output = io::Result<TcpStream>>,
) {
    let counts = &flows.counts;
    flows.open.send_modify(|open| *open += 1);
    counts.flows.inc();
    counts.active.inc();
    let started = Instant::now();
    let cut = flows.cut.subscribe();
    let end = match open_both(&flows, cut.clone(), accepted, target).await {
        Ok((accepted, target)) => {
            counts.connect.observe(started.elapsed().as_secs_f64());
            let mut cut = cut;
            let cut = async move { drop(cut.wait_for(|cut| *cut).await) };
            relay(accepted, target, cut).await
        }
        Err(failed) => RelayEnd {
            failed: Some(failed),
            ..RelayEnd::default()
        },
    };
    let lasted = started.elapsed();
    counts.bytes_in.inc_by(end.bytes_in);
    counts.bytes_out.inc_by(end.bytes_out);
    counts.whole.observe(end.winner, lasted);
    if let Some(answered) = end.answered {
        let after = answered.duration_since(started);
        counts.first_byte.observe(end.winner, after);
    }
    if let Some(failed) = &end.failed {
        match failed {
            Failed::Accepted(_) => counts.accepted_errors.inc(),
            Failed::Target(_) => counts.target_errors.inc(),
            Failed::Cut => counts.cut.inc(),
        };
        let RouteConfig { name, to, .. } = &flows.config;
        let (bytes_in, bytes_out) = (end.bytes_in, end.bytes_out);
        let seconds = lasted.as_secs_f64();
        let what = format!(
            "{name}: flow from {from} to {to} failed after {seconds:.3} s: {failed} ({bytes_in} bytes in, \
             {bytes_out} bytes out)"
        );
        report(Proxy::NAME, &what);
    }
    counts.active.dec();
    flows.open.send_modify(|open| *open -= 1);
}

/// Waits for the TLS handshake of the accepted connection, and then for the connection to the target.
async fn open_both(
    flows: &Flows,
    mut cut: watch::Receiver<bool>,
    accepted: TcpStream,
    target: impl Future<Output = io::Result<TcpStream>>,
) -> Result<(Stream<TcpStream>, TcpStream), Failed> {
    let shaken = timeout(HANDSHAKE_TIME, tls::accept(flows.tls.clone(), accepted));
    let accepted = tokio::select! {
        shaken = shaken => match shaken {
            Ok(Ok((accepted, _))) => accepted,
            Ok(Err(error)) => return Err(Failed::Accepted(error)),
            Err(_) => {
                let error = "no TLS handshake in time";
                return Err(Failed::Accepted(io::Error::new(io::ErrorKind::TimedOut, error)));
            }
        },
        _ = cut.wait_for(|cut| *cut) => return Err(Failed::Cut),
    };
    let target = tokio::select! {
        target = target => target.map_err(Failed::Target),
        _ = cut.wait_for(|cut| *cut) => Err(Failed::Cut),
    };
    match target {
        Ok(target) => Ok((accepted, target)),
        Err(failed) => {
            accepted.into_socket().reset();
            Err(failed)
        }
    }
}
