//! Tests of reloads and stops of a gateway while requests are open.

use super::common::{BlockingService, Version, get, serve};
use super::running::{Running, config, text};
use bytes::Bytes;
use http::StatusCode;
use http::uri::Authority;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use tailcut_proxy::Running as _;
use tailcut_rans::connections::{
    CONNECT_TIME, ConnectionConfig, ConnectionError, Connections, Connector, Protocol,
};
use tailcut_rans::gateway::Gateway;
use tailcut_rans::socket::SocketOptions;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_service::Service;

type TcpConnections = Connections<Connector, Full<Bytes>>;

async fn replica() -> (BlockingService, SocketAddr) {
    let held = BlockingService::new();
    let address = serve(Version::One, held.clone()).await;
    (held, address)
}

#[tokio::test]
async fn a_listener_goes_on_with_other_replicas_and_open_requests_end_at_theirs() {
    let ((old, old_at), (new, new_at)) = (replica().await, replica().await);
    let mut running = Running::start(&[old_at], json!({})).await;
    let mut client = running.connect(Version::Two).await;
    let open = tokio::spawn(client.call(get("/open")));
    old.until(|seen| seen.began.len() == 1).await;
    running
        .gateway
        .reload(&config(&[new_at], &json!({})))
        .await
        .expect("reloaded");
    assert_eq!(running.gateway.address("test"), Some(running.address));
    new.allow(2);
    // The same connection must now use the new replica.
    let next = client.call(get("/next")).await.expect("an answer");
    assert_eq!(text(next).await, "/next");
    assert_eq!(running.text(Version::One, "/third").await, "/third");
    old.allow(1);
    let open = open.await.expect("no panic").expect("an answer");
    assert_eq!(text(open).await, "/open");
    assert_eq!(old.seen.borrow().began, ["/open"]);
    // A reload keeps the earlier counts.
    assert_eq!(
        running.metric("tailcut_gateway_requests_total{route=\"test\",status=\"2xx\"}"),
        3.0
    );
    assert_eq!(
        running.metric("tailcut_gateway_client_requests_total{route=\"test\"}"),
        3.0
    );
}

#[tokio::test]
async fn a_reload_that_cannot_listen_changes_nothing() {
    let ((old, old_at), (_, new_at)) = (replica().await, replica().await);
    old.allow(10);
    let mut running = Running::start(&[old_at], json!({})).await;
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = taken.local_addr().expect("an address").to_string();
    let mut wrong = config(&[new_at], &json!({}));
    let other = config(&[new_at], &json!({ "name": "other", "listen": at }));
    wrong.routes.extend(other.routes);
    let refused = running
        .gateway
        .reload(&wrong)
        .await
        .expect_err("a port that is taken");
    let text = format!("{refused:#}");
    assert!(
        text.starts_with(&format!("route other: cannot listen on {at}")),
        "{text}"
    );
    assert_eq!(running.text(Version::One, "/still").await, "/still");
    assert_eq!(old.seen.borrow().ended, ["/still"]);
    // A name that cannot be resolved must also change nothing.
    let nowhere = json!({ "replicas": ["nowhere.invalid:1"] });
    let refused = running.gateway.reload(&config(&[new_at], &nowhere)).await;
    assert!(refused.is_err());
    assert_eq!(running.text(Version::One, "/again").await, "/again");
}

#[tokio::test]
async fn a_listener_that_moves_answers_what_is_open_where_it_was() {
    let (held, at) = replica().await;
    let mut running = Running::start(&[at], json!({})).await;
    let mut client = running.connect(Version::One).await;
    let open = tokio::spawn(client.call(get("/open")));
    held.until(|seen| seen.began.len() == 1).await;
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let elsewhere = free.local_addr().expect("an address");
    drop(free);
    let moved = config(&[at], &json!({ "listen": elsewhere.to_string() }));
    running.gateway.reload(&moved).await.expect("reloaded");
    assert!(TcpStream::connect(running.address).await.is_err());
    assert_eq!(running.gateway.address("test"), Some(elsewhere));
    held.allow(1);
    let open = open.await.expect("no panic").expect("an answer");
    assert_eq!(text(open).await, "/open");
}

