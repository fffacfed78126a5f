//! Tests of several certificates on one listener.

use super::common::{BlockingService, Version, serve};
use super::programs::{Logged, dir, routes, write_certificate};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_proxy::tls::{Client, ClientTls, server_name};
use tokio::net::TcpStream;

/// Returns whether a listener shows a client that asks for `host` the certificate in `NAME.pem`.
async fn shows(at: SocketAddr, dir: &Path, host: &str, name: &str) -> bool {
    let draft = Draft::of_text("a test", dir, &format!("ca = \"{name}.pem\""));
    let tls: ClientTls = draft.expect("TOML").top().read().expect("a configuration");
    let client = Client::new(&tls, false).expect("a client");
    let stream = TcpStream::connect(at).await.expect("a listener");
    let host = server_name(host).expect("a name");
    client.connect(host, stream).await.is_ok()
}

#[tokio::test]
async fn a_client_gets_the_certificate_of_the_name_that_it_asks_for_also_after_a_reload() {
    let service = BlockingService::new();
    let replica = serve(Version::One, service).await.to_string();
    let dir = dir();
    write_certificate(dir.path(), "one", "one.example", false);
    write_certificate(dir.path(), "two", "*.two.example", false);
    let path = |name: &str| dir.path().join(name);
    let tls = json!({
        "certificate": path("one.pem"), "key": path("one.key"),
        "certificates": [{ "certificate": path("two.pem"), "key": path("two.key") }],
    });
    let route =
        json!([{ "name": "test", "listen": "127.0.0.1:0", "replicas": [replica], "tls": tls }]);
    let mut gateway = Logged::with_routes(super::programs::dir(), route.clone()).await;
    let at = gateway.address;
    assert!(shows(at, dir.path(), "one.example", "one").await);
    assert!(shows(at, dir.path(), "a.two.example", "two").await);
    assert!(!shows(at, dir.path(), "three.example", "two").await);
    write_certificate(dir.path(), "two", "three.example", false);
    let again = routes(gateway.dir.path(), &route);
    gateway.program.reload(&again).await.expect("reloaded");
    assert!(shows(at, dir.path(), "three.example", "two").await);
    assert!(shows(at, dir.path(), "one.example", "one").await);
    // The configuration names all files, so that a change of one of them is noticed.
    assert_eq!(again.files().len(), 4);
}
