//! Tests of Unix sockets on both sides of guard and gateway.

use super::programs::{Logged, dir, lines, until};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tokio::net::{UnixListener, UnixStream};

/// Starts a service at a Unix socket. It answers with the fields of its request.
fn service(path: &Path) {
    let listener = UnixListener::bind(path).expect("a socket");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let reflect = service_fn(|request: Request<hyper::body::Incoming>| async move {
                let fields = format!("{:?}", request.headers());
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(fields))))
            });
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), reflect));
        }
    });
}

async fn get(path: &Path) -> String {
    let stream = UnixStream::connect(path).await.expect("a connection");
    let opening = http1::handshake(TokioIo::new(stream)).await;
    let (mut client, connection) = opening.expect("a connection");
    tokio::spawn(connection);
    let request = Request::get("/a").header("host", "shop.example");
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let answer = client.send_request(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8_lossy(&body.to_bytes()).into_owned()
}

#[tokio::test]
async fn requests_go_through_unix_sockets_from_the_client_to_the_service() {
    let sockets = dir();
    let path = |name: &str| sockets.path().join(name);
    let text = |name: &str| format!("unix:{}", path(name).display());
    service(&path("service"));
    let keys = json!({ "listen": text("guard"), "to": text("service"), "listen_mode": "660" });
    let guard = Logged::guard_with(dir(), keys).await;
    let keys = json!({ "listen": text("gateway"), "forwarded": "x-forwarded" });
    // A process that was killed leaves its file.
    drop(UnixListener::bind(path("gateway")).expect("a socket"));
    let gateway = Logged::gateway_with(dir(), &[text("guard")], keys).await;
    let fields = get(&path("gateway")).await;
    assert!(fields.contains("\"host\": \"shop.example\""), "{fields}");
    assert!(!fields.contains("x-forwarded-for"), "{fields}");
    for (name, expected) in [("gateway", 0o600), ("guard", 0o660)] {
        let mode = fs::metadata(path(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, expected, "{name}");
    }
    let line = until(|| lines(gateway.1.path(), "access.log").pop()).await;
    assert_eq!(line["client"], "unix");
    assert_eq!(line["replica"], text("guard"));
    let line = until(|| lines(guard.1.path(), "access.log").pop()).await;
    assert_eq!(line["replica"], text("service"));
    drop((gateway, guard));
    until(|| (!path("gateway").exists() && !path("guard").exists()).then_some(())).await;
}
