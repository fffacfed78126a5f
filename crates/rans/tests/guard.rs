//! Tests of the guard with real HTTP/1.1 and HTTP/2 connections: which requests run, are purged, or are refused.

mod common;
#[path = "common/plain_client.rs"]
mod plain_client;

use common::{BlockingService, VERSIONS, Version, get, serve};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use plain_client::PlainClient;
use std::net::SocketAddr;
use std::time::Duration;
use tailcut_rans::guard::{GuardConfig, GuardCounts, GuardLayer, OnCancel};
use tailcut_rans::priority::{PRIORITY, field};
use tailcut_requests::Class;
use tower_layer::Layer;
use tower_service::Service;

struct Stage {
    work: BlockingService,
    guard: GuardLayer,
    version: Version,
    address: SocketAddr,
}

impl Stage {
    async fn new(version: Version, config: GuardConfig) -> Self {
        let work = BlockingService::new();
        let guard = GuardLayer::new(config);
        let address = serve(version, guard.layer(work.clone())).await;
        Self {
            work,
            guard,
            version,
            address,
        }
    }

    async fn one_worker(version: Version) -> Self {
        Self::new(version, GuardConfig::default()).await
    }

    /// Sends a request on a new connection. Dropping the handle closes the connection.
    async fn send(&self, path: &str, class: Class) -> SentRequest {
        let mut client = PlainClient::to(self.version, self.address).await;
        let mut request: Request<_> = get(path);
        request.headers_mut().insert(PRIORITY, field(class));
        SentRequest(tokio::spawn(async move {
            let answer = client.call(request).await.expect("an answer");
            let status = answer.status();
            let body = answer.into_body().collect().await.expect("a body");
            (
                status,
                String::from_utf8(body.to_bytes().to_vec()).expect("text"),
            )
        }))
    }

    /// Resolves when the guard's counters fulfil a condition.
    async fn until(&self, is_so: impl Fn(&GuardCounts) -> bool) {
        while !is_so(&self.guard.counts()) {
            tokio::task::yield_now().await;
        }
    }

    async fn until_waiting(&self, count: u64) {
        self.until(|counts| {
            counts
                .classes
                .iter()
                .map(|class| class.waiting)
                .sum::<u64>()
                == count
        })
        .await;
    }
}

struct SentRequest(tokio::task::JoinHandle<(StatusCode, String)>);

impl SentRequest {
    async fn answer(self) -> (StatusCode, String) {
        self.0.await.expect("no panic")
    }

