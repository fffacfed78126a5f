//! Bodies of requests that break off, or do not come.

use super::http2::{begin, frame, get, literal, status};
use super::stage::{Stage, answer, ask, mirror, read_frame, read_head};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

#[tokio::test]
async fn an_upload_that_ends_early_is_the_fault_of_the_client() {
    let stage = Stage::mirror().await;
    for (name, at) in stage.both() {
        for head in ["Content-Length: 9", "Transfer-Encoding: chunked"] {
            let mut stream = TcpStream::connect(at).await.expect("a listener");
            let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n2\r\nxy");
            stream.write_all(request.as_bytes()).await.expect("sent");
            stream.shutdown().await.expect("half closed");
            assert_eq!(answer(&mut stream).await.status(), 400, "{name} {head}");
        }
    }
}

#[tokio::test]
async fn clients_that_send_no_body_occupy_no_worker_and_are_given_up() {
    let limits = json!({ "stall_timeout": "300ms" });
    let keys = json!({ "workers": 1, "limits": limits });
    let stage = Stage::before(mirror().await, keys, json!({ "limits": limits })).await;
    for (name, at) in stage.both() {
        let mut silent = Vec::new();
        for head in [
            "Content-Length: 10",
            "Content-Length: 1000000",
            "Transfer-Encoding: chunked",
        ] {
            let mut stream = TcpStream::connect(at).await.expect("a listener");
            let request =
                format!("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{head}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("sent");
            // This answer shows that the body is awaited.
            let head = read_head(&mut stream).await.expect("an interim answer");
            assert!(head.starts_with("HTTP/1.1 100"), "{name} {head}");
            silent.push(stream);
        }
        let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{name}");
        for mut stream in silent {
            assert_eq!(answer(&mut stream).await.status(), 408, "{name}");
        }
    }
}

/// A client sends single bytes of a body, and more often than the time limit for a part. Its request is given up.
#[tokio::test]
async fn single_bytes_extend_no_time_limit() {
    let limits = json!({ "stall_timeout": "300ms" });
    let keys = json!({ "workers": 1, "limits": limits });
    let stage = Stage::before(mirror().await, keys, json!({ "limits": limits })).await;
    for (name, at) in stage.both() {
        for head in ["Content-Length: 10000", "Content-Length: 1000000"] {
            let stream = TcpStream::connect(at).await.expect("a listener");
            let (mut receiver, mut sender) = stream.into_split();
            let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n");
            sender.write_all(request.as_bytes()).await.expect("sent");
            let sending = tokio::spawn(async move {
                let mut each = tokio::time::interval(Duration::from_millis(50));
                while sender.write_all(b"x").await.is_ok() {
                    each.tick().await;
                }
            });
            let mut answer = vec![0; 12];
            receiver.read_exact(&mut answer).await.expect("an answer");
            assert_eq!(answer, b"HTTP/1.1 408", "{name} {head}");
            sending.abort();
            let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert_eq!(found.status(), 200, "{name}");
        }
    }
}

/// RFC 9113, section 8.1: a complete answer may come before the end of the request.
#[tokio::test]
async fn a_refusal_comes_before_the_body_and_the_connection_stays_open() {
    let stage = Stage::before(
        mirror().await,
        json!({}),
        json!({ "limits": { "body": 1_000 } }),
    )
    .await;
    let mut stream = TcpStream::connect(stage.gateway).await.expect("a listener");
    let mut bytes = begin(&[]);
    let post = get(&[(":method", "POST")], &[("content-length", "50000")]);
    let block: Vec<u8> = post.iter().flat_map(literal).collect();
    bytes.extend(frame(1, 4, 1, &block));
    bytes.extend(frame(0, 0, 1, &[0; 10_000]));
    stream.write_all(&bytes).await.expect("sent");
    // The answer is complete before the body.
    loop {
        let (kind, stream, payload) = read_frame(&mut stream).await;
        assert_ne!((kind, stream), (3, 1), "{payload:?}");
        if (kind, stream) == (1, 1) {
            assert_eq!(status(&payload), 413);
        }
        if (kind, stream) == (0, 1) {
            break;
        }
    }
    // The client may end the body, or send another request.
    let mut bytes = frame(0, 1, 1, &[0; 10_000]);
    let block: Vec<u8> = get(&[], &[]).iter().flat_map(literal).collect();
    bytes.extend(frame(1, 5, 3, &block));
    stream.write_all(&bytes).await.expect("sent");
    let found = loop {
        let (kind, stream, payload) = read_frame(&mut stream).await;
        if (kind, stream) == (1, 3) {
            break status(&payload);
        }
    };
    assert_eq!(found, 200);
}

/// curl sends long bodies. It shows the answer each time.
#[tokio::test]
async fn curl_shows_the_refusal_of_a_body_that_is_too_long() {
    let gateway = json!({ "limits": { "body": 1_000 } });
    let stage = Stage::before(mirror().await, json!({}), gateway).await;
    let directory = tempfile::tempdir().expect("a directory");
    let body = directory.path().join("body");
    std::fs::write(&body, vec![0; 3 << 20]).expect("a file");
    let mut found = Vec::new();
    for _ in 0..20 {
        let mut curl = Command::new("curl");
        curl.args(["--http2-prior-knowledge", "-s", "-o", "/dev/null"]);
        curl.args(["-w", "%{http_code} %{exitcode}", "--data-binary"]);
        curl.arg(format!("@{}", body.display()));
        curl.arg(format!("http://{}/", stage.gateway));
        let output = curl.output().await.expect("curl");
        found.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    assert_eq!(found, vec!["413 0"; 20]);
}
