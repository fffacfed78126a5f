//! Answers of a service as bytes, and the answers that clients get.

use super::stage::{Stage, ask, fixed, read_head};
use http::Request;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use serde_json::json;

#[tokio::test]
async fn an_answer_that_is_chunked_and_has_a_length_arrives_whole() {
    // RFC 9112, section 6.3: Transfer-Encoding overrides Content-Length.
    for length in ["3", "10"] {
        let answer = match length {
            "3" => {
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            }
            _ => {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 10\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            }
        };
        let stage = Stage::before(fixed(answer).await, json!({}), json!({})).await;
        for (name, at) in stage.both() {
            let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert_eq!(found.status(), 200, "{name} {length}");
            assert!(found.body.contains("hello"), "{name} {length}: {found:?}");
            assert_eq!(
                found.field("content-length"),
                None,
                "{name} {length}: {found:?}"
            );
        }
    }
}

/// Starts a service that never answers `/hang`, and sends a part of its answer to `/part`.
async fn hanging() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                while let Some(head) = read_head(&mut stream).await {
                    let answer = match head.split(' ').nth(1) {
                        Some("/hang") => "",
                        Some("/part") => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour",
                        _ => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                    };
                    stream.write_all(answer.as_bytes()).await.expect("sent");
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_service_that_hangs_costs_its_request_and_not_the_worker() {
    let guard = json!({ "workers": 1, "answer_timeout": "300ms" });
    // Answers of any length are forwarded as they arrive.
    let gateway = json!({ "whole": 0, "answer_timeout": "300ms" });
    let stage = Stage::before(hanging().await, guard, gateway).await;
    for (name, at) in stage.both() {
        let slow = ask(at, b"GET /hang HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(slow.status(), 504, "{name}");
        let part = ask(at, b"GET /part HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(
            (part.status(), part.body.contains("four")),
            (200, true),
            "{name}"
        );
        let next = ask(at, b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(next.status(), 200, "{name}");
    }
}

#[tokio::test]
async fn a_request_that_finds_no_worker_in_time_is_refused() {
    let guard = json!({ "workers": 1, "queue_timeout": "1s" });
    let stage = Stage::before(hanging().await, guard, json!({})).await;
    let mut running = tokio::net::TcpStream::connect(stage.guard)
        .await
        .expect("a guard");
    let request = b"GET /part HTTP/1.1\r\nHost: a\r\n\r\n";
    running.write_all(request).await.expect("sent");
    // The first byte shows that the request has the worker.
    running.read_u8().await.expect("an answer");
    let late = ask(stage.guard, b"GET /late HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((late.status(), late.field("retry-after")), (503, Some("1")));
    drop(running);
    let next = ask(stage.guard, b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(next.status(), 200);
}

/// A service sends trailers that no trailer section may contain. An HTTP/2 client would refuse the whole answer.
#[tokio::test]
async fn trailers_over_http2_have_no_fields_of_the_connection() {
    let service = fixed(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nxy\r\n0\r\n\
         X-Sum: 42\r\nConnection: X-Mine\r\nX-Mine: 1\r\nContent-Length: 7\r\n\r\n",
    )
    .await;
    let stage = Stage::before(service, json!({}), json!({})).await;
    for (name, at) in stage.both() {
        let stream = TcpStream::connect(at).await.expect("a listener");
        let (mut sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let driving = tokio::spawn(connection);
        let request = Request::get("http://service/").header("te", "trailers");
        let request = request.body(()).expect("a request");
        let (answer, _) = sender.send_request(request, true).expect("open");
        let mut body = answer.await.expect(name).into_body();
        let data = body.data().await.expect("data").expect(name);
        assert_eq!(data, "xy", "{name}");
        let trailers = body.trailers().await.expect(name).expect("trailers");
        let fields: Vec<_> = trailers.keys().map(|field| field.as_str()).collect();
        assert_eq!(fields, ["x-sum"], "{name}");
        driving.abort();
    }
}
