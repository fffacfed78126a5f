//! Tests that logs and metrics contain the reason why a request has failed.

use super::common::{BlockingService, Version, get, serve};
use super::plain_client::PlainClient;
use super::programs::{Logged, dir, until, write_certificate};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tower_service::Service as _;

/// Returns the address of a socket that does not listen.
fn nobody() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .expect("a port");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

/// Starts a server that reads the beginning of a request. Then it closes the connection, or waits for its client.
async fn broken(closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1_024]).await;
                if !closes {
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                }
            });
        }
    });
    address
}

async fn answers(text: bool) -> (BlockingService, SocketAddr) {
    let service = BlockingService::new();
    if text {
        service.allow(1_000);
    }
    let address = serve(Version::One, service.clone()).await;
    (service, address)
}

/// Sends one request to a gateway. Returns the line of its access log, and checks it against the error log.
async fn failed(files: tempfile::TempDir, replica: String, keys: Value) -> Value {
    let gateway = Logged::gateway(files, &[replica], keys).await;
    let answer = gateway.get("/a?b=c").await;
    assert!(answer.status().is_server_error());
    let status = answer.status().as_u16();
    let page = gateway.program.metrics();
    let (mut access, errors) = gateway.stop().await;
    assert_eq!(access.len(), 1, "{access:?}");
    let line = access.remove(0);
    assert_eq!(line["status"], status);
    assert_eq!(line["route"], "test");
    assert_eq!(line["path"], "/a?b=c");
    assert_eq!(line["host"], "service");
    let reason = line["reason"].as_str().expect("a reason");
    let labels = format!("route=\"test\",status=\"{status}\",reason=\"{reason}\"");
    let metric = format!("tailcut_gateway_answers_total{{{labels}}} 1");
    // The record of a short answer may end after its client has read it.
    assert!(
        page.contains(&metric) || !page.contains("answers_total{"),
        "{metric}\n{page}"
    );
    let failures = errors
        .iter()
        .filter(|line| line["message"] == "a request has failed");
    let failures: Vec<_> = failures.collect();
    assert_eq!(failures.len(), 1, "{errors:?}");
    assert_eq!(failures[0]["reason"], line["reason"]);
    assert_eq!(failures[0]["level"], "WARN");
    line
}

#[tokio::test]
async fn the_log_of_a_gateway_tells_a_replica_that_refuses_from_one_that_is_silent_and_one_that_hangs_up()
 {
    let (_socket, refuses) = nobody();
    let line = failed(dir(), refuses.to_string(), json!({})).await;
    assert_eq!(line["reason"], "refused");
    assert_eq!(line["failures"], format!("{refuses} refused"));

    let silent = broken(false).await.to_string();
    let line = failed(dir(), silent, json!({ "answer_timeout": "20ms" })).await;
    assert_eq!(line["reason"], "answer-timeout");

    let line = failed(dir(), broken(true).await.to_string(), json!({})).await;
    assert_eq!(line["reason"], "reset");
}

#[tokio::test]
async fn the_log_of_a_gateway_tells_what_is_wrong_with_a_certificate() {
    let (_service, at) = answers(true).await;
    for (host, is_expired, authority, reason) in [
        ("localhost", true, "replica.pem", "certificate-expired"),
        ("other.example", false, "replica.pem", "certificate-name"),
        ("localhost", false, "stranger.pem", "certificate-untrusted"),
    ] {
        let files = dir();
        write_certificate(files.path(), "replica", host, is_expired);
        write_certificate(files.path(), "stranger", "localhost", false);
        let tls = json!({
            "certificate": files.path().join("replica.pem"),
            "key": files.path().join("replica.key"),
        });
        // A guard is the server with TLS.
        let replica = Logged::guard(dir(), at, json!({ "tls": tls })).await;
        let port = replica.address.port();
        let keys = json!({ "replica_tls": { "ca": authority, "server_name": "localhost" } });
        let line = failed(files, format!("https://127.0.0.1:{port}"), keys).await;
        assert_eq!(line["reason"], reason, "{line}");
        assert!(
            line["error"]
                .as_str()
                .is_some_and(|text| text.contains("certificate"))
        );
    }
}

