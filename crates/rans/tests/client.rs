//! Tests of the client with real servers: which copies it sends, which answer wins, and how the slower copy ends.

mod common;
#[path = "common/plain_client.rs"]
mod plain_client;

use bytes::Bytes;
use common::{BlockingService, RequestLog, VERSIONS, Version, get, serve};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use plain_client::PlainClient;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tailcut_rans::client::{Client, ClientConfig, Purges, Replica, ResetBudget};
use tailcut_rans::guard::{GuardConfig, GuardLayer};
use tailcut_requests::{Policy, Trigger};
use tower_layer::Layer;
use tower_service::Service;

async fn replica(version: Version, address: SocketAddr, purges: Purges) -> Replica<PlainClient> {
    Replica {
        primary: PlainClient::to(version, address).await,
        copy: PlainClient::to(version, address).await,
        purges,
    }
}

async fn two(
    version: Version,
    services: [&BlockingService; 2],
    config: ClientConfig,
) -> Client<PlainClient> {
    let mut replicas = Vec::new();
    for service in services {
        let address = serve(version, service.clone()).await;
        replicas.push(replica(version, address, Purges::Yes).await);
    }
    Client::new(replicas, config, 1).expect("a configuration")
}

async fn text(answer: Response<impl http_body::Body<Error: std::fmt::Debug>>) -> String {
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

fn began(seen: &RequestLog) -> usize {
    seen.began.len()
}

#[tokio::test]
async fn a_request_goes_to_two_replicas_and_the_slower_one_is_purged_while_it_works() {
    for version in VERSIONS {
        let (fast, slow) = (BlockingService::new(), BlockingService::new());
        let mut client = two(version, [&fast, &slow], ClientConfig::default()).await;
        let answer = tokio::spawn(client.call(get("/both")));
        fast.until(|seen| began(seen) == 1).await;
        slow.until(|seen| began(seen) == 1).await;
        fast.allow(1);
        let answer = answer.await.expect("no panic").expect("an answer");
        assert_eq!(text(answer).await, "/both");
        slow.until(|seen| seen.dropped == ["/both"]).await;
        let counts = client.counts();
        assert_eq!(
            (counts.requests, counts.copies, counts.purged),
            (1, 1, 1),
            "{version:?}"
        );
    }
}

#[tokio::test]
async fn an_application_that_leaves_purges_both_copies() {
    for version in VERSIONS {
        let (one, other) = (BlockingService::new(), BlockingService::new());
        let mut client = two(version, [&one, &other], ClientConfig::default()).await;
        let answer = tokio::spawn(client.call(get("/left")));
        one.until(|seen| began(seen) == 1).await;
        other.until(|seen| began(seen) == 1).await;
        answer.abort();
        one.until(|seen| seen.dropped == ["/left"]).await;
        other.until(|seen| seen.dropped == ["/left"]).await;
    }
}

/// Service that answers every request immediately, always with the same status, and records its requests.
#[derive(Clone)]
struct Says {
    status: StatusCode,
    requests: Arc<Mutex<Vec<Request<()>>>>,
}

impl Says {
    fn new(status: StatusCode) -> Self {
        Self {
            status,
            requests: Arc::default(),
        }
    }

    fn requests(&self) -> usize {
        self.requests.lock().expect("a lock").len()
    }
}

impl Service<Request<Incoming>> for Says {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let (parts, _) = request.into_parts();
        let request = Request::from_parts(parts, ());
        self.requests.lock().expect("a lock").push(request);
        let mut answer = Response::new(Full::from(self.status.to_string()));
        *answer.status_mut() = self.status;
        ready(Ok(answer))
    }
}

async fn clients_of(services: &[Says], config: ClientConfig) -> Client<PlainClient> {
    let mut replicas = Vec::new();
    for service in services {
        let address = serve(Version::Two, service.clone()).await;
        replicas.push(replica(Version::Two, address, Purges::Yes).await);
    }
    Client::new(replicas, config, 7).expect("a configuration")
}

