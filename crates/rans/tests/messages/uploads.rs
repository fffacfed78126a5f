//! Bodies of requests that break off, or do not come.

use super::stage::{Stage, answer, ask, mirror, read_head};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

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
