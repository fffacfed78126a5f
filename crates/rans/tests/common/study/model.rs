//! Model of a service with several servers and 16 clients. It uses the real client and guard over HTTP/2 in memory.
//! Tokio's clock is paused, so hours of load run in seconds, with equal results each time.

#[path = "../draw.rs"]
mod draw;
#[path = "../work.rs"]
mod work_by_sleep;

use bytes::Bytes;
pub use draw::{exponential, uniform};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, Purges, Replica, ResetBudget};
use tailcut_rans::guard::{GuardConfig, GuardLayer, OnCancel};
use tailcut_requests::Policy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tower_layer::Layer;
use tower_service::Service;
use work_by_sleep::Work;

pub const CLIENTS: usize = 16;
const MEAN_WORK: Duration = Duration::from_millis(100);
/// Factor by which the work of a slow copy is longer.
const SLOW: u32 = 10;

/// Parameters of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Question {
    pub servers: usize,
    /// Fault of the first server.
    pub first: Trouble,
    /// Load without duplicates, as a share of the servers' capacity. Slow copies are included.
    pub load: f64,
    /// Probability that a copy is slow.
    pub slow: f64,
    pub design: Design,
    pub on_cancel: OnCancel,
    pub requests: usize,
    pub seed: u64,
    pub wires: Wires,
}

/// Fault of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    None,
    /// Work takes this many times as long as usual.
    Slow(u32),
    /// The server accepts requests, and never answers.
    Stalled,
}

/// Rule by which a client chooses servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// The client draws one server at random.
    Random,
    /// The client draws two servers, and uses the server to which it has fewer requests in flight.
    ShorterOfTwo,
    /// The client sends no copies. It draws two servers, and uses the one with the lower load.
    /// The load depends on requests in flight and latency.
    LighterOfTwo,
    /// Clients send a low-priority copy immediately. The first answer purges the other copy.
    Duplicate,
}

/// Latencies of all measured requests, in seconds.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub latencies: Vec<f64>,
}

impl Outcome {
    pub fn mean(&self) -> f64 {
        self.latencies.iter().sum::<f64>() / self.latencies.len() as f64
    }

    /// Returns the 99th percentile by nearest rank.
    pub fn p99(&self) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (0.99 * sorted.len() as f64).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1]
    }
}

/// Connection to a server, as a tower service.
#[derive(Clone)]
pub struct HttpConnection(SendRequest<Empty<Bytes>>);

impl Service<Request<Empty<Bytes>>> for HttpConnection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Empty<Bytes>>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Returns the work of a server. Some copies take longer.
fn work(slow: f64, trouble: Trouble, random: Xoshiro256PlusPlus) -> Work {
    let random = Mutex::new(random);
    let factor = move || {
        let is_slow = uniform(&mut random.lock().expect("a lock")) < slow;
        let own = if is_slow { SLOW } else { 1 };
        match trouble {
            Trouble::None => Some(own),
            Trouble::Slow(factor) => Some(own * factor),
            Trouble::Stalled => None,
        }
    };
    Work {
        factor: Arc::new(factor),
        own_queue: None,
    }
}

/// Kind of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wires {
    /// Pipes in memory. The clock is paused.
    Memory,
    /// TCP over the loopback interface.
    #[allow(dead_code, reason = "only the example `loopback` uses TCP")]
    Sockets,
}

/// Opens a connection to a service with a guard in front of it.
pub async fn connect<S, R>(wires: Wires, guard: &GuardLayer, service: &S) -> HttpConnection
where
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    R: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let guarded = guard.layer(service.clone());
    match wires {
        Wires::Memory => {
            let (near, far) = tokio::io::duplex(1 << 16);
            over(near, far, guarded).await
        }
        Wires::Sockets => {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
            let (near, far) = (near.expect("a connection"), far.expect("a connection").0);
            for end in [&near, &far] {
                end.set_nodelay(true).expect("a socket");
            }
            over(near, far, guarded).await
        }
    }
}

async fn over<T, S, R>(near: T, far: T, guarded: S) -> HttpConnection
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    R: Body<Error: std::error::Error + Send + Sync> + Send + 'static,
    R::Data: Send,
{
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_pending_accept_reset_streams(Some(100_000))
        .max_local_error_reset_streams(None)
        .serve_connection(
            TokioIo::new(far),
            service_fn(move |request| guarded.clone().call(request)),
        );
    tokio::spawn(serving);
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near))
            .await
            .expect("a connection");
    tokio::spawn(connection);
    HttpConnection(sender)
}

