//! Clients that reset their requests (CVE-2023-44487).

use super::stage::{Stage, ask};
use http::Request;
use std::future::poll_fn;
use tokio::net::TcpStream;

/// A client resets each stream as soon as it is open. Its connection is closed, and other clients are answered.
#[tokio::test]
async fn a_connection_with_20_000_resets_is_closed() {
    let stage = Stage::mirror().await;
    for (name, at) in stage.both() {
        let stream = TcpStream::connect(at).await.expect("a listener");
        let (mut sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let driving = tokio::spawn(connection);
        let mut sent = 0;
        while sent < 20_000 && poll_fn(|cx| sender.poll_ready(cx)).await.is_ok() {
            let request = Request::get("http://service/flood").body(());
            let opened = sender.send_request(request.expect("a request"), true);
            let Ok((_, mut stream)) = opened else { break };
            stream.send_reset(h2::Reason::CANCEL);
            sent += 1;
            tokio::task::yield_now().await;
            if sent % 1_000 == 0 {
                let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
                assert_eq!(found.status(), 200, "{name} {sent}");
            }
        }
        assert!((1_000..20_000).contains(&sent), "{name}: {sent} resets");
        drop(sender);
        // The connection ends without a fault of this client.
        let _ = driving.await;
        let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{name}");
    }
}
