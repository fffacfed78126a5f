//! A gateway takes another configuration, and ends, while requests are open.

use super::common::{Held, Version, get, serve};
use super::running::{Running, config, text};
use http::StatusCode;
use serde_json::json;
use std::net::SocketAddr;
use tailcut_rans::gateway::Gateway;
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

async fn replica() -> (Held, SocketAddr) {
    let held = Held::new();
    let address = serve(Version::One, held.clone()).await;
    (held, address)
}

#[tokio::test]
async fn a_listener_goes_on_with_other_replicas_and_open_requests_end_at_theirs() {
    let ((old, old_at), (new, new_at)) = (replica().await, replica().await);
    let mut running = Running::start(&[old_at], json!({})).await;
    let mut way = running.way(Version::Two).await;
    let open = tokio::spawn(way.call(get("/open")));
    old.until(|seen| seen.began.len() == 1).await;
    running
        .gateway
        .reload(&config(&[new_at], &json!({})))
        .await
        .expect("reloaded");
    assert_eq!(running.gateway.address("test"), Some(running.address));
    new.allow(2);
    // The same connection asks the new replica from now on.
    let next = way.call(get("/next")).await.expect("an answer");
    assert_eq!(text(next).await, "/next");
    assert_eq!(running.text(Version::One, "/third").await, "/third");
    old.allow(1);
    let open = open.await.expect("no panic").expect("an answer");
    assert_eq!(text(open).await, "/open");
    assert_eq!(old.seen.borrow().began, ["/open"]);
    // What was counted before still counts.
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
    // A name that nobody has changes nothing, either.
    let nowhere = json!({ "replicas": ["nowhere.invalid:1"] });
    let refused = running.gateway.reload(&config(&[new_at], &nowhere)).await;
    assert!(refused.is_err());
    assert_eq!(running.text(Version::One, "/again").await, "/again");
}

#[tokio::test]
async fn a_listener_that_moves_answers_what_is_open_where_it_was() {
    let (held, at) = replica().await;
    let mut running = Running::start(&[at], json!({})).await;
    let mut way = running.way(Version::One).await;
    let open = tokio::spawn(way.call(get("/open")));
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
        let mut way = running.way(version).await;
        let open = tokio::spawn(way.call(get("/open")));
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
    let mut way = super::way::Way::to(Version::Two, address).await;
    let open = tokio::spawn(way.call(get("/open")));
    held.until(|seen| seen.began.len() == 1).await;
    gateway.stop().await;
    assert!(open.await.expect("no panic").is_err());
    held.until(|seen| seen.dropped == ["/open"]).await;
}
