//! Tests of dead and silent peers: keepalive probes, and the limit for idle streams.

use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_repnet::proxy::{Proxy, ProxyConfig};
use tailcut_repnet::{Connector, Liveness, Settings};
use tailcut_transport::repnet::{FlowKey, Leg, Mode, Preamble, Purpose};
use tailcut_wire::repnet::{HELLO_BYTES, encode_preamble, preamble_length};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Starts a proxy in front of a server.
async fn in_front_of(server: &TcpListener, liveness: Value) -> Proxy {
    let mut route = json!({
        "name": "route",
        "listen": "127.0.0.1:0",
        "to": server.local_addr().expect("an address").to_string(),
        "replicate": "in",
    });
    for (key, value) in liveness.as_object().expect("an object") {
        route[key] = value.clone();
    }
    let config = json!({ "routes": [route], "admin": false }).to_string();
    let draft = Draft::of_text("a test", Path::new(""), &config).expect("JSON");
    let config = ProxyConfig::read(&draft).expect("a valid configuration");
    Proxy::start(&config).await.expect("free ports")
}

async fn is_reset(stream: &mut TcpStream) -> bool {
    let end = stream.read(&mut [0; 64]).await;
    end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

#[test]
fn the_connection_of_a_dead_client_to_the_server_ends() {
    let own = std::env::current_exe().expect("this test's program");
    let test = "clients_at_an_address_that_becomes_unreachable";
    let ended = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c"])
        .args(["ip link set lo up && exec \"$@\"", "sh"])
        .arg(own)
        .args(["--exact", test, "--ignored"])
        .output()
        .expect("unshare, of util-linux");
    let said = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    let passed = ended.status.success() && said.contains("1 passed");
    assert!(passed, "{said}{errors}");
}

/// Opens a connection from 127.0.0.2.
async fn from_afar(to: SocketAddr, first: &[u8]) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind("127.0.0.2:0".parse().expect("an address"))?;
    let mut stream = socket.connect(to).await?;
    stream.write_all(first).await?;
    Ok(stream)
}

#[tokio::test]
#[ignore = "runs in a separate network, by the_connection_of_a_dead_client_to_the_server_ends"]
async fn clients_at_an_address_that_becomes_unreachable() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let liveness = json!({
        "keepaliveIdle": 1_000, "keepaliveInterval": 1_000, "keepaliveProbes": 1,
    });
    let proxy = in_front_of(&server, liveness).await;
    let service = proxy.address("route").expect("the route");
    let plain = from_afar(service, b"x").await?;
    let (mut of_plain, _) = server.accept().await?;
    assert_eq!(of_plain.read_u8().await?, b'x');
    let mut legs = Vec::new();
    for leg in Leg::ALL {
        let preamble = Preamble {
            purpose: Purpose::Open(Mode::RepFlow),
            leg,
            flow: FlowKey(42),
        };
        let bytes = encode_preamble(&preamble);
        let bytes = [&bytes[..preamble_length(&preamble)], b"x"].concat();
        let mut replica = service;
        replica.set_port(service.port() + 1);
        let mut leg = from_afar(replica, &bytes).await?;
        leg.read_exact(&mut [0; HELLO_BYTES]).await?;
        legs.push(leg);
    }
    let (mut of_flow, _) = server.accept().await?;
    assert_eq!(of_flow.read_u8().await?, b'x');
    let cut = "route add blackhole 127.0.0.2/32 table local";
    let cut = Command::new("ip").args(cut.split(' ')).status()?;
    assert!(cut.success());
    assert!(is_reset(&mut of_plain).await);
    assert!(is_reset(&mut of_flow).await);
    drop((plain, legs));
    Ok(())
}

#[tokio::test]
async fn a_flow_in_which_no_byte_moves_is_reset_after_the_idle_timeout() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = in_front_of(&server, json!({ "idleTimeout": 50 })).await;
    let mut client = TcpStream::connect(proxy.address("route").expect("the route")).await?;
    client.write_all(b"x").await?;
    let (mut served, _) = server.accept().await?;
    assert_eq!(served.read_u8().await?, b'x');
    assert!(is_reset(&mut served).await);
    assert!(is_reset(&mut client).await);
    Ok(())
}

#[tokio::test]
async fn a_stream_of_the_library_fails_after_its_idle_timeout() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let settings = Settings {
        liveness: Liveness {
            idle_timeout: Some(Duration::from_millis(20)),
            ..Liveness::default()
        },
        ..Settings::default()
    };
    let connector = Connector::new(settings).expect("valid settings");
    let port = server.local_addr()?.port();
    let (stream, accepted) = tokio::join!(connector.connect("127.0.0.1", port), server.accept());
    let (mut stream, _accepted) = (stream?, accepted?);
    let error = stream.read_u8().await.expect_err("no byte");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "no byte moved for 20 ms");
    Ok(())
}
