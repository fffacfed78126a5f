//! Tests of HAProxy and nginx in front of a real service, with the configurations of the docs.
//! HAProxy replaces a guard. nginx only aborts requests that their client cancels.

mod common;
#[path = "common/plain_client.rs"]
mod plain_client;
#[path = "common/programs.rs"]
mod programs;

use common::{BlockingService, VERSIONS, Version, get, serve};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use plain_client::PlainClient;
use programs::{Program, haproxy, nginx};
use std::net::SocketAddr;
use std::sync::Mutex;
use tailcut_rans::priority::{PRIORITY, field};
use tailcut_requests::Class;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tower_service::Service;

struct Stage {
    work: BlockingService,
    program: Program,
    version: Version,
    /// Connections that stay open after their request was dropped, like connections of real clients.
    clients: Mutex<Vec<PlainClient>>,
}

impl Stage {
    async fn new(version: Version, start: impl FnOnce(SocketAddr) -> Program) -> Self {
        let work = BlockingService::new();
        let address = serve(Version::One, work.clone()).await;
        let program = start(address);
        Self {
            work,
            program,
            version,
            clients: Mutex::default(),
        }
    }

    /// Sends a request on a new connection. Aborting the returned task drops the request.
    async fn send(&self, path: &str, class: Class) -> JoinHandle<Response<Incoming>> {
        let at = match self.version {
            Version::One => self.program.one,
            Version::Two => self.program.two,
        };
        let mut client = PlainClient::to(self.version, at).await;
        self.clients.lock().expect("a lock").push(client.clone());
        let mut request = get(path);
        request.headers_mut().insert(PRIORITY, field(class));
        if self.version == Version::Two {
            // The address of the request already contains the host, and nginx rejects requests with both.
            request.headers_mut().remove(http::header::HOST);
        }
        tokio::spawn(async move { client.call(request).await.expect("an answer") })
    }

    /// Resolves when HAProxy reports this number of waiting requests.
    async fn until_waiting(&self, count: u32) {
        let at = self.program.metrics.expect("HAProxy");
        let line = format!("haproxy_backend_current_queue{{proxy=\"service\"}} {count}\n");
        loop {
            let mut stream = TcpStream::connect(at).await.expect("metrics");
            let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            stream.write_all(request).await.expect("sent");
            let mut page = String::new();
            stream.read_to_string(&mut page).await.expect("a page");
            if page.contains(&line) {
                return;
            }
        }
    }
}

async fn text(answer: JoinHandle<Response<Incoming>>) -> String {
    let answer = answer.await.expect("no panic");
    assert_eq!(answer.status(), StatusCode::OK);
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

#[tokio::test]
async fn haproxy_runs_primaries_before_duplicates_that_came_earlier() {
    for version in VERSIONS {
        let stage = Stage::new(version, |to| haproxy(to, 1)).await;
        let first = stage.send("/first", Class::Duplicate).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let low = stage.send("/low", Class::Duplicate).await;
        stage.until_waiting(1).await;
        let high = stage.send("/high", Class::Primary).await;
        stage.until_waiting(2).await;
        stage.work.allow(3);
        assert_eq!(text(first).await, "/first");
        assert_eq!(text(high).await, "/high");
        assert_eq!(text(low).await, "/low");
        assert_eq!(stage.work.seen.borrow().ended, ["/first", "/high", "/low"]);
    }
}

#[tokio::test]
async fn haproxy_purges_what_waits_and_what_runs_when_its_client_leaves() {
    for version in VERSIONS {
        let stage = Stage::new(version, |to| haproxy(to, 1)).await;
        let running = stage.send("/running", Class::Primary).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let waiting = stage.send("/waiting", Class::Primary).await;
        let next = stage.send("/next", Class::Primary).await;
        stage.until_waiting(2).await;
        waiting.abort();
        stage.until_waiting(1).await;
        running.abort();
        stage.work.until(|seen| seen.dropped == ["/running"]).await;
        stage.work.allow(1);
        assert_eq!(text(next).await, "/next");
        assert_eq!(stage.work.seen.borrow().began, ["/running", "/next"]);
    }
}

#[tokio::test]
async fn haproxy_refuses_optional_work_unless_a_worker_is_idle() {
    for version in VERSIONS {
        let stage = Stage::new(version, |to| haproxy(to, 1)).await;
        let running = stage.send("/running", Class::Optional).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        let refused = stage.send("/refused", Class::Optional).await;
        let refused = refused.await.expect("no panic");
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()["retry-after"], "1");
        stage.work.allow(1);
        let answer = running.await.expect("no panic");
        assert_eq!(answer.headers()["via"], "1.1 tailcut-guard");
    }
}

#[tokio::test]
async fn nginx_ends_the_work_of_clients_that_leave() {
    for version in VERSIONS {
        let stage = Stage::new(version, |to| nginx(to, 1_000_000)).await;
        let left = stage.send("/left", Class::Primary).await;
        stage.work.until(|seen| seen.began.len() == 1).await;
        left.abort();
        stage.work.until(|seen| seen.dropped == ["/left"]).await;
        let kept = stage.send("/kept", Class::Primary).await;
        stage.work.allow(1);
        assert_eq!(text(kept).await, "/kept");
    }
}

#[test]
fn the_docs_show_the_configurations_that_are_tested() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let page = std::fs::read_to_string(format!("{docs}/services.md")).expect("the page");
    for name in ["haproxy.cfg", "nginx.conf", "envoy.yaml"] {
        let text = std::fs::read_to_string(format!("{docs}/guards/{name}")).expect("a recipe");
        assert!(
            page.contains(&text),
            "docs/services.md does not show docs/guards/{name}"
        );
    }
}
