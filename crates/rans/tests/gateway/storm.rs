//! Tests of replicas that refuse everything, or refuse quickly: copies must not add load when the load is highest.

use super::common::{VERSIONS, Version, get, serve};
use super::running::{Running, text};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use tower_service::Service;

/// Replica that answers every request with the same status, after a time.
#[derive(Clone)]
struct Replica {
    status: Arc<AtomicU16>,
    work: Arc<Mutex<Duration>>,
    has_guard: bool,
    received: Arc<AtomicUsize>,
}

impl Replica {
    fn new(status: u16, has_guard: bool) -> Self {
        Self {
            status: Arc::new(AtomicU16::new(status)),
            work: Arc::default(),
            has_guard,
            received: Arc::default(),
        }
    }

    fn becomes(&self, status: u16, work: Duration) {
        self.status.store(status, Ordering::Relaxed);
        *self.work.lock().expect("a lock") = work;
    }

    /// Returns the number of requests since the last call.
    fn received(&self) -> usize {
        self.received.swap(0, Ordering::Relaxed)
    }
}

impl Service<Request<Incoming>> for Replica {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Incoming>) -> Self::Future {
        self.received.fetch_add(1, Ordering::Relaxed);
        let (status, work) = (
            self.status.load(Ordering::Relaxed),
            *self.work.lock().expect("a lock"),
        );
        let mut answer = Response::builder().status(status);
        if self.has_guard {
            answer = answer.header("via", "1.1 tailcut-guard");
        }
        let answer = answer.body(Full::from("an answer"));
        Box::pin(async move {
            if !work.is_zero() {
                tokio::time::sleep(work).await;
            }
            Ok(answer.expect("an answer"))
        })
    }
}

async fn started(replicas: &[Replica], keys: Value) -> Running {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for replica in replicas {
        addresses.push(serve(Version::One, replica.clone()).await);
    }
    Running::start(&addresses, keys).await
}

fn copies_of(replicas: &[Replica], requests: usize) -> usize {
    let received: usize = replicas.iter().map(Replica::received).sum();
    received.saturating_sub(requests)
}

/// Sends requests from several clients at the same time. Returns the number of answers with status 200.
async fn flood(gateway: &Running, version: Version, clients: usize, each: usize) -> usize {
    let mut flood = JoinSet::new();
    for number in 0..clients {
        let mut client = gateway.connect(version).await;
        flood.spawn(async move {
            let mut good = 0;
            for _ in 0..each {
                let answer = client.call(get(&format!("/{number}"))).await;
                let answer = answer.expect("an answer");
                good += usize::from(answer.status() == StatusCode::OK);
                text(answer).await;
            }
            good
        });
    }
    flood.join_all().await.into_iter().sum()
}

