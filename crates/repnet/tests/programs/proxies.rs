//! Proxies between a client and a server: the proxy of this crate and the proxy of the npm package.

use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_repnet::proxy::{Proxy, ProxyConfig};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Implementation of the proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Rust,
    Node,
}

/// Running proxy with one route.
pub enum Running {
    Rust(Proxy),
    Node { port: u16, child: Child },
}

impl Running {
    pub async fn start(kind: Kind, route: Value) -> io::Result<Self> {
        if kind == Kind::Rust {
            let text = json!({ "routes": [route], "admin": false }).to_string();
            let draft = Draft::of_text("a test", Path::new(""), &text).expect("JSON");
            let config = ProxyConfig::read(&draft);
            let config = config.expect("a valid configuration");
            let proxy = Proxy::start(&config).await.expect("free ports");
            return Ok(Self::Rust(proxy));
        }
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packages/repnet");
        let cli = package.join("dist/proxy/cli.js");
        assert!(
            cli.exists(),
            "packages/repnet is not built: run `npm ci && npm run build` there (`make test` does)"
        );
        let fields = route.as_object().expect("an object");
        let pairs = fields.iter().map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={text}"),
            None => format!("{key}={value}"),
        });
        let route: Vec<String> = pairs.collect();
        let mut child = Command::new("node")
            .arg(cli)
            .args(["--no-admin", "--route", &route.join(",")])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`node` is on the PATH");
        let stdout = child.stdout.take().expect("its stdout");
        // The proxy prints `repnet-proxy: name: 127.0.0.1:PORT -> ...`.
        let line = BufReader::new(stdout).lines().next_line().await?;
        let line = line.expect("a line with the address of the route");
        let address = line
            .split(' ')
            .nth(2)
            .and_then(|word| word.rsplit_once(':'));
        let port = address.and_then(|(_, port)| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {line:?}"));
        Ok(Self::Node { port, child })
    }

    pub fn port(&self) -> u16 {
        match self {
            Self::Rust(proxy) => proxy.address("route").expect("the route").port(),
            Self::Node { port, .. } => *port,
        }
    }

    pub async fn stop(self) -> io::Result<()> {
        match self {
            Self::Rust(proxy) => proxy.stop().await,
            Self::Node { mut child, .. } => child.kill().await?,
        }
        Ok(())
    }
}

/// Returns the configuration of a route between two ports of this machine.
pub fn route(to: u16, replicate: &str, mode: &str, pairing: &str) -> Value {
    json!({
        "name": "route",
        "listen": "127.0.0.1:0",
        "to": format!("127.0.0.1:{to}"),
        "replicate": replicate,
        "mode": mode,
        "pairing": pairing,
        "assumeCapable": true,
    })
}