    async fn leave(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

fn ok(path: &str) -> (StatusCode, String) {
    (StatusCode::OK, path.to_owned())
}

#[tokio::test]
async fn a_primary_runs_before_duplicates_that_came_earlier() {
    for version in VERSIONS {
        let stage = Stage::one_worker(version).await;
        let first = stage.send("/first", Class::Duplicate).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let low = stage.send("/low", Class::Duplicate).await;
        stage.until_waiting(1).await;
        let high = stage.send("/high", Class::Primary).await;
        stage.until_waiting(2).await;
        stage.work.allow(3);
        assert_eq!(first.answer().await, ok("/first"));
        assert_eq!(high.answer().await, ok("/high"));
        assert_eq!(low.answer().await, ok("/low"));
        assert_eq!(stage.work.seen.borrow().ended, ["/first", "/high", "/low"]);
        stage.until(|counts| counts.running == 0).await;
        let counts = stage.guard.counts().classes;
        assert_eq!((counts[0].done, counts[1].done), (1, 2));
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_request_out_of_the_queue_or_off_its_worker() {
    for version in VERSIONS {
        let stage = Stage::one_worker(version).await;
        let running = stage.send("/running", Class::Primary).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let waiting = stage.send("/waiting", Class::Primary).await;
        let next = stage.send("/next", Class::Primary).await;
        stage.until_waiting(2).await;
        waiting.leave().await;
        stage.until_waiting(1).await;
        running.leave().await;
        stage.work.until(|seen| seen.dropped == ["/running"]).await;
        stage.work.allow(1);
        assert_eq!(next.answer().await, ok("/next"));
        assert_eq!(stage.work.seen.borrow().began, ["/running", "/next"]);
        let counts = stage.guard.counts().classes[0];
        assert_eq!(
            (counts.purged, counts.killed, counts.done),
            (1, 1, 1),
            "{version:?}"
        );
    }
}

#[tokio::test]
async fn a_guard_that_gets_more_workers_runs_what_waits() {
    for version in VERSIONS {
        let stage = Stage::one_worker(version).await;
        let first = stage.send("/first", Class::Primary).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let second = stage.send("/second", Class::Primary).await;
        stage.until_waiting(1).await;
        stage.guard.set(GuardConfig {
            workers: 2,
            ..GuardConfig::default()
        });
        stage
            .work
            .until(|seen| seen.began == ["/first", "/second"])
            .await;
        assert_eq!(stage.guard.counts().running, 2);
        stage.work.allow(2);
        assert_eq!(first.answer().await, ok("/first"));
        assert_eq!(second.answer().await, ok("/second"));
    }
}

#[tokio::test]
async fn work_that_cannot_be_stopped_keeps_its_worker_when_its_client_has_left() {
    for version in VERSIONS {
        let config = GuardConfig {
            on_cancel: OnCancel::HoldSlot,
            ..GuardConfig::default()
        };
        let stage = Stage::new(version, config).await;
        let running = stage.send("/running", Class::Duplicate).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let next = stage.send("/next", Class::Primary).await;
        stage.until_waiting(1).await;
        running.leave().await;
        stage.work.allow(2);
        assert_eq!(next.answer().await, ok("/next"));
        assert_eq!(stage.work.seen.borrow().ended, ["/running", "/next"]);
        assert!(stage.work.seen.borrow().dropped.is_empty());
        let counts = stage.guard.counts().classes;
        assert_eq!(
            (counts[1].held, counts[1].killed, counts[0].done),
            (1, 0, 1)
        );
    }
}

#[tokio::test]
async fn work_that_never_ends_gives_its_worker_back_in_the_end() {
    for version in VERSIONS {
        let config = GuardConfig {
            on_cancel: OnCancel::HoldSlot,
            hold: Duration::from_millis(1),
            ..GuardConfig::default()
        };
        let stage = Stage::new(version, config).await;
        let running = stage.send("/running", Class::Duplicate).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let next = stage.send("/next", Class::Primary).await;
        stage.until_waiting(1).await;
        running.leave().await;
        stage.work.until(|seen| seen.began.len() == 2).await;
        assert_eq!(stage.work.seen.borrow().dropped, ["/running"]);
        stage.work.allow(1);
        assert_eq!(next.answer().await, ok("/next"));
    }
}

#[tokio::test]
async fn what_finds_no_place_is_refused_with_a_time_to_come_back() {
    let config = GuardConfig {
        queue: 1,
        ..GuardConfig::default()
    };
    let stage = Stage::new(Version::Two, config).await;
    let running = stage.send("/running", Class::Primary).await;
    stage.work.until(|seen| seen.began.len() == 1).await;
    let optional = stage
        .send("/optional", Class::Optional)
        .await
        .answer()
        .await;
    assert_eq!(optional.0, StatusCode::SERVICE_UNAVAILABLE);
    let low = stage.send("/low", Class::Duplicate).await;
    stage.until_waiting(1).await;
    let high = stage.send("/high", Class::Primary).await;
    assert_eq!(low.answer().await.0, StatusCode::SERVICE_UNAVAILABLE);
    let mut client = PlainClient::to(Version::Two, stage.address).await;
    let refused = client.call(get("/too-much")).await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["via"], "1.1 tailcut-guard");
    let said = refused
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    assert_eq!(said, "too many requests wait\n");
    stage.work.allow(2);
    assert_eq!(running.answer().await, ok("/running"));
    assert_eq!(high.answer().await, ok("/high"));
    let refused = stage.guard.counts().classes.map(|class| class.refused);
    assert_eq!(refused, [1, 1, 1]);
}

#[tokio::test]
async fn a_worker_is_free_again_when_an_answer_was_taken_whole_and_not_before() {
    let stage = Stage::one_worker(Version::Two).await;
    stage.work.allow(2);
    let mut client = PlainClient::to(Version::Two, stage.address).await;
    let first = client.call(get("/first")).await.expect("an answer");
    first.into_body().collect().await.expect("a body");
    stage.until(|counts| counts.running == 0).await;
    let second = client.call(get("/second")).await.expect("an answer");
    drop(second);
    stage.until(|counts| counts.running == 0).await;
    assert_eq!(stage.work.seen.borrow().ended, ["/first", "/second"]);
}
