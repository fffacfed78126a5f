//! `tailcut proxy`.

use super::Proxy;
use super::config::{DEFAULT_ADMIN, DEFAULT_DRAIN_MS, ProxyConfig, Side, parse, route_of_flag};
use super::environment::settings_of_environment;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;
use tailcut_proxy::{Given, Running, Signals, Watched, admin_key, conduct, say};

/// The proxies that there are.
#[derive(Subcommand, Debug)]
pub enum ProxyCommand {
    /// Put RepNet in front of a TCP server, or behind a TCP client: short flows race on two paths
    #[command(after_help = "\
A route is name=value pairs with commas between:
  name=NAME          label in the metrics
  listen=HOST:PORT   where to accept connections; a port alone is one of 127.0.0.1
  to=HOST:PORT       where to connect to
  replicate=in|out   out: behind a client; in: in front of a server
and any setting of a flow: mode=repflow|repsyn|off, pairing=hello|port, maxBytes=N|Infinity, ...
A route with replicate=in listens on its port and the next one; one with replicate=out connects to
its target's port and the next one, and to no other. docs/repnet-proxy.md tells all of it.

REPNET_* variables are the defaults of routes, and set what holds for the whole process.

SIGTERM stops accepting and lets open flows finish; SIGHUP reads the file of --config again.

Examples:
  tailcut proxy repnet --route name=redis,listen=0.0.0.0:7379,to=127.0.0.1:6379,replicate=in
  tailcut proxy repnet --route name=redis,listen=8379,to=10.1.2.3:7379,replicate=out
  tailcut proxy repnet --config /etc/tailcut/proxy.json --check")]
    Repnet(Repnet),
}

/// The flags of `tailcut proxy repnet`.
#[derive(Args, Debug)]
pub struct Repnet {
    /// A JSON file: {"routes": [{...}], "admin": "host:port", "drainTimeout": ms}
    #[arg(long, value_name = "FILE", required_unless_present = "route")]
    config: Option<PathBuf>,
    /// A route, beside those of the file; may be given again
    #[arg(long, value_name = "ROUTE")]
    route: Vec<String>,
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_admin",
        help = format!("Where health and metrics are served [default: {DEFAULT_ADMIN}]"))]
    admin: Option<String>,
    /// Serve no health and no metrics
    #[arg(long)]
    no_admin: bool,
    #[arg(long, value_name = "MS",
        help = format!("How long open flows may go on at the end [default: {DEFAULT_DRAIN_MS}]"))]
    drain_timeout: Option<u64>,
    /// Check the configuration and leave
    #[arg(long)]
    check: bool,
}

impl Repnet {
    fn read(&self) -> Result<ProxyConfig> {
        let routes = (1..).zip(&self.route);
        let routes = routes.map(|(number, text)| route_of_flag(text, number));
        let drain = self
            .drain_timeout
            .map(|drain| ("drainTimeout", json!(drain)));
        let admin = admin_key(self.admin.as_deref(), self.no_admin);
        let given = Given {
            file: self.config.as_deref(),
            routes: routes.collect::<Result<_>>()?,
            keys: admin.into_iter().chain(drain).collect(),
        };
        let place = given.place();
        let whole = given.read(|place, text| {
            serde_json::from_str(text).with_context(|| format!("{place} is not JSON"))
        })?;
        // A variable that is not UTF-8 is none of ours.
        let defaults = settings_of_environment(|name| std::env::var(name).ok())?;
        parse(&place, &whole, &defaults)
    }
}

/// Carries a command out.
///
/// # Errors
/// A configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &ProxyCommand) -> Result<()> {
    let ProxyCommand::Repnet(flags) = command;
    let config = flags.read()?;
    if flags.check {
        let routes = config.routes.len();
        return say(
            NAME,
            &format!("the configuration is valid: {routes} route(s)"),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(flags, config))
}

/// The command, in what it says.
const NAME: &str = "tailcut proxy";

/// What there is to say of a proxy that runs: where it listens.
fn announcement(proxy: &Proxy, config: &ProxyConfig) -> Vec<String> {
    let mut lines = Vec::new();
    for route in &config.routes {
        let side = match route.replicate {
            Side::In => "in",
            Side::Out => "out",
        };
        if let Some(at) = proxy.address(&route.name) {
            let (name, to) = (&route.name, &route.to);
            lines.push(format!("{name}: {at} -> {to} (replicate={side})"));
        }
    }
    let admin = proxy.admin_address();
    lines.extend(admin.map(|at| format!("admin: http://{at}/metrics")));
    lines
}

async fn run(flags: &Repnet, config: ProxyConfig) -> Result<()> {
    let signals = Signals::new()?;
    let proxy = Proxy::start(&config).await?;
    for line in announcement(&proxy, &config) {
        say(NAME, &line)?;
    }
    conduct(NAME, Sidecar { proxy, flags }, signals, Watched::default()).await
}

struct Sidecar<'a> {
    proxy: Proxy,
    flags: &'a Repnet,
}

impl Running for Sidecar<'_> {
    const WORK: &'static str = "flows";

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn can_reload(&self) -> bool {
        self.flags.config.is_some()
    }

    async fn reload(&mut self) -> Result<Vec<String>> {
        let config = self.flags.read()?;
        self.proxy.reload(&config).await?;
        Ok(announcement(&self.proxy, &config))
    }

    async fn stop(self) {
        self.proxy.stop().await;
    }
}
