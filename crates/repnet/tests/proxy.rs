//! Real servers through two proxies, plain -> RepNet -> plain, with the npm package's at either
//! end.

use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tailcut_repnet::proxy::{Proxy, parse};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// A program of this machine that listens on a port of its own.
struct Server {
    port: u16,
    _child: Child,
}

impl Server {
    async fn start(program: &str, arguments: impl Fn(u16) -> Vec<String>) -> io::Result<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::env::split_paths(&folders).chain(["/usr/bin".into(), "/usr/sbin".into()]);
        let found = folders
            .map(|folder| folder.join(program))
            .find(|file| file.exists());
        let found = found.unwrap_or_else(|| panic!("{program} is missing: .ci/tools installs it"));
        loop {
            let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
            let mut child = Command::new(&found)
                .args(arguments(port))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true)
                .spawn()?;
            loop {
                if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                    return Ok(Self {
                        port,
                        _child: child,
                    });
                }
                // Somebody else has taken the port.
                if child.try_wait()?.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    async fn redis() -> io::Result<Self> {
        Self::start("redis-server", |port| {
            let words = format!("--port {port} --bind 127.0.0.1 --save  --appendonly no");
            words.split(' ').map(str::to_owned).collect()
        })
        .await
    }

    async fn memcached() -> io::Result<Self> {
        // It refuses to run as root without being told whom to become.
        Self::start("memcached", |port| {
            let words = format!("-p {port} -l 127.0.0.1 -U 0 -u nobody");
            words.split(' ').map(str::to_owned).collect()
        })
        .await
    }
}

/// Which implementation stands at an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Rust,
    Node,
}

enum Running {
    Rust(Proxy),
    Node { port: u16, child: Child },
}

