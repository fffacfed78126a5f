//! Tests of the lines of logs.

use super::common::{BlockingService, Version, serve};
use super::programs::{Logged, dir};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::json;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll};
use tower_service::Service;

async fn answers() -> SocketAddr {
    let service = BlockingService::new();
    service.allow(1_000);
    serve(Version::One, service).await
}

/// Service that answers with the fields of its request, or with 500 while it is not well.
#[derive(Clone)]
struct Mirror(Arc<AtomicBool>);

impl Service<Request<Incoming>> for Mirror {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let fields = request.headers().iter();
        let text: String = fields
            .map(|(name, value)| format!("{name}: {}\n", value.to_str().expect("text")))
            .collect();
        let mut answer = Response::new(Full::from(text));
        if !self.0.load(SeqCst) {
            *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        ready(Ok(answer))
    }
}

#[tokio::test]
async fn one_identifier_finds_a_request_in_the_logs_of_gateway_and_guard_and_at_the_service() {
    let service = serve(Version::One, Mirror(Arc::new(AtomicBool::new(true)))).await;
    let guard = Logged::guard(dir(), service, json!({})).await;
    let keys = json!({ "traceparent": "make" });
    let gateway = Logged::gateway(dir(), &[guard.address.to_string()], keys).await;
    let made = gateway.get("/made").await;
    let own = Request::get("/own")
        .header("host", "a")
        .header("x-request-id", "order-7");
    let kept = gateway
        .send(own.body(Full::default()).expect("a request"))
        .await;
    assert_eq!(
        (made.status(), kept.status()),
        (StatusCode::OK, StatusCode::OK)
    );
    let (at_gateway, _) = gateway.stop().await;
    let (at_guard, _) = guard.stop().await;
    for (answer, path) in [(made, "/made"), (kept, "/own")] {
        let line = at_gateway
            .iter()
            .find(|line| line["path"] == path)
            .expect(path);
        let other = at_guard
            .iter()
            .find(|line| line["path"] == path)
            .expect(path);
        for name in ["request_id", "traceparent"] {
            assert_eq!(line[name], other[name]);
            let value = line[name].as_str().expect("an identifier");
            let field = name.replace("request_id", "x-request-id");
            assert!(
                answer.body().contains(&format!("{field}: {value}\n")),
                "{}",
                answer.body()
            );
        }
        assert_eq!(
            line["client"]
                .as_str()
                .map(|at| at.starts_with("127.0.0.1:")),
            Some(true)
        );
        assert_eq!(line["copies"], 0);
        assert_eq!(line["bytes"], answer.body().len());
        let number = |name: &str| line[name].as_f64().expect(name);
        assert!(
            number("waited_ms") <= number("began_ms") && number("began_ms") <= number("total_ms")
        );
    }
    let own = at_gateway.iter().find(|line| line["path"] == "/own");
    assert_eq!(own.expect("a line")["request_id"], "order-7");
}

#[tokio::test]
async fn a_line_names_the_replica_that_answered_and_the_one_that_did_not() {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket
        .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .expect("a port");
    let dead = socket.local_addr().expect("an address").to_string();
    let works = answers().await.to_string();
    let replicas = [dead.clone(), works.clone()];
    let gateway = Logged::gateway(dir(), &replicas, json!({ "elsewhere": "off" })).await;
    for _ in 0..20 {
        assert_eq!(gateway.get("/").await.status(), StatusCode::OK);
    }
    let (access, _) = gateway.stop().await;
    assert!(access.iter().all(|line| line["replica"] == works.as_str()));
    let failures = format!("{dead} refused");
    let repeated = access
        .iter()
        .filter(|line| line["failures"] == failures.as_str());
    let repeated: Vec<_> = repeated.collect();
    assert!(!repeated.is_empty());
    assert!(
        repeated
            .iter()
            .all(|line| line["copies"] == 1 && line["reason"].is_null())
    );
}

#[tokio::test]
async fn a_replica_that_becomes_ill_and_recovers_leaves_two_lines() {
    let is_well = Arc::new(AtomicBool::new(true));
    let replica = serve(Version::One, Mirror(Arc::clone(&is_well))).await;
    let check = json!({ "path": "/", "interval": "10ms", "fall": 1, "rise": 1 });
    let gateway = Logged::gateway(dir(), &[replica.to_string()], json!({ "check": check })).await;
    is_well.store(false, SeqCst);
    let ill = gateway
        .until_error(|line| line["message"] == "a replica gets no requests")
        .await;
    assert_eq!(ill["replica"], replica.to_string());
    assert_eq!(ill["route"], "test");
    is_well.store(true, SeqCst);
    let again = gateway
        .until_error(|line| line["message"] == "a replica gets requests again")
        .await;
    assert_eq!(again["replica"], replica.to_string());
}

#[tokio::test]
async fn a_replica_that_purges_according_to_the_configuration_but_has_no_guard_leaves_one_line() {
    let replica = answers().await.to_string();
    let keys = json!({ "purges": "yes" });
    let gateway = Logged::gateway(dir(), std::slice::from_ref(&replica), keys).await;
    for _ in 0..3 {
        assert_eq!(gateway.get("/").await.status(), StatusCode::OK);
    }
    let (_, errors) = gateway.stop().await;
    let about_guards = errors.iter().filter(|line| {
        let message = line["message"].as_str();
        message.is_some_and(|message| message.starts_with("a replica has no guard"))
    });
    let about_guards: Vec<_> = about_guards.collect();
    assert_eq!(about_guards.len(), 1, "{errors:?}");
    assert_eq!(about_guards[0]["route"], "test");
    assert_eq!(about_guards[0]["replica"], replica);
}