#[tokio::test]
async fn at_the_end_open_requests_are_answered_and_new_ones_are_not_taken() {
    let (held, at) = replica().await;
    let running = Running::start(&[at], json!({})).await;
    for version in [Version::One, Version::Two] {
        let mut client = running.connect(version).await;
        let open = tokio::spawn(client.call(get("/open")));
        held.until(|seen| seen.began.len() - seen.ended.len() == 1)
            .await;
        if version == Version::One {
            held.allow(1);
            assert_eq!(
                text(open.await.expect("no panic").expect("an answer")).await,
                "/open"
            );
            continue;
        }
        let address = running.address;
        let stopping = tokio::spawn(running.gateway.stop());
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        held.allow(1);
        let answer = open.await.expect("no panic").expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(text(answer).await, "/open");
        stopping.await.expect("an end");
        return;
    }
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_when_the_time_to_drain_is_over() {
    let (held, at) = replica().await;
    let mut short = config(&[at], &json!({}));
    short.drain = std::time::Duration::from_millis(1);
    let gateway = Gateway::start(&short).await.expect("a gateway");
    let address = gateway.address("test").expect("a route");
    let mut client = super::plain_client::PlainClient::to(Version::Two, address).await;
    let open = tokio::spawn(client.call(get("/open")));
    held.until(|seen| seen.began.len() == 1).await;
    gateway.stop().await;
    assert!(open.await.expect("no panic").is_err());
    held.until(|seen| seen.dropped == ["/open"]).await;
}

/// Sends requests one after the other, and reports the number of answers.
/// Panics on a status other than 200, and on the answer to another request.
/// If a connection is refused, or ends before the answer begins, the request is sent again, as clients do with a GET.
async fn ask_on(version: Version, at: SocketAddr, name: usize, answered: Arc<watch::Sender<u64>>) {
    let to = Authority::try_from(at.to_string()).expect("an address");
    let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
    let protocol = match version {
        Version::One => Protocol::One,
        Version::Two => Protocol::Two,
    };
    let config = ConnectionConfig {
        protocol,
        ..ConnectionConfig::default()
    };
    let mut client = TcpConnections::new(connector.expect("a port"), to, config);
    for number in 0.. {
        let path = format!("/{name}/{number}");
        let answer = loop {
            match client.call(get(&path)).await {
                Ok(answer) => break answer,
                Err(ConnectionError::Connect(_)) => tokio::task::yield_now().await,
                // The listener closed while this connection was in its queue.
                // With HTTP/2, the server reports requests that it has not begun.
                Err(ConnectionError::Http(error)) => {
                    assert!(version == Version::One, "{path}: {error:?}")
                }
                Err(error) => panic!("{path}: {error}"),
            }
        };
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("a body");
        let body = body.to_bytes();
        assert_eq!((status, &body[..]), (StatusCode::OK, path.as_bytes()));
        answered.send_modify(|count| *count += 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_reloads_and_five_successors_under_load_lose_no_request() {
    for version in [Version::One, Version::Two] {
        let word = if version == Version::One {
            "http1"
        } else {
            "http2"
        };
        let mut replicas = Vec::new();
        for _ in 0..4 {
            let held = BlockingService::new();
            held.allow(1_000_000);
            replicas.push(serve(version, held).await);
        }
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let keys = json!({ "protocol": word, "purges": "yes", "listen": address.to_string() });
        let first = config(&replicas[..2], &keys);
        let mut gateway = Gateway::start(&first).await.expect("a gateway");
        let answered = Arc::new(watch::Sender::new(0));
        let mut asking = JoinSet::new();
        for name in 0..8 {
            asking.spawn(ask_on(version, address, name, Arc::clone(&answered)));
        }
        // Waits for `count` further answers.
        let mut more = async |count: u64| {
            let mut answered = answered.subscribe();
            let least = *answered.borrow() + count;
            tokio::select! {
                seen = answered.wait_for(|seen| *seen >= least) => assert!(seen.is_ok()),
                ended = asking.join_next() => panic!("{ended:?}"),
            }
        };
        for turn in 0..20 {
            more(20).await;
            // The reload changes the replicas and the limits. Open requests finish at their old replica.
            let mut others = config(&replicas[turn % 3..][..2], &keys);
            others.routes[0].limits.pending = 100 + turn as u32;
            gateway.reload(&others).await.expect("reloaded");
        }
        for _ in 0..5 {
            more(20).await;
            let leaving = tokio::spawn(gateway.stop());
            let next = config(&replicas[..2], &keys);
            // The port becomes free when the old gateway stops listening.
            gateway = loop {
                match Gateway::start(&next).await {
                    Ok(next) => break next,
                    Err(_) => tokio::task::yield_now().await,
                }
            };
            more(20).await;
            leaving.await.expect("an end");
        }
    }
}
