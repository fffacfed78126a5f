//! Reload of a proxy at run time: a new configuration is applied completely, or not at all.

use super::config::Side;
use super::{Flows, Proxy, ProxyConfig, Route, Shown, serve_in, serve_out};
use crate::connector::Connector;
use crate::counters::Counters;
use crate::listener::TcpListener;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tailcut_proxy::admin::Admin;
use tailcut_proxy::{Endpoint, ListenerFactory, Running, exchange};

impl Running for Proxy {
    const NAME: &'static str = "tailcut proxy";
    const WORK: &'static str = "flows";
    type Config = ProxyConfig;

    fn routes(config: &ProxyConfig) -> usize {
        config.routes.len()
    }

    fn files(config: &ProxyConfig) -> Vec<PathBuf> {
        config.files()
    }

    /// Opens the listeners of all routes and the admin address. If one fails, none stays open.
    ///
    /// # Errors
    /// An address that cannot be listened on. The error also names its route.
    async fn start(config: &ProxyConfig) -> Result<Self> {
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

    fn addresses(&self, config: &ProxyConfig) -> Vec<String> {
        let mut lines = Vec::new();
        for route in &config.routes {
            let side = match route.replicate {
                Side::In => "in",
                Side::Out => "out",
            };
            let tls = if route.tls.is_some() { " (TLS)" } else { "" };
            if let Some(at) = self.address(&route.name) {
                let (name, to) = (&route.name, &route.to);
                lines.push(format!("{name}: {at}{tls} -> {to} (replicate={side})"));
            }
        }
        let admin = self.admin_address();
        lines.extend(admin.map(|at| format!("admin: http://{at}/metrics")));
        lines
    }

    /// Applies a new configuration. Unchanged routes continue. Changed routes are closed and opened.
    /// Flows always continue.
    ///
    /// # Errors
    /// An address that cannot be listened on. All routes then stay unchanged and listen on their old addresses.
    /// If another process has meanwhile taken one of the old ports, the error names the route.
    async fn reload(&mut self, config: &ProxyConfig) -> Result<()> {
        // New sockets are opened before old ones are closed.
        let asked = config.admin.as_ref();
        let admin = Admin::start_if_changed(self.admin.as_ref(), asked, &self.shown).await?;
        let plan = |route: &_| {
            let flows = Flows::of(route)?;
            let at = flows.config.listen.clone();
            Ok(Plan { flows, at })
        };
        let plans = config.routes.iter().map(plan).collect::<Result<_>>()?;
        exchange(&*self.shown, &mut self.routes, plans).await?;

        self.drain_timeout = config.drain_timeout;
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        // A removed route stays in the metrics only while it has open flows.
        let mut shown = self.shown.routes();
        shown.retain(|flows| *flows.open.borrow() > 0);
        for route in &self.routes {
            if !shown.iter().any(|flows| Arc::ptr_eq(&route.flows, flows)) {
                shown.push(Arc::clone(&route.flows));
            }
        }
        Ok(())
    }

    /// Stops accepting, lets open flows finish during the drain time, and resets all others.
    async fn stop(mut self) {
        self.shown.is_accepting.store(false, Ordering::Relaxed);
        self.routes.clear();
        let flows: Vec<Arc<Flows>> = self.shown.routes().drain(..).collect();
        self.shown.routes().extend(flows.iter().cloned());
        let idle = async {
            for flows in &flows {
                // The wait fails only if the sender is dropped. `flows` holds the sender, so the wait cannot fail.
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

/// Route whose listener is open, but which does not accept flows yet.
pub(super) struct Plan {
    flows: Arc<Flows>,
    at: Endpoint,
}

impl ListenerFactory for Shown {
    type Plan = Plan;
    type Open = Route;

    fn serves(open: &Route, plan: &Plan) -> bool {
        open.flows.config == plan.flows.config
    }

    fn collide(open: &Route, plan: &Plan) -> bool {
        open.bound().shares_port(&plan.flows.config)
    }

    async fn open(&self, plan: &Plan) -> Result<Route> {
        let Plan { flows, at } = plan;
        let config = &flows.config;
        let name = &config.name;
        let settings = config.settings;
        let opening = || format!("route {name}: cannot listen on {at}");
        let counters = self.counters.clone();
        let (address, accepting) = match config.replicate {
            Side::In => {
                let address = at.resolve().await.with_context(opening)?;
                let listener = TcpListener::bind_with(address, settings, counters).await;
                let listener = listener.with_context(opening)?;
                let address = listener.local_addr()?;
                (address, tokio::spawn(serve_in(listener, Arc::clone(flows))))
            }
            Side::Out => {
                let listener = at.listen().await.with_context(opening)?;
                let connector = Connector::with_counters(settings, counters);
                let connector = connector.with_context(|| format!("route {name}"))?;
                let address = listener.local_addr()?;
                let serving = serve_out(listener, connector, Arc::clone(flows));
                (address, tokio::spawn(serving))
            }
        };
        Ok(Route {
            flows: Arc::clone(flows),
            address,
            accepting,
        })
    }

    async fn close(open: Route) -> Plan {
        let at = open.bound().listen;
        let flows = open.close().await;
        Plan { flows, at }
    }
}