/// Returns the configuration of a client that may reset any number of requests.
pub fn client_config() -> ClientConfig {
    ClientConfig {
        resets: ResetBudget {
            rate: 1e6,
            burst: u32::MAX,
        },
        // A study measures all copies, and repeats itself exactly. A trial would follow the system's clock.
        trial: None,
        ..ClientConfig::default()
    }
}

/// Returns replicas with guards in front of them, over connections of one client.
pub async fn replicas<S, R>(
    wires: Wires,
    servers: &[(GuardLayer, S)],
) -> Vec<Replica<HttpConnection>>
where
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    R: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let mut replicas = Vec::new();
    for (guard, service) in servers {
        replicas.push(Replica {
            primary: connect(wires, guard, service).await,
            copy: connect(wires, guard, service).await,
            purges: Purges::Yes,
        });
    }
    replicas
}

/// Runs the model. With `Wires::Memory`, the caller needs a runtime whose clock is paused.
pub async fn run(question: Question) -> Outcome {
    let Question {
        load, slow, design, ..
    } = question;
    let guard = GuardConfig {
        workers: 1,
        queue: u32::MAX,
        on_cancel: question.on_cancel,
        ..GuardConfig::default()
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(question.seed);
    let servers: Vec<(GuardLayer, Work)> = (0..question.servers)
        .map(|index| {
            let random = Xoshiro256PlusPlus::seed_from_u64(random.next_u64());
            let trouble = match index {
                0 => question.first,
                _ => Trouble::None,
            };
            (GuardLayer::new(guard), work(slow, trouble, random))
        })
        .collect();
    let config = client_config();
    let config = match design {
        Design::Duplicate => ClientConfig {
            purging: Policy::DAS,
            ..config
        },
        Design::Random | Design::ShorterOfTwo | Design::LighterOfTwo => config.single(),
    };
    let mut clients = Vec::new();
    for seed in 0..CLIENTS as u64 {
        let replicas = replicas(question.wires, &servers).await;
        // In these designs the model chooses the server itself, so there is one client for each server.
        let groups = match design {
            Design::Random | Design::ShorterOfTwo => {
                replicas.into_iter().map(|replica| vec![replica]).collect()
            }
            Design::LighterOfTwo | Design::Duplicate => vec![replicas],
        };
        let of = |group| Client::new(group, config, seed).expect("a configuration");
        clients.push(groups.into_iter().map(of).collect::<Vec<_>>());
    }
    // Number of requests in flight, for each client and each server.
    let on_their_way: Vec<Vec<Arc<AtomicUsize>>> = clients
        .iter()
        .map(|group| group.iter().map(|_| Arc::default()).collect())
        .collect();
    let mean_work = MEAN_WORK.as_secs_f64() * (1.0 + slow * f64::from(SLOW - 1));
    let gap = mean_work / (load * question.servers as f64);
    let mut at = Instant::now();
    let mut asked = JoinSet::new();
    for _ in 0..question.requests {
        at += Duration::from_secs_f64(exponential(&mut random, gap));
        let work = exponential(&mut random, MEAN_WORK.as_secs_f64());
        let mut below = |count: usize| (random.next_u64() % count as u64) as usize;
        let from = below(CLIENTS);
        let (group, counts) = (&clients[from], &on_their_way[from]);
        let mut to = below(group.len());
        let other = below(group.len());
        sleep_until(at).await;
        let waiting = |server: usize| counts[server].load(Ordering::Relaxed);
        if design == Design::ShorterOfTwo && waiting(other) < waiting(to) {
            to = other;
        }
        let (mut client, count) = (group[to].clone(), Arc::clone(&counts[to]));
        let uri = format!("http://service/{}", (work * 1e9) as u64);
        let request = Request::get(uri).body(Empty::new()).expect("a request");
        count.fetch_add(1, Ordering::Relaxed);
        asked.spawn(async move {
            let began = Instant::now();
            let answer = client.call(request).await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
            count.fetch_sub(1, Ordering::Relaxed);
            began.elapsed().as_secs_f64()
        });
    }
    Outcome {
        latencies: asked.join_all().await,
    }
}
