//! Tests with replicas that fail: no request is lost while one replica works.

use super::common::{BlockingService, VERSIONS, Version, get, serve};
use super::running::{Running, text};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

async fn answers(version: Version) -> SocketAddr {
    let held = BlockingService::new();
    held.allow(1_000);
    serve(version, held).await
}

/// Returns an address without a listener.
/// A socket occupies the port until the test ends, so that no other service gets it.
async fn nobody() -> SocketAddr {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("a port");
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let _held = socket;
        std::future::pending::<()>().await;
    });
    address
}

/// Starts a server that reads a request and passes the connection to `then`.
async fn broken<F>(then: fn(TcpStream) -> F) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                    match stream.read_buf(&mut head).await {
                        Ok(0) | Err(_) => return,
                        Ok(_) => {}
                    }
                }
                then(stream).await;
            });
        }
    });
    address
}

async fn cuts_at_once(stream: TcpStream) {
    drop(stream);
}

async fn cuts_in_the_middle(mut stream: TcpStream) {
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    stream.write_all(part).await.expect("sent");
}

async fn is_silent(mut stream: TcpStream) {
    // Waits until the gateway has read enough bytes.
    let _ = stream.read(&mut [0; 1]).await;
}

async fn stalls_in_the_middle(mut stream: TcpStream) {
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    stream.write_all(part).await.expect("sent");
    let _ = stream.read(&mut [0; 1]).await;
}

async fn talks_nonsense(mut stream: TcpStream) {
    stream.write_all(b"nonsense\r\n\r\n").await.expect("sent");
}

#[tokio::test]
async fn one_of_three_replicas_that_fails_in_any_way_costs_no_request() {
    let faulty = [
        nobody().await,
        broken(cuts_at_once).await,
        broken(cuts_in_the_middle).await,
        broken(is_silent).await,
        broken(stalls_in_the_middle).await,
        broken(talks_nonsense).await,
    ];
    for (which, bad) in faulty.into_iter().enumerate() {
        for duplicates in ["at-once", "off"] {
            let replicas = [
                bad,
                answers(Version::One).await,
                answers(Version::One).await,
            ];
            let keys = json!({
                "purges": "yes",
                "duplicates": duplicates,
                "elsewhere": "off",
                // This is the time that a silent replica costs in this test.
                "answer_timeout": "50ms",
            });
            let gateway = Running::start(&replicas, keys).await;
            for number in 0..20 {
                let path = format!("/{number}");
                let found = gateway.text(Version::One, &path).await;
                assert_eq!(found, path, "fault {which}, {duplicates}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_changes_something_is_sent_elsewhere_when_nothing_was_sent() {
    for version in VERSIONS {
        let word = if version == Version::One {
            "http1"
        } else {
            "http2"
        };
        let replicas = [nobody().await, answers(version).await];
        let gateway = Running::start(&replicas, json!({ "protocol": word })).await;
        for number in 0..20 {
            let uri = format!("http://a/{number}");
            let request = Request::post(uri)
                .header("host", "a")
                .body(Full::from("x"))
                .expect("a request");
            let answer = gateway.send(version, request).await;
            assert_eq!(answer.status(), StatusCode::OK);
        }
    }
}

#[tokio::test]
async fn a_request_that_changes_something_is_not_sent_twice() {
    let replicas = [broken(cuts_at_once).await, broken(cuts_at_once).await];
    let gateway = Running::start(&replicas, json!({})).await;
    let request = Request::post("http://a/")
        .header("host", "a")
        .body(Full::from("x"))
        .expect("a request");
    let answer = gateway.send(Version::One, request).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(
        text(answer).await,
        "the replica ended the connection before its answer\n"
    );
    assert_eq!(
        gateway.metric("tailcut_gateway_failed_total{route=\"test\"}"),
        1.0
    );
}

#[tokio::test]
async fn without_a_replica_that_can_be_reached_the_answer_says_so() {
    let gateway = Running::start(&[nobody().await, nobody().await], json!({})).await;
    let answer = gateway.send(Version::One, get("/")).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(text(answer).await, "no replica can be reached\n");
    let slow = [broken(is_silent).await];
    let gateway = Running::start(&slow, json!({ "answer_timeout": "20ms" })).await;
    let answer = gateway.send(Version::One, get("/")).await;
    assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn a_large_answer_that_is_cut_ends_the_clients_connection_and_not_the_answer() {
    let replicas = [broken(cuts_in_the_middle).await];
    // With `whole` = 0, no answer is small enough to be stored.
    let gateway = Running::start(&replicas, json!({ "whole": 0 })).await;
    for version in VERSIONS {
        let answer = gateway.send(version, get("/")).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert!(answer.into_body().collect().await.is_err(), "{version:?}");
    }
}

#[tokio::test]
async fn a_replica_that_fails_its_checks_is_not_asked_until_it_passes_again() {
    let (good, bad) = (BlockingService::new(), BlockingService::new());
    good.allow(1_000_000);
    let replicas = [
        serve(Version::One, good.clone()).await,
        serve(Version::One, bad.clone()).await,
    ];
    let keys = json!({
        "duplicates": "off",
        "elsewhere": "off",
        "check": { "path": "/check", "interval": "10ms", "timeout": "10ms", "fall": 2, "rise": 2 },
    });
    let gateway = Running::start(&replicas, keys).await;
    let up = |replica: SocketAddr| {
        format!(
            "tailcut_gateway_replica_up{{route=\"test\",replica=\"{replica}\",address=\"{replica}\"}}"
        )
    };
    while gateway.metric(&up(replicas[1])) > 0.0 {
        tokio::task::yield_now().await;
    }
    let asked = |held: &BlockingService| {
        let seen = held.seen.borrow();
        seen.began.iter().filter(|path| *path == "/asked").count()
    };
    for _ in 0..20 {
        assert_eq!(gateway.text(Version::One, "/asked").await, "/asked");
    }
    assert_eq!((asked(&good), asked(&bad)), (20, 0));
    bad.allow(1_000_000);
    while gateway.metric(&up(replicas[1])) < 1.0 {
        tokio::task::yield_now().await;
    }
    while asked(&bad) == 0 {
        assert_eq!(gateway.text(Version::One, "/asked").await, "/asked");
    }
}

/// Returns a body of `Bytes` with this size.
fn bytes(size: usize) -> Full<Bytes> {
    Full::from(vec![1; size])
}

#[tokio::test]
async fn a_small_upload_that_is_idempotent_is_sent_again_elsewhere() {
    let replicas = [broken(cuts_at_once).await, answers(Version::One).await];
    let gateway = Running::start(&replicas, json!({})).await;
    for _ in 0..20 {
        let request = Request::put("http://a/x")
            .header("host", "a")
            .body(bytes(1_000))
            .expect("a request");
        let answer = gateway.send(Version::One, request).await;
        assert_eq!(answer.status(), StatusCode::OK);
    }
}
