//! Tests of the sidecar proxy: draining, metrics, and the errors of a wrong configuration.

use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_repnet::proxy::{Proxy, ProxyConfig};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

fn parse(name: &str, text: &str) -> anyhow::Result<ProxyConfig> {
    ProxyConfig::read(&Draft::of_text(name, Path::new(""), text)?)
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

#[tokio::test]
async fn a_flow_that_does_not_end_is_reset_when_the_time_to_drain_is_over() -> io::Result<()> {
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let mut route = route(target.local_addr()?.port(), "in", "repflow", "hello");
    route["name"] = json!("slow");
    let config = json!({ "routes": [route], "admin": "127.0.0.1:0", "drainTimeout": 1 });
    let config = parse("a test", &config.to_string()).expect("a valid configuration");
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

async fn get(at: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn each_flow_that_fails_is_a_line_with_its_reason_and_all_flows_are_in_the_histograms()
-> io::Result<()> {
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let port = target.local_addr()?.port();
    let route = route(port, "in", "repflow", "hello");
    let config = json!({ "routes": [route], "admin": "127.0.0.1:0" }).to_string();
    let mut proxy = Command::new(std::env::current_exe()?)
        .args(["--exact", "a_proxy_in_its_own_process", "--ignored"])
        .arg("--nocapture")
        .env("CONFIGURATION", config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut said = BufReader::new(proxy.stdout.take().expect("its stdout")).lines();
    let mut failures = BufReader::new(proxy.stderr.take().expect("its stderr")).lines();
    let mut addresses = Vec::new();
    while let Some(line) = said.next_line().await? {
        let address = line
            .split_once(" at ")
            .map(|(_, at)| at.parse::<SocketAddr>());
        addresses.extend(address.and_then(Result::ok));
        if let [service, admin] = addresses[..] {
            let (client, served) = tokio::join!(TcpStream::connect(service), target.accept());
            let (mut client, (mut served, _)) = (client?, served?);
            client.write_all(b"question").await?;
            assert_eq!(served.read(&mut [0; 64]).await?, 8);
            served.write_all(b"answer").await?;
            assert_eq!(client.read(&mut [0; 64]).await?, 6);
            socket2::SockRef::from(&served).set_linger(Some(Duration::ZERO))?;
            drop(served);
            let line = failures.next_line().await?.expect("a line");
            let from = client.local_addr()?;
            let start =
                format!("tailcut proxy: route: flow from {from} to 127.0.0.1:{port} failed");
            assert!(line.starts_with(&start), "{line}");
            let end = " s: the connection to the target: Connection reset by peer (os error 104) \
                       (8 bytes in, 6 bytes out)";
            assert!(line.ends_with(end), "{line}");
            drop(target);
            let _client = TcpStream::connect(service).await?;
            let line = failures.next_line().await?.expect("a line");
            let end = ": Connection refused (os error 111) (0 bytes in, 0 bytes out)";
            assert!(line.ends_with(end), "{line}");
            let page = get(admin, "/metrics").await?;
            for line in [
                "repnet_proxy_connect_seconds_count{route=\"route\"} 1",
                "repnet_proxy_first_byte_seconds_count{route=\"route\",winner=\"none\"} 1",
                "repnet_proxy_flow_seconds_count{route=\"route\",winner=\"none\"} 2",
                "repnet_proxy_flow_seconds_count{route=\"route\",winner=\"1\"} 0",
            ] {
                assert!(page.contains(&format!("\n{line}\n")), "{line} in {page}");
            }
            return Ok(());
        }
    }
    panic!("the proxy has not printed its addresses");
}

#[tokio::test]
#[ignore = "is the proxy of another test, in its own process"]
async fn a_proxy_in_its_own_process() {
    let config = std::env::var("CONFIGURATION").expect("a configuration");
    let config = parse("a test", &config).expect("a valid configuration");
    let proxy = Proxy::start(&config).await.expect("free ports");
    println!("listens at {}", proxy.address("route").expect("the route"));
    println!("admin at {}", proxy.admin_address().expect("an address"));
    std::future::pending().await
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
        (json!([]), "\"(the whole)\" is []; allowed: a table"),
        (
            json!({}),
            "\"routes\" is absent; allowed: a list of at least one route",
        ),
        (
            json!({ "rout": 1 }),
            "\"rout\" is not a key here; did you mean \"routes\"?",
        ),
        (
            route(json!({ "maxByte": 1 })),
            "\"routes[0].maxByte\" is not a key here; allowed: name, listen, to, replicate, tls, limits, \
             waitingListTimeout, helloTimeout, tombstoneTime, tombstoneLimit, pendingHellos, acceptBacklog, \
             capabilityTtl, budget, incastLimit, mode, pairing, replicaPort, maxBytes, archiveCap, lagCap, \
             legDeadline, confirmTimeout, assumeCapable, fallbackDelay, idleTime, adaptive, secondLegFrom, \
             keepaliveIdle, keepaliveInterval, keepaliveProbes, userTimeout, idleTimeout, eager; \
             did you mean \"maxBytes\"?",
        ),
        (
            route(json!({ "idleTime": "5" })),
            "\"routes[0].idleTime\" is \"5\"; allowed: a time with a unit (ps, ns, us, ms, s, m, h, d) from 1ms, such \
             as \"10ms\"; or \"Infinity\"",
        ),
        (
            route(json!({ "replicate": "both" })),
            "\"routes[0].replicate\" is \"both\"; allowed: \"in\", \"out\"",
        ),
        (
            route(json!({ "lagCap": 1 })),
            "\"routes[0].lagCap\" is 1; allowed: 65536 to 1073741824",
        ),
        (
            route(json!({ "keepaliveIdle": 10 })),
            "\"routes[0].keepaliveIdle\" is 10; allowed: 1 s to 32767 s",
        ),
        (
            route(json!({ "eager": true })),
            "\"routes[0].eager\" is true; allowed: false (this proxy opens no eager flows)",
        ),
        (
            route(json!({ "to": "h:0" })),
            "\"routes[0].to\" is \"h:0\"; allowed: \"host:port\", \"[ipv6]:port\", or a port of \
             127.0.0.1, with a port from 1 to 65535",
        ),
        (
            json!({ "routes": [
                { "name": "a", "listen": "7000", "to": "h:2", "replicate": "in" },
                { "name": "b", "listen": "127.0.0.1:7001", "to": "h:2", "replicate": "out" },
            ] }),
            "\"routes[1].listen\" is \"127.0.0.1:7001\"; allowed: an address that \
             routes[0].listen (its replica port) does not use",
        ),
    ];
    for (config, message) in cases {
        let error = parse("f.json", &config.to_string()).expect_err("not allowed");
        let text = error.to_string();
        let (place, text) = text.split_once(": ").expect("a place");
        assert!(place.starts_with("f.json:1:"), "{place}");
        assert_eq!(text, message);
    }
    let endless = parse(
        "f.json",
        &route(json!({ "maxBytes": "Infinity", "idleTime": "Infinity" })).to_string(),
    );
    let settings = endless.expect("a valid configuration").routes[0]
        .settings
        .flow;
    assert_eq!((settings.max_bytes, settings.idle_time), (u64::MAX, None));
}

#[test]
fn the_examples_of_the_guide_are_one_valid_configuration() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/repnet-proxy.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let [json, toml] = ["```json\n", "```toml\n"].map(|start| {
        let example = guide.split(start).nth(1).expect("an example");
        let example = example.split("```").next().expect("its end");
        parse("the guide", example).expect("a valid configuration")
    });
    assert_eq!(json.routes.len(), 2);
    assert_eq!(json, toml);
}
