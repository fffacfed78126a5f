//! `tailcut gateway`.

use super::config::GatewayConfig;
use super::door::Gateway;
use super::parse::{DEFAULT_ADMIN, DEFAULT_DRAIN, document, parse};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use tailcut_proxy::{Given, Running, Signals, Watched, admin_key, conduct, say, span};

/// The command, in what it says.
const NAME: &str = "tailcut gateway";

/// The flags of `tailcut gateway`.
#[derive(Args, Debug)]
#[command(after_help = "\
A request goes to two replicas at once where both drop the work of clients that leave (they stand
behind `tailcut guard`, or purges = \"yes\"); elsewhere a second copy goes out late, and for one request
in ten at most. The first good answer is the answer. Only GET, HEAD and OPTIONS are sent twice.
docs/services.md has every key of a configuration, and tells when a gateway does not help.

SIGTERM stops accepting and lets open requests finish. SIGHUP, or a change of the file of --config or of
a certificate, reads everything again; what is wrong then changes nothing.

Examples:
  tailcut gateway --listen 8080 --replica http://10.0.0.1:80 --replica http://10.0.0.2:80
  tailcut gateway --listen 8080 --replica 9001 --replica 9002 --set purges=yes --set protocol=http2
  tailcut gateway --config /etc/tailcut/gateway.toml --check")]
pub struct GatewayCommand {
    /// A TOML file with [[routes]]
    #[arg(long, value_name = "FILE", required_unless_present = "listen")]
    config: Option<PathBuf>,
    /// One route, beside those of the file: where to accept requests; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", requires = "replica")]
    listen: Option<String>,
    /// A replica of that route, such as http://10.0.0.1:80, https://10.0.0.1, or a port; may be given again
    #[arg(long, value_name = "REPLICA", requires = "listen")]
    replica: Vec<String>,
    /// Any key of that route, such as purges=yes or limits.pending=100; may be given again
    #[arg(long, value_name = "KEY=VALUE", requires = "listen")]
    set: Vec<String>,
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_admin",
        help = format!("Where health and metrics are served [default: {DEFAULT_ADMIN}]"))]
    admin: Option<String>,
    /// Serve no health and no metrics
    #[arg(long)]
    no_admin: bool,
    #[arg(long, value_name = "TIME",
        help = format!("How long open requests may go on at the end [default: {}]", span(DEFAULT_DRAIN)))]
    drain_timeout: Option<String>,
    /// Check the configuration and leave
    #[arg(long)]
    check: bool,
}

impl GatewayCommand {
    fn read(&self) -> Result<GatewayConfig> {
        let drain = self.drain_timeout.as_ref();
        let drain = drain.map(|drain| ("drain_timeout", json!(drain)));
        let admin = admin_key(self.admin.as_deref(), self.no_admin);
        let given = Given {
            file: self.config.as_deref(),
            routes: self.route()?.into_iter().collect(),
            keys: admin.into_iter().chain(drain).collect(),
        };
        let place = given.place();
        let folder = self.config.as_deref().and_then(Path::parent);
        parse(
            &place,
            folder.unwrap_or(Path::new("")),
            &given.read(document)?,
        )
    }

    /// The route of the flags.
    fn route(&self) -> Result<Option<Value>> {
        let Some(listen) = &self.listen else {
            return Ok(None);
        };
        let mut route = Map::new();
        route.insert("listen".to_owned(), json!(listen));
        route.insert("replicas".to_owned(), json!(self.replica));
        for text in &self.set {
            let Some((path, value)) = text.split_once('=').filter(|(path, _)| !path.is_empty())
            else {
                bail!("command line: \"--set\" is {text:?}; allowed: KEY=VALUE");
            };
            // What is no value of TOML is text.
            let value = document("", &format!("value = {value}"));
            let value = value
                .ok()
                .and_then(|mut table| Some(table.get_mut("value")?.take()));
            let value = value.unwrap_or_else(|| json!(text[path.len() + 1..]));
            let mut table = &mut route;
            let mut keys = path.split('.').peekable();
            while let Some(key) = keys.next() {
                if keys.peek().is_none() {
                    table.insert(key.to_owned(), value);
                    break;
                }
                let inner = table.entry(key).or_insert_with(|| json!({}));
                let Some(inner) = inner.as_object_mut() else {
                    bail!("command line: \"--set {text}\": {key:?} is no table");
                };
                table = inner;
            }
        }
        Ok(Some(Value::Object(route)))
    }
}

/// Carries the command out.
///
/// # Errors
/// A configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &GatewayCommand) -> Result<()> {
    let watched = Watched::new(command.config.clone());
    let config = command.read()?;
    if command.check {
        let routes = config.routes.len();
        return say(
            NAME,
            &format!("the configuration is valid: {routes} route(s)"),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(command, config, watched))
}

async fn run(command: &GatewayCommand, config: GatewayConfig, watched: Watched) -> Result<()> {
    let signals = Signals::new()?;
    let gateway = Gateway::start(&config).await?;
    let process = Process {
        command,
        gateway,
        config,
    };
    for line in process.announcement() {
        say(NAME, &line)?;
    }
    conduct(NAME, process, signals, watched).await
}

struct Process<'a> {
    command: &'a GatewayCommand,
    gateway: Gateway,
    config: GatewayConfig,
}

impl Process<'_> {
    fn announcement(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for route in &self.config.routes {
            if let Some(at) = self.gateway.address(&route.name) {
                let replicas = route.replicas.iter().map(|replica| replica.to.to_string());
                let replicas = replicas.collect::<Vec<_>>().join(", ");
                let tls = if route.tls.is_some() { " (TLS)" } else { "" };
                lines.push(format!("{}: {at}{tls} -> {replicas}", route.name));
            }
        }
        let admin = self.gateway.admin_address();
        lines.extend(admin.map(|at| format!("admin: http://{at}/metrics")));
        lines
    }
}

impl Running for Process<'_> {
    const WORK: &'static str = "requests";

    fn files(&self) -> Vec<PathBuf> {
        let own = self.command.config.iter();
        own.chain(&self.config.files).cloned().collect()
    }

    fn can_reload(&self) -> bool {
        // Without a file there may still be certificates.
        !self.files().is_empty()
    }

    async fn reload(&mut self) -> Result<Vec<String>> {
        let config = self.command.read()?;
        self.gateway.reload(&config).await?;
        self.config = config;
        Ok(self.announcement())
    }

    async fn stop(self) {
        self.gateway.stop().await;
    }
}
