//! Tests of floods at `tailcut guard`: memory and queues stay bounded, and other clients still receive answers.
#![cfg(feature = "guard")]

mod common;
#[path = "common/plain_client.rs"]
mod plain_client;

use clap::Parser;
use common::{BlockingService, Version, get, serve};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use plain_client::PlainClient;
use std::future::poll_fn;
use std::net::SocketAddr;
use tailcut_rans::guard::program::{GuardCommand, execute};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tower_service::Service;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    guard: GuardCommand,
}

struct Stage {
    work: BlockingService,
    guard: SocketAddr,
    admin: SocketAddr,
}

async fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address")
}

impl Stage {
    async fn new(more: &[&str]) -> Self {
        let work = BlockingService::new();
        let to = serve(Version::One, work.clone()).await;
        let (guard, admin) = (free_port().await, free_port().await);
        let texts = [guard, to, admin].map(|at| at.to_string());
        let flags = [
            "guard", "--listen", &texts[0], "--to", &texts[1], "--admin", &texts[2],
        ];
        let flags = Flags::parse_from([&flags, more].concat());
        std::thread::spawn(move || execute(&flags.guard));
        // The guard opens its admin address before its listener. Each may need some time.
        for at in [admin, guard] {
            while TcpStream::connect(at).await.is_err() {
                tokio::task::yield_now().await;
            }
        }
        Self { work, guard, admin }
    }

    async fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.admin).await.expect("metrics");
        let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).await.expect("a page");
        page
    }

    /// Resolves when the metrics page contains this line.
    async fn until(&self, line: &str) {
        while !self.metrics().await.contains(line) {}
    }

    async fn is_answered(&self, version: Version, path: &str) {
        let mut client = PlainClient::to(version, self.guard).await;
        let answer = client.call(get(path)).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes(), path);
    }
}

/// Returns the memory of this process in MB. The guard runs in this process, too.
fn memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<f64>().ok());
    pages.expect("pages") * 4096.0 / 1e6
}

/// Flood as in CVE-2023-44487: 40,000 streams on eight connections, and each is reset as soon as it is open.
/// The streams are duplicates, so primaries displace them when the queue is full.
/// Other clients receive answers during the flood.
async fn flood_of_resets(stage: &Stage) {
    let mut floods = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let at = stage.guard;
        floods.spawn(async move {
            let stream = TcpStream::connect(at).await.expect("the guard");
            let (mut sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
            let driving = tokio::spawn(connection);
            let mut sent = 0;
            for _ in 0..5_000 {
                // The guard may end the connection, which is also a defence.
                if poll_fn(|cx| sender.poll_ready(cx)).await.is_err() {
                    break;
                }
                let request = Request::get("http://service/flood")
                    .header("priority", "u=6")
                    .body(());
                let opened = sender.send_request(request.expect("a request"), true);
                let Ok((_, mut stream)) = opened else { break };
                stream.send_reset(h2::Reason::CANCEL);
                sent += 1;
                tokio::task::yield_now().await;
            }
            drop(sender);
            let _ = driving.await;
            sent
        });
    }
    for number in 0..20 {
        stage.is_answered(Version::One, &format!("/{number}")).await;
    }
    let mut sent = 0;
    while let Some(flood) = floods.join_next().await {
        sent += flood.expect("no panic");
    }
    assert!(sent > 1_000, "{sent} resets are no flood");
    stage.until("tailcut_guard_running 0\n").await;
    stage
        .until("tailcut_guard_queued{class=\"primary\"} 0\n")
        .await;
}

#[tokio::test]
async fn a_flood_of_resets_leaves_nothing_behind_and_others_are_answered() {
    let stage = Stage::new(&["--workers", "2", "--queue", "100"]).await;
    stage.work.allow(1_000_000);
    // The allocator keeps memory, which the next flood uses again. A leak makes the memory grow in every flood.
    flood_of_resets(&stage).await;
    let mut before = memory();
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        flood_of_resets(&stage).await;
        let after = memory();
        least = least.min(after - before);
        before = after;
    }
    stage.is_answered(Version::Two, "/after").await;
    assert!(least < 32.0, "at least {least:.0} MB more after each flood");
}

/// A client fills the queue. Another client displaces one of its requests, and gets the worker when its turn comes.
#[tokio::test]
async fn a_client_that_fills_the_queue_keeps_no_other_client_from_its_turn() {
    let stage = Stage::new(&["--workers", "1", "--queue", "8"]).await;
    let mut flood = Vec::new();
    for _ in 0..9 {
        let socket = TcpSocket::new_v4().expect("a socket");
        let address = SocketAddr::from(([127, 0, 0, 2], 0));
        socket.bind(address).expect("an address");
        let mut stream = socket.connect(stage.guard).await.expect("the guard");
        let request = b"GET /flood HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        flood.push(stream);
    }
    stage
        .until("tailcut_guard_queued{class=\"primary\"} 8\n")
        .await;
    let guard = stage.guard;
    let honest = tokio::spawn(async move {
        let mut client = PlainClient::to(Version::One, guard).await;
        let answer = client.call(get("/honest")).await;
        answer.expect("an answer").status()
    });
    stage
        .until("tailcut_guard_shed_total{class=\"primary\"} 1\n")
        .await;
    // The request that runs, and one turn of each client.
    stage.work.allow(3);
    assert_eq!(honest.await.expect("no panic"), StatusCode::OK);
    let ended = stage.work.seen.borrow().ended.clone();
    assert_eq!(ended, ["/flood", "/flood", "/honest"]);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_until_others_leave() {
    let stage = Stage::new(&["--workers", "2", "--connections", "20"]).await;
    stage.work.allow(10);
    stage.is_answered(Version::One, "/before").await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(stage.guard).await.expect("the guard"));
    }
    let guard = stage.guard;
    let asked = tokio::spawn(async move {
        let mut client = PlainClient::to(Version::One, guard).await;
        client.call(get("/late")).await.expect("an answer").status()
    });
    drop(silent);
    assert_eq!(asked.await.expect("no panic"), StatusCode::OK);
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_never_asked() {
    let stage = Stage::new(&["--workers", "2"]).await;
    let mut stream = TcpStream::connect(stage.guard).await.expect("the guard");
    let long = "x".repeat(1 << 20);
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nlong: {long}\r\n\r\n");
    // The guard may refuse the head before it has received all of it.
    let _ = stream.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );

    let stream = TcpStream::connect(stage.guard).await.expect("the guard");
    let (mut sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    let driving = tokio::spawn(connection);
    let request = Request::get("http://service/").header("long", "x".repeat(100_000));
    let request = request.body(()).expect("a request");
    if let Ok((answer, _)) = sender.send_request(request, true)
        && let Ok(answer) = answer.await
    {
        assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    driving.abort();
    assert!(stage.work.seen.borrow().began.is_empty());
    stage.work.allow(1);
    stage.is_answered(Version::One, "/after").await;
}