#[tokio::test]
async fn a_request_beyond_the_limit_and_a_client_that_leaves_are_told_apart() {
    let (service, at) = answers(false).await;
    let keys = json!({ "limits": { "pending": 1 }, "elsewhere": "off" });
    let gateway = Logged::gateway(dir(), &[at.to_string()], keys).await;
    let mut client = PlainClient::to(Version::Two, gateway.address).await;
    let open = tokio::spawn(client.call(get("/open")));
    service.until(|seen| seen.began.len() == 1).await;
    let refused = gateway.get("/refused").await;
    assert_eq!(refused.status(), 503);
    open.abort();
    service.until(|seen| seen.dropped.len() == 1).await;
    until(|| {
        let page = gateway.program.metrics();
        let gone = "status=\"none\",reason=\"client-gone\"} 1";
        (page.contains(gone) && page.contains("reason=\"over-limit\"} 1")).then_some(())
    })
    .await;
    let (access, errors) = gateway.stop().await;
    let line = |path: &str| access.iter().find(|line| line["path"] == path).expect(path);
    assert_eq!(line("/refused")["reason"], "over-limit");
    assert_eq!(line("/open")["reason"], "client-gone");
    assert_eq!(line("/open")["status"], Value::Null);
    // Clients that leave are no fault of the service, so only the finest level shows them.
    let gone = errors.iter().find(|line| line["reason"] == "client-gone");
    assert_eq!(gone.expect("a line")["level"], "DEBUG");
}

#[tokio::test]
async fn the_log_of_a_guard_tells_a_full_queue_from_a_long_wait_and_from_optional_work() {
    let (service, at) = answers(false).await;
    for (queue, urgency, reason) in [
        (0, 3, "queue-full"),
        (1, 3, "queue-timeout"),
        (1, 7, "optional"),
    ] {
        let keys = json!({ "queue": queue, "queue_timeout": "5ms" });
        let guard = Logged::guard(dir(), at, keys).await;
        let began = service.seen.borrow().began.len();
        let mut client = PlainClient::to(Version::Two, guard.address).await;
        let open = tokio::spawn(client.call(get("/open")));
        service.until(|seen| seen.began.len() == began + 1).await;
        let request = Request::get("/next")
            .header("host", "service")
            .header("priority", format!("u={urgency}"));
        let answer = guard
            .send(request.body(Full::default()).expect("a request"))
            .await;
        assert_eq!(answer.status(), 503);
        let answered =
            format!("tailcut_guard_answers_total{{status=\"503\",reason=\"{reason}\"}} 1");
        until(|| guard.program.metrics().contains(&answered).then_some(())).await;
        service.allow(1);
        open.await.expect("no panic").expect("an answer");
        let (access, _) = guard.stop().await;
        let line = access
            .iter()
            .find(|line| line["path"] == "/next")
            .expect("a line");
        assert_eq!(line["reason"], reason);
        assert_eq!(line["status"], 503);
        let done = access
            .iter()
            .find(|line| line["path"] == "/open")
            .expect("a line");
        assert_eq!(done["status"], 200);
        assert_eq!(done["reason"], Value::Null);
        assert_eq!(done["bytes"], "/open".len());
        assert_eq!(done["replica"], at.to_string());
    }
}

/// A load balancer names both clients. The first one sends a part of its body, and takes the only worker.
#[tokio::test]
async fn the_log_of_a_guard_names_a_client_that_lost_its_worker_to_another_one() {
    let keys = json!({ "buffer": 0, "yield_timeout": "20ms", "proxy_protocol": true });
    let guard = Logged::guard(dir(), broken(false).await, keys).await;
    let mut clients = Vec::new();
    // The guard calls the service when the first byte of the body has arrived.
    for (client, request) in [
        (
            "192.0.2.7",
            "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx",
        ),
        ("192.0.2.8", "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"),
    ] {
        let mut stream = TcpStream::connect(guard.address).await.expect("a listener");
        let bytes = format!("PROXY TCP4 {client} 192.0.2.1 5 80\r\n{request}");
        stream.write_all(bytes.as_bytes()).await.expect("sent");
        let arrived = format!("requests_total{{class=\"primary\"}} {}", clients.len() + 1);
        until(|| guard.program.metrics().contains(&arrived).then_some(())).await;
        clients.push(stream);
    }
    let displaced = "tailcut_guard_answers_total{status=\"503\",reason=\"displaced\"} 1";
    until(|| guard.program.metrics().contains(displaced).then_some(())).await;
    drop(clients);
    let (access, _) = guard.stop().await;
    let line = access.iter().find(|line| line["path"] == "/slow");
    let line = line.expect("a line");
    assert_eq!(line["client"], "192.0.2.7:5");
    assert_eq!(line["reason"], "displaced");
    assert_eq!(line["status"], 503);
}