#[tokio::test]
async fn a_storm_of_refusals_gets_a_tenth_of_copies_whatever_the_route_allows() {
    const CLIENTS: usize = 8;
    const EACH: usize = 50;
    for status in [503, 429, 404] {
        for purges in ["yes", "no", "learn"] {
            for ranges in [json!(false), json!("64KiB")] {
                for has_guard in [false, true] {
                    let replicas = [(); 3].map(|()| Replica::new(status, has_guard));
                    let keys = json!({ "purges": purges, "ranges": ranges });
                    let gateway = started(&replicas, keys).await;
                    let good = flood(&gateway, Version::One, CLIENTS, EACH).await;
                    assert_eq!(good, 0);
                    let requests = CLIENTS * EACH;
                    let copies = copies_of(&replicas, requests);
                    let what = format!("{status} {purges} {ranges} {has_guard}");
                    assert!(copies <= requests / 10 + 10, "{what}: {copies}");
                    // A refusal is a sign of overload, so that the copies end.
                    // A 404 is not, so that an object that is missing at one replica is found at another one.
                    if status != 404 {
                        assert!(copies <= 10, "{what}: {copies}");
                    }
                    let counted = gateway.metric("tailcut_gateway_copies_total{route=\"test\"}");
                    assert_eq!(counted as usize, copies, "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn copies_end_when_guarded_replicas_begin_to_refuse_and_come_back_afterwards() {
    for version in VERSIONS {
        let replicas = [(); 3].map(|()| Replica::new(200, true));
        // A slot without copies would end the copies, too.
        let gateway = started(&replicas, json!({ "do_no_harm": false })).await;
        let good = flood(&gateway, version, 8, 50).await;
        assert_eq!(good, 400);
        let copies = copies_of(&replicas, 400);
        // The first requests are not copied, because nothing is known of the replicas.
        assert!(copies > 300, "{copies}");
        // After 503, replicas would pause for a time, and one replica alone gets no copies.
        for replica in &replicas {
            replica.becomes(429, Duration::ZERO);
        }
        flood(&gateway, version, 8, 50).await;
        let copies = copies_of(&replicas, 400);
        assert!(copies <= 50, "{copies}");
        for replica in &replicas {
            replica.becomes(200, Duration::ZERO);
        }
        let good = flood(&gateway, version, 8, 50).await;
        assert_eq!(good, 400);
        let copies = copies_of(&replicas, 400);
        assert!(copies > 300, "{copies}");
    }
}

#[tokio::test]
async fn replicas_without_a_guard_get_a_tenth_of_copies_although_they_purge() {
    let replicas = [(); 2].map(|()| Replica::new(200, false));
    let gateway = started(&replicas, json!({ "purges": "yes", "do_no_harm": false })).await;
    flood(&gateway, Version::One, 8, 50).await;
    let copies = copies_of(&replicas, 400);
    assert!((10..=50).contains(&copies), "{copies}");
    let gateway = started(
        &replicas,
        json!({ "purges": "yes", "budget": 100, "do_no_harm": false }),
    )
    .await;
    flood(&gateway, Version::One, 8, 50).await;
    let copies = copies_of(&replicas, 400);
    assert_eq!(copies, 400, "the operator wants no bound");
}

/// Sends requests that are not copied. Returns how many of them each replica received.
async fn shares<const N: usize>(
    gateway: &Running,
    replicas: &[Replica; N],
    requests: usize,
) -> [usize; N] {
    replicas.iter().for_each(|replica| {
        replica.received();
    });
    flood(gateway, Version::One, 1, requests).await;
    replicas.each_ref().map(Replica::received)
}

#[tokio::test]
async fn a_replica_that_was_slow_gets_requests_again_when_it_is_fast() {
    let [ms1, ms30] = [1, 30].map(Duration::from_millis);
    let replicas = [(); 2].map(|()| Replica::new(200, false));
    replicas[0].becomes(200, ms30);
    replicas[1].becomes(200, ms1);
    let gateway = started(&replicas, json!({ "elsewhere": "off" })).await;
    let [slow, _] = shares(&gateway, &replicas, 200).await;
    assert!(slow < 20, "{slow}");
    replicas[0].becomes(200, Duration::ZERO);
    replicas[1].becomes(200, ms30);
    let [fast, _] = shares(&gateway, &replicas, 600).await;
    assert!(fast > 300, "{fast}");
}

#[tokio::test]
async fn a_replica_that_refuses_at_once_does_not_attract_requests() {
    for status in [429, 404, 503] {
        let replicas = [(); 3].map(|()| Replica::new(200, false));
        for replica in &replicas {
            replica.becomes(200, Duration::from_millis(5));
        }
        let gateway = started(&replicas, json!({ "elsewhere": "off" })).await;
        flood(&gateway, Version::One, 8, 10).await;
        replicas[0].becomes(status, Duration::ZERO);
        let good = flood(&gateway, Version::One, 8, 60).await;
        assert!(good > 400, "{status}: {good} of 480");
    }
}

#[tokio::test]
async fn a_gateway_compares_slots_with_and_without_copies_and_shows_the_result() {
    let replicas = [(); 2].map(|()| Replica::new(200, true));
    let gateway = started(&replicas, json!({ "trial_slot": "100ms" })).await;
    let metric = |name: &str| gateway.metric(&format!("tailcut_gateway_{name}{{route=\"test\"}}"));
    let mut requests = 0;
    while metric("copies_tests_total") < 3.0 {
        let good = flood(&gateway, Version::One, 8, 20).await;
        requests += 160;
        assert_eq!(good, 160);
    }
    assert!([0.0, 0.5, 1.0].contains(&metric("copies_help")));
    assert!(metric("copies_gain_ratio") <= 1.0);
    assert!(metric("copies_cost_ratio") > 0.0);
    assert!(metric("copies_total") < f64::from(requests));
    let off = started(&replicas, json!({ "do_no_harm": false })).await;
    flood(&off, Version::One, 1, 1).await;
    assert!(
        !off.gateway
            .metrics()
            .contains("tailcut_gateway_copies_help{")
    );
}
