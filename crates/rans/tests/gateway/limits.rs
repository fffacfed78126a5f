//! Tests of a gateway's limits: sizes, times, and numbers of requests and connections.

use super::common::{BlockingService, VERSIONS, Version, get, serve};
use super::running::{Running, text};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service;

async fn held() -> (BlockingService, [std::net::SocketAddr; 1]) {
    let held = BlockingService::new();
    let replica = serve(Version::One, held.clone()).await;
    (held, [replica])
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_and_told_to_come_again() {
    let (held, replicas) = held().await;
    let gateway = Running::start(&replicas, json!({ "limits": { "pending": 1 } })).await;
    let mut client = gateway.connect(Version::Two).await;
    let first = tokio::spawn(client.call(get("/first")));
    held.until(|seen| seen.began.len() == 1).await;
    let refused = client.call(get("/second")).await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    held.allow(2);
    let first = first.await.expect("no panic").expect("an answer");
    assert_eq!(text(first).await, "/first");
    let second = client.call(get("/second")).await.expect("an answer");
    assert_eq!(second.status(), StatusCode::OK);
}

/// Returns the memory of this process in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4_096
}

#[tokio::test]
async fn a_flood_of_primaries_is_refused_beyond_the_limit_and_takes_no_memory() {
    const PENDING: usize = 64;
    const FLOOD: usize = 4_000;
    let (held, replicas) = held().await;
    let keys = json!({ "limits": { "pending": PENDING } });
    let gateway = Running::start(&replicas, keys).await;
    let before = memory();
    // All bodies together have 240 MB.
    let body = bytes::Bytes::from(vec![7; 60_000]);
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(gateway.connect(Version::Two).await);
    }
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..FLOOD {
        let request = Request::post("http://a/")
            .header("host", "a")
            .body(Full::from(body.clone()));
        let answering = clients[number % 16].call(request.expect("a request"));
        asking.spawn(async move {
            let answer = answering.await.expect("an answer");
            let again = answer.headers().get("retry-after").cloned();
            (answer.status(), again)
        });
    }
    for _ in PENDING..FLOOD {
        let (status, again) = asking.join_next().await.expect("one").expect("no panic");
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(again.expect("a field"), "1");
    }
    held.until(|seen| seen.began.len() == PENDING).await;
    // Other tests run in this process at the same time, so the bound is loose. All bodies would need 240 MB.
    let grown = memory().saturating_sub(before);
    assert!(grown < 160_000_000, "{grown} bytes");
    held.allow(PENDING);
    while let Some(ended) = asking.join_next().await {
        assert_eq!(ended.expect("no panic").0, StatusCode::OK);
    }
    let refused = gateway.metric("tailcut_gateway_requests_refused_total{route=\"test\"}");
    assert_eq!(refused, (FLOOD - PENDING) as f64);
}

#[tokio::test]
async fn a_body_or_head_that_is_too_long_is_refused() {
    let (held, replicas) = held().await;
    held.allow(100);
    let keys = json!({ "limits": { "body": "1KiB", "head": "8KiB" }, "replay": 16 });
    let gateway = Running::start(&replicas, keys).await;
    for version in VERSIONS {
        let post = |size| {
            Request::post("http://a/")
                .header("host", "a")
                .body(Full::from(vec![0; size]))
                .expect("a request")
        };
        assert_eq!(
            gateway.send(version, post(1_024)).await.status(),
            StatusCode::OK
        );
        assert_eq!(
            gateway.send(version, post(1_025)).await.status(),
            StatusCode::PAYLOAD_TOO_LARGE
        );
        let mut long = get("/");
        let value = "x".repeat(20_000).parse().expect("a value");
        long.headers_mut().insert("x-long", value);
        let mut client = gateway.connect(version).await;
        // With HTTP/2, the refusal may be a reset of the stream.
        if let Ok(answer) = client.call(long).await {
            assert_eq!(
                answer.status(),
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "{version:?}"
            );
        }
    }
    // A body of unknown length has the same limit.
    let mut stream = TcpStream::connect(gateway.address)
        .await
        .expect("the gateway");
    let mut request = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    request.extend_from_slice(format!("800\r\n{}\r\n0\r\n\r\n", "y".repeat(0x800)).as_bytes());
    stream.write_all(&request).await.expect("sent");
    let mut told = [0; 12];
    stream.read_exact(&mut told).await.expect("an answer");
    assert_eq!(&told, b"HTTP/1.1 413");
}

#[tokio::test]
async fn clients_that_are_slow_or_silent_lose_their_connection() {
    let (held, replicas) = held().await;
    held.allow(100);
    let keys = json!({ "limits": {
        "head_timeout": "50ms", "idle_timeout": "50ms", "stall_timeout": "50ms",
    } });
    let gateway = Running::start(&replicas, keys).await;
    let request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    for (said, expected) in [
        // The clients send no byte, half a head, a request and then nothing, or a second head that does not end.
        ("", ""),
        ("GET / HT", ""),
        (request, "HTTP/1.1 200 OK"),
        (&format!("{request}GET / HTTP/1.1\r\nho"), "HTTP/1.1 200 OK"),
        // These bodies do not arrive completely.
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nab",
            "HTTP/1.1 408",
        ),
    ] {
        let mut stream = TcpStream::connect(gateway.address)
            .await
            .expect("the gateway");
        stream.write_all(said.as_bytes()).await.expect("sent");
        let mut told = String::new();
        stream.read_to_string(&mut told).await.expect("an end");
        assert!(told.starts_with(expected), "{said:?}: {told:?}");
        assert_eq!(told.is_empty(), expected.is_empty(), "{said:?}: {told:?}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_while_all_others_have_requests() {
    let (held, replicas) = held().await;
    let gateway = Running::start(&replicas, json!({ "limits": { "connections": 2 } })).await;
    let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(gateway.address)
            .await
            .expect("the gateway");
        stream.write_all(request).await.expect("sent");
        open.push(stream);
    }
    held.until(|seen| seen.began.len() == 2).await;
    let mut third = TcpStream::connect(gateway.address)
        .await
        .expect("a backlog");
    third.write_all(request).await.expect("sent");
    assert_eq!(
        gateway.metric("tailcut_gateway_connections{route=\"test\"}"),
        2.0
    );
    // The two clients still have their connections when they get their answers.
    held.allow(3);
    for mut stream in open {
        let mut told = [0; 15];
        stream.read_exact(&mut told).await.expect("an answer");
        assert_eq!(&told, b"HTTP/1.1 200 OK");
    }
    let mut told = [0; 15];
    third.read_exact(&mut told).await.expect("an answer");
    assert_eq!(&told, b"HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_connection_without_a_request_makes_room_for_a_client_that_waits() {
    let (held, replicas) = held().await;
    held.allow(100);
    let gateway = Running::start(&replicas, json!({ "limits": { "connections": 3 } })).await;
    let mut open = Vec::new();
    // The first connection sends a whole request, the second one no byte, and the third one half a head.
    for said in ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "", "GET / HT"] {
        let mut stream = TcpStream::connect(gateway.address)
            .await
            .expect("the gateway");
        stream.write_all(said.as_bytes()).await.expect("sent");
        open.push(stream);
    }
    for _ in 0..10 {
        assert_eq!(gateway.text(Version::One, "/next").await, "/next");
    }
}
