//! Clients that a load balancer names by the PROXY protocol.

use super::stage::{RawAnswer, Stage, answer, ask, mirror};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn text(client: &str) -> Vec<u8> {
    format!("PROXY TCP4 {client} 192.0.2.1 5 80\r\n").into_bytes()
}

async fn ask_as(client: &str, at: SocketAddr) -> RawAnswer {
    ask(at, &[&text(client), GET].concat()).await
}

#[tokio::test]
async fn a_load_balancer_names_the_client_in_both_versions_of_its_header() {
    let gateway = json!({ "proxy_protocol": true, "forwarded": "x-forwarded" });
    let guard = json!({ "proxy_protocol": true });
    let stage = Stage::before(mirror().await, guard, gateway).await;
    let found = ask_as("192.0.2.7", stage.gateway).await;
    assert!(
        found.body.contains("x-forwarded-for: 192.0.2.7\n"),
        "{found:?}"
    );
    let mut binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    binary.extend([192, 0, 2, 8, 192, 0, 2, 1, 0, 5, 0, 80]);
    let found = ask(stage.gateway, &[&binary, GET].concat()).await;
    assert!(
        found.body.contains("x-forwarded-for: 192.0.2.8\n"),
        "{found:?}"
    );
    for (name, at) in stage.both() {
        assert_eq!(ask_as("192.0.2.7", at).await.status(), 200, "{name}");
        // A connection without the header is closed without an answer.
        assert_eq!(ask(at, GET).await.status(), 0, "{name}");
    }
}

/// Both clients come from the address of the load balancer.
#[tokio::test]
async fn clients_behind_a_load_balancer_share_the_workers_of_a_guard() {
    let guard = json!({
        "proxy_protocol": true, "workers": 1, "buffer": 0, "yield_timeout": "50ms",
    });
    let stage = Stage::before(mirror().await, guard, json!({})).await;
    let mut silent = TcpStream::connect(stage.guard).await.expect("a listener");
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx";
    let request = [&text("192.0.2.7"), head.as_slice()].concat();
    silent.write_all(&request).await.expect("sent");
    let requests = async {
        loop {
            let found = ask_as("192.0.2.8", stage.guard).await;
            assert_eq!(found.status(), 200);
        }
    };
    tokio::select! {
        refused = answer(&mut silent) => assert_eq!(refused.status(), 503),
        () = requests => {}
    }
}