impl Running {
    async fn start(kind: Kind, route: Value) -> io::Result<Self> {
        if kind == Kind::Rust {
            let config = parse("a test", &json!({ "routes": [route], "admin": false }));
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
        // `repnet-proxy: name: 127.0.0.1:PORT -> ...`
        let line = BufReader::new(stdout).lines().next_line().await?;
        let line = line.expect("the line of its route");
        let address = line
            .split(' ')
            .nth(2)
            .and_then(|word| word.rsplit_once(':'));
        let port = address.and_then(|(_, port)| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {line:?}"));
        Ok(Self::Node { port, child })
    }

    fn port(&self) -> u16 {
        match self {
            Self::Rust(proxy) => proxy.address("route").expect("the route").port(),
            Self::Node { port, .. } => *port,
        }
    }

    async fn stop(self) -> io::Result<()> {
        match self {
            Self::Rust(proxy) => proxy.stop().await,
            Self::Node { mut child, .. } => child.kill().await?,
        }
        Ok(())
    }
}

fn route(to: u16, replicate: &str, mode: &str, pairing: &str) -> Value {
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

/// A client's connection, line by line.
struct Lines(BufReader<TcpStream>);

impl Lines {
    async fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        Ok(Self(BufReader::new(stream)))
    }

    async fn ask(&mut self, request: &[u8]) -> io::Result<String> {
        self.0.write_all(request).await?;
        let mut line = String::new();
        self.0.read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    async fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).await?;
        Ok(bytes)
    }
}

async fn redis_works(port: u16) -> io::Result<()> {
    let mut redis = Lines::connect(port).await?;
    assert_eq!(redis.ask(b"SET small 1\r\n").await?, "+OK");
    for count in 2..=100 {
        assert_eq!(redis.ask(b"INCR small\r\n").await?, format!(":{count}"));
    }
    let large = vec![b'v'; 300_000];
    let head = b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$300000\r\n";
    let set = [&head[..], &large, b"\r\n"].concat();
    assert_eq!(redis.ask(&set).await?, "+OK");
    assert_eq!(redis.ask(b"GET large\r\n").await?, "$300000");
    assert_eq!(redis.bytes(300_002).await?[..300_000], large);
    assert_eq!(redis.ask(b"QUIT\r\n").await?, "+OK");
    // The server ends the connection: an end, and no error.
    assert_eq!(redis.0.read(&mut [0; 1]).await?, 0);
    Ok(())
}

async fn memcached_works(port: u16) -> io::Result<()> {
    let mut memcached = Lines::connect(port).await?;
    let value = vec![b'm'; 50_000];
    let set = [&b"set key 0 60 50000\r\n"[..], &value, b"\r\n"].concat();
    assert_eq!(memcached.ask(&set).await?, "STORED");
    assert_eq!(memcached.ask(b"get key\r\n").await?, "VALUE key 0 50000");
    assert_eq!(memcached.bytes(50_002).await?[..50_000], value);
    assert_eq!(memcached.ask(b"").await?, "END");
    assert_eq!(memcached.ask(b"get absent\r\n").await?, "END");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_and_memcached_answer_through_two_proxies_also_with_one_on_node() -> io::Result<()> {
    let (redis, memcached) = (Server::redis().await?, Server::memcached().await?);
    let all = [
        (Kind::Rust, Kind::Rust, "repflow", "port"),
        (Kind::Rust, Kind::Rust, "repflow", "hello"),
        (Kind::Rust, Kind::Rust, "repsyn", "hello"),
        (Kind::Node, Kind::Rust, "repflow", "hello"),
        (Kind::Node, Kind::Rust, "repsyn", "hello"),
        (Kind::Rust, Kind::Node, "repflow", "hello"),
        (Kind::Rust, Kind::Node, "repsyn", "hello"),
    ];
    for (behind, before, mode, pairing) in all {
        for (server, is_redis) in [(&redis, true), (&memcached, false)] {
            let inner = Running::start(before, route(server.port, "in", mode, pairing)).await?;
            let outer = Running::start(behind, route(inner.port(), "out", mode, pairing)).await?;
            match is_redis {
                true => redis_works(outer.port()).await?,
                false => memcached_works(outer.port()).await?,
            }
            for (end, is_client) in [(&outer, true), (&inner, false)] {
                if let Running::Rust(proxy) = end {
                    let stats = proxy.stats();
                    let replicated = if is_client {
                        stats.opened
                    } else {
                        stats.accepted
                    };
                    assert_eq!(
                        (replicated, stats.diverged),
                        (1, 0),
                        "{mode} {pairing}: {stats:?}"
                    );
                }
            }
            outer.stop().await?;
            inner.stop().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_target_without_repnet_is_reached_over_one_connection_and_a_refused_one_is_an_error()
-> io::Result<()> {
    let redis = Server::redis().await?;
    let plain = Running::start(Kind::Rust, route(redis.port, "out", "repflow", "hello")).await?;
    redis_works(plain.port()).await?;
    plain.stop().await?;
    let nobody = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let refused = Running::start(Kind::Rust, route(nobody, "out", "repflow", "hello")).await?;
    let mut client = TcpStream::connect(("127.0.0.1", refused.port())).await?;
    let error = client.read(&mut [0; 1]).await.expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    refused.stop().await
}

#[tokio::test]
async fn a_flow_that_does_not_end_is_reset_when_the_time_to_drain_is_over() -> io::Result<()> {
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let mut route = route(target.local_addr()?.port(), "in", "repflow", "hello");
    route["name"] = json!("slow");
    let config = json!({ "routes": [route], "admin": "127.0.0.1:0", "drainTimeout": 1 });
    let config = parse("a test", &config).expect("a valid configuration");
    let proxy = Proxy::start(&config).await.expect("free ports");
    let port = proxy.address("slow").expect("the route").port();
    let (client, accepted) = tokio::join!(TcpStream::connect(("127.0.0.1", port)), target.accept());
    let (mut client, (mut held, _)) = (client?, accepted?);
    client.write_all(b"x").await?;
    assert_eq!(held.read_u8().await?, b'x');
    let page = get(proxy.admin_address().expect("an admin address"), "/metrics").await?;
    assert!(
        page.contains("repnet_proxy_flows_active{route=\"slow\"} 1\n"),
        "{page}"
    );
    assert!(
        page.contains("\nrepnet_legs_dropped{kind=\"foreign\"} 0\n"),
        "{page}"
    );
    proxy.stop().await;
    for end in [&mut client, &mut held] {
        let error = end.read(&mut [0; 1]).await.expect_err("a reset");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
    Ok(())
}

async fn get(at: std::net::SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[test]
fn what_is_wrong_in_a_configuration_is_named_with_its_place_and_what_is_allowed() {
    let route = |more: Value| {
        let mut route = json!({ "name": "a", "listen": "1", "to": "h:2", "replicate": "in" });
        for (key, value) in more.as_object().expect("an object") {
            route[key] = value.clone();
        }
        json!({ "routes": [route] })
    };
    let cases = [
        (json!([]), "f: \"(the whole)\" is []; allowed: an object"),
        (
            json!({}),
            "f: \"routes\" is absent; allowed: a list of at least one route",
        ),
        (
            json!({ "rout": 1 }),
            "f: \"rout\" is 1; allowed: only routes, admin and drainTimeout",
        ),
        (
            route(json!({ "replicate": "both" })),
            "f: \"routes[0].replicate\" is \"both\"; allowed: \"in\", \"out\"",
        ),
        (
            route(json!({ "lagCap": 1 })),
            "f: \"routes[0].lagCap\" is 1; allowed: an integer from 65536 to 1073741824",
        ),
        (
            route(json!({ "eager": true })),
            "f: \"routes[0].eager\" is true; allowed: false (this proxy opens no eager flows)",
        ),
        (
            route(json!({ "to": "h:0" })),
            "f: \"routes[0].to\" is \"h:0\"; allowed: \"host:port\", \"[ipv6]:port\", or a port of \
             127.0.0.1, with a port from 1 to 65535",
        ),
        (
            json!({ "routes": [
                { "name": "a", "listen": "7000", "to": "h:2", "replicate": "in" },
                { "name": "b", "listen": "127.0.0.1:7001", "to": "h:2", "replicate": "out" },
            ] }),
            "f: \"routes[1].listen\" is \"127.0.0.1:7001\"; allowed: an address that \
             routes[0].listen (its replica port) does not use",
        ),
    ];
    for (config, message) in cases {
        let error = parse("f", &config).expect_err("not allowed");
        assert_eq!(error.to_string(), message);
    }
    let endless = parse(
        "f",
        &route(json!({ "maxBytes": "Infinity", "idleTime": "Infinity" })),
    );
    let settings = endless.expect("a valid configuration").routes[0].settings;
    assert_eq!((settings.max_bytes, settings.idle_time), (u64::MAX, None));
}

#[test]
fn the_example_of_the_guide_is_a_valid_configuration() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/repnet-proxy.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let example = guide.split("```json\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    let example: Value = serde_json::from_str(example).expect("JSON");
    let config = parse("the guide", &example).expect("a valid configuration");
    assert_eq!(config.routes.len(), 2);
}