#[tokio::test]
async fn an_error_of_one_copy_never_wins_and_is_the_answer_only_when_no_copy_is_left() {
    let bad = [500, 503, 404, 429].map(|status| StatusCode::from_u16(status).expect("a status"));
    for status in bad {
        let services = [Says::new(status), Says::new(StatusCode::OK)];
        let mut client = clients_of(&services, ClientConfig::default()).await;
        for _ in 0..20 {
            let answer = client.call(get("/")).await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
        }
        let services = [Says::new(status), Says::new(status)];
        let mut client = clients_of(&services, ClientConfig::default()).await;
        let answer = client.call(get("/")).await.expect("an answer");
        assert_eq!(answer.status(), status);
        assert_eq!((services[0].requests(), services[1].requests()), (1, 1));
    }
}

#[tokio::test]
async fn what_changes_something_is_not_copied_unless_told() {
    let services = [Says::new(StatusCode::OK), Says::new(StatusCode::OK)];
    let mut client = clients_of(&services, ClientConfig::default()).await;
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let mut request = get("/");
        *request.method_mut() = method;
        client.call(request).await.expect("an answer");
    }
    assert_eq!(services[0].requests() + services[1].requests(), 4);
    assert_eq!(client.counts().copies, 0);
}

#[tokio::test]
async fn copies_tell_which_they_are_and_the_second_one_is_low() {
    let config = ClientConfig {
        // With this policy, both replicas receive the request before one of them answers.
        purging: Policy::DAS,
        ..ClientConfig::default()
    };
    let services = [Says::new(StatusCode::OK), Says::new(StatusCode::OK)];
    let mut client = clients_of(&services, config).await;
    for _ in 0..50 {
        client.call(get("/")).await.expect("an answer");
    }
    let mut seen = Vec::new();
    for service in &services {
        for request in service.requests.lock().expect("a lock").iter() {
            let field = |name: &str| {
                let field = request.headers().get(name);
                field.map(|field| field.to_str().expect("text").to_owned())
            };
            seen.push((field("tailcut-copy"), field("priority")));
        }
    }
    assert!(seen.contains(&(Some("0".to_owned()), None)));
    for (copy, priority) in seen {
        let low = (copy.as_deref() == Some("1")).then(|| "u=6".to_owned());
        assert_eq!(priority, low);
    }
}

#[tokio::test]
async fn replicas_whose_guard_is_seen_get_copies_at_once_and_others_do_not() {
    let hour = Policy {
        trigger: Trigger::After(tailcut_units::Duration::from_ms(3_600_000)),
        ..Policy::DAS
    };
    let config = ClientConfig {
        elsewhere: hour,
        ..ClientConfig::default()
    };
    for guarded in [true, false] {
        let services = [Says::new(StatusCode::OK), Says::new(StatusCode::OK)];
        let mut replicas = Vec::new();
        for service in &services {
            let guard = GuardLayer::new(GuardConfig::default());
            let address = match guarded {
                true => serve(Version::Two, guard.layer(service.clone())).await,
                false => serve(Version::Two, service.clone()).await,
            };
            replicas.push(replica(Version::Two, address, Purges::Learn).await);
        }
        let mut client = Client::new(replicas, config, 3).expect("a configuration");
        for _ in 0..40 {
            let answer = client.call(get("/")).await.expect("an answer");
            text(answer).await;
        }
        assert_eq!(client.counts().copies > 0, guarded);
    }
}

#[tokio::test]
async fn beyond_the_budget_of_resets_losers_run_to_their_end() {
    let (fast, slow) = (BlockingService::new(), BlockingService::new());
    let config = ClientConfig {
        resets: ResetBudget {
            rate: 0.0,
            burst: 1,
        },
        ..ClientConfig::default()
    };
    let mut client = two(Version::Two, [&fast, &slow], config).await;
    fast.allow(3);
    for number in 1..=3 {
        let answer = client.call(get("/")).await.expect("an answer");
        text(answer).await;
        slow.until(|seen| began(seen) == number).await;
    }
    slow.until(|seen| seen.dropped.len() == 1).await;
    slow.allow(2);
    slow.until(|seen| seen.ended.len() == 2).await;
    let counts = client.counts();
    assert_eq!((counts.purged, counts.spared), (1, 2));
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let none = Client::<PlainClient>::new(Vec::new(), ClientConfig::default(), 0);
    assert_eq!(none.err(), Some("a client needs a replica"));
    let three = ClientConfig {
        purging: Policy {
            copies: 3,
            ..Policy::DAS
        },
        ..ClientConfig::default()
    };
    assert!(three.fault().is_some());
    assert_eq!(ClientConfig::default().fault(), None);
}
