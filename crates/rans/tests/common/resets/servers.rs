//! Real servers of several kinds, and the records of the services behind them.

use crate::programs::{Program, haproxy, nginx, node};
use bytes::Bytes;
use clap::Parser;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tailcut_rans::guard::program::{GuardCommand, execute};
use tokio::net::{TcpListener, TcpStream};

/// Kind of server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Node's http2. The service runs in the same program.
    Node,
    /// nginx as a proxy in front of the service. It sends a GOAWAY after 1,000 requests on a connection.
    Nginx,
    /// HAProxy as a proxy in front of the service.
    Haproxy,
    /// `tailcut guard` in front of the service.
    Guard,
    /// hyper's server with its default settings. The service runs in the same program.
    Hyper,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Node,
        Self::Nginx,
        Self::Haproxy,
        Self::Guard,
        Self::Hyper,
    ];
}

/// Record of the requests that a service received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Saw {
    pub began: u64,
    /// Requests that their client cancelled while they ran.
    pub left: u64,
    pub ended: u64,
}

#[derive(Default)]
struct Counts {
    began: AtomicU64,
    left: AtomicU64,
    ended: AtomicU64,
}

/// Server, with the record of its service.
pub struct Server {
    pub address: SocketAddr,
    counts: Arc<Counts>,
    program: Option<Program>,
}

impl Server {
    pub async fn start(kind: Kind) -> Self {
        let counts = Arc::new(Counts::default());
        let program = match kind {
            Kind::Node => Some(node()),
            Kind::Hyper | Kind::Guard => None,
            Kind::Nginx => Some(nginx(service(&counts).await, 1_000)),
            Kind::Haproxy => Some(haproxy(service(&counts).await, 1_000)),
        };
        let address = match (&program, kind) {
            (Some(program), _) => program.two,
            (None, Kind::Guard) => guard(service(&counts).await).await,
            (None, _) => service(&counts).await,
        };
        Self {
            address,
            counts,
            program,
        }
    }

    /// Returns whether the server is Node, so that the service runs in the server's process.
    fn is_node(&self) -> bool {
        matches!(&self.program, Some(program) if program.one == program.two)
    }

    pub async fn saw(&self) -> Saw {
        if self.is_node() {
            return self.node_saw().await;
        }
        let of = |count: &AtomicU64| count.load(Relaxed);
        Saw {
            began: of(&self.counts.began),
            left: of(&self.counts.left),
            ended: of(&self.counts.ended),
        }
    }

    async fn node_saw(&self) -> Saw {
        let stream = TcpStream::connect(self.address).await.expect("node");
        let (mut sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let driving = tokio::spawn(connection);
        let request = Request::get("http://node/counts").body(());
        let request = request.expect("a request");
        let (answer, _) = sender.send_request(request, true).expect("open");
        let mut body = answer.await.expect("an answer").into_body();
        let text = body.data().await.expect("data").expect("data");
        let numbers = String::from_utf8(text.to_vec()).expect("text");
        let numbers: Vec<u64> = numbers
            .split(' ')
            .map(|n| n.parse().expect("a number"))
            .collect();
        driving.abort();
        let [began, left, ended] = numbers.try_into().expect("three numbers");
        Saw { began, left, ended }
    }
}

/// Recorder of one request. When it is dropped, it records how the request ended.
struct ResetRecorder(Arc<Counts>, bool);

impl Drop for ResetRecorder {
    fn drop(&mut self) {
        let count = if self.1 { &self.0.ended } else { &self.0.left };
        count.fetch_add(1, Relaxed);
    }
}

#[derive(Parser)]
struct GuardFlags {
    #[command(flatten)]
    guard: GuardCommand,
}

/// Starts a guard with more workers than there are requests, so that all resets concern running requests.
async fn guard(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let [listen, to] = [address, to].map(|at| at.to_string());
    let flags = [
        "guard",
        "--no-admin",
        "--listen",
        &listen,
        "--to",
        &to,
        "--workers",
        "1000",
    ];
    let flags = GuardFlags::parse_from(flags);
    std::thread::spawn(move || execute(&flags.guard));
    while TcpStream::connect(address).await.is_err() {
        tokio::task::yield_now().await;
    }
    address
}

/// Starts a service that works A microseconds on a primary and B microseconds on a copy, for the path `/A/B`.
async fn service(counts: &Arc<Counts>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let counts = Arc::clone(counts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let counts = Arc::clone(&counts);
            let answer = service_fn(move |request: Request<Incoming>| {
                let counts = Arc::clone(&counts);
                async move {
                    counts.began.fetch_add(1, Relaxed);
                    let mut recorder = ResetRecorder(counts, false);
                    let is_copy = request.headers().get("tailcut-copy");
                    let is_copy = is_copy.is_some_and(|copy| copy.as_bytes() == b"1");
                    let mut numbers = request.uri().path().split('/').skip(1);
                    let number = numbers.nth(usize::from(is_copy));
                    let work = number.and_then(|text| text.parse().ok()).unwrap_or(0);
                    tokio::time::sleep(Duration::from_micros(work)).await;
                    recorder.1 = true;
                    let body = Full::new(Bytes::from_static(b"done"));
                    Ok::<_, Infallible>(Response::new(body))
                }
            });
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let builder = auto::Builder::new(TokioExecutor::new());
                // Clients of these tests disconnect on purpose, so errors are ignored.
                let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    });
    address
}
