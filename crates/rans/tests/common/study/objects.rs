//! Model with objects instead of small requests: one server sends the whole object, or two servers send ranges.
//!
//! Virtual work is a thousand times as long as in the model of requests.
//! Otherwise tokio's timers, which count milliseconds, would lengthen the work of each chunk.
//! The scale has no effect on ratios.

use super::model::{
    CLIENTS, HttpConnection, Outcome, Wires, client_config, exponential, replicas, uniform,
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{self, Context, Poll};
use std::time::Duration;
use tailcut_rans::client::Client;
use tailcut_rans::guard::{GuardConfig, GuardLayer, OnCancel};
use tailcut_rans::ranges::{Ranges, RangesConfig};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

const SERVERS: usize = 16;
/// Size of a chunk in bytes. A range has at least one chunk.
const CHUNK: usize = 128;
/// Factor by which an object takes longer at a slow server.
const SLOW: u32 = 10;

/// Mean work of an object at a server that is not slow.
pub const MEAN_WORK: Duration = Duration::from_secs(100);

/// Way in which objects are requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The client requests the whole object from a random server.
    Random,
    /// The client requests the whole object.
    /// The client draws two servers, and uses the server to which it has fewer open requests.
    ShorterOfTwo,
    /// The client requests ranges from two servers. Copies wait behind primaries.
    Ranges,
    /// The client requests ranges from two servers. Copies and primaries have equal priority.
    RangesAlike,
}

/// Parameters of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Objects {
    /// Load as a share of the servers' capacity, slow servers included.
    pub load: f64,
    /// Probability that a server is slow with an object.
    pub slow: f64,
    pub chunks: usize,
    pub by: By,
    /// Mean work of an object at a server that is not slow.
    pub mean_work: Duration,
    pub count: usize,
    pub seed: u64,
    pub wires: Wires,
}

/// Server of objects with paths `/NUMBER/NANOSECONDS/CHUNKS`. It sends each chunk when the chunk's work is done.
#[derive(Clone)]
struct Store {
    slow: f64,
    seed: u64,
    sent: Arc<AtomicU64>,
}

impl Service<Request<Incoming>> for Store {
    type Response = Response<Paced>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let numbers: Vec<u64> = request
            .uri()
            .path()
            .split('/')
            .flat_map(str::parse)
            .collect();
        let [number, work, chunks] = numbers[..] else {
            panic!("no object: {}", request.uri());
        };
        // If a server is slow with an object, it is slow with all parts of the object.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ number);
        let factor = if uniform(&mut random) < self.slow {
            SLOW
        } else {
            1
        };
        let total = chunks * CHUNK as u64;
        let range = request.headers().get(header::RANGE);
        let range = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
        let (from, to) = match range.and_then(|range| range.split_once('-')) {
            None => (0, total),
            Some(("", last)) => (total - last.parse::<u64>().expect("a number"), total),
            Some((first, last)) => {
                let [first, last] = [first, last].map(|text| text.parse::<u64>());
                (first.expect("a number"), last.expect("a number") + 1)
            }
        };
        assert!((to - from).is_multiple_of(CHUNK as u64), "{from} {to}");
        let mut answer = Response::new(Paced {
            left: (to - from) / CHUNK as u64,
            each: Duration::from_nanos(work / chunks) * factor,
            next: None,
            sent: Arc::clone(&self.sent),
        });
        let headers = answer.headers_mut();
        headers.insert(header::ETAG, HeaderValue::from_static("\"one\""));
        if range.is_some() {
            let told = format!("bytes {from}-{}/{total}", to - 1);
            let told = HeaderValue::from_str(&told).expect("a value");
            headers.insert(header::CONTENT_RANGE, told);
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        ready(Ok(answer))
    }
}

/// Body that consists of chunks. Each chunk takes some time.
struct Paced {
    left: u64,
    each: Duration,
    next: Option<Pin<Box<Sleep>>>,
    sent: Arc<AtomicU64>,
}

impl Body for Paced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let each = self.each;
        // The work begins after the head of the answer was sent.
        let next = self
            .next
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + each)));
        task::ready!(next.as_mut().poll(cx));
        // A late timer delays only one chunk, not all later chunks.
        let then = next.deadline() + each;
        next.as_mut().reset(then);
        self.left -= 1;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let chunk = Bytes::from_static(&[7; CHUNK]);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }
}

/// Runs the model. Returns latencies, and the number of extra chunks that were sent, as a share of the objects' chunks.
pub async fn run(objects: Objects) -> (Outcome, f64) {
    let Objects { by, chunks, .. } = objects;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(objects.seed);
    let sent = Arc::new(AtomicU64::new(0));
    let guard = GuardConfig {
        workers: 1,
        queue: u32::MAX,
        on_cancel: OnCancel::Kill,
        ..GuardConfig::default()
    };
    let servers: Vec<(GuardLayer, Store)> = (0..SERVERS)
        .map(|_| {
            let store = Store {
                slow: objects.slow,
                seed: random.next_u64(),
                sent: Arc::clone(&sent),
            };
            (GuardLayer::new(guard), store)
        })
        .collect();
    let config = RangesConfig {
        piece: CHUNK as u64,
        low_priority: by == By::Ranges,
        // No server stalls in this model, but a request may wait long in a queue.
        stall: Duration::from_secs(100_000_000),
        ..RangesConfig::default()
    };
    let is_whole = matches!(by, By::Random | By::ShorterOfTwo);
    let mut clients: Vec<Vec<(Client<HttpConnection>, Ranges<HttpConnection>)>> = Vec::new();
    for seed in 0..CLIENTS as u64 {
        let replicas = replicas(objects.wires, &servers).await;
        // In these designs the model chooses the server itself, so there is one client for each server.
        let groups = match is_whole {
            true => replicas.into_iter().map(|replica| vec![replica]).collect(),
            false => vec![replicas],
        };
        let of = |group| {
            let client = Client::new(group, client_config().single(), seed).expect("a client");
            let ranges = Ranges::new(client.clone(), config).expect("a configuration");
            (client, ranges)
        };
        clients.push(groups.into_iter().map(of).collect());
    }
    let on_their_way: Vec<Vec<Arc<AtomicUsize>>> = clients
        .iter()
        .map(|group| group.iter().map(|_| Arc::default()).collect())
        .collect();
    let mean = objects.mean_work.as_secs_f64();
    let slowed = mean * (1.0 + objects.slow * f64::from(SLOW - 1));
    let gap = slowed / (objects.load * SERVERS as f64);
    let mut at = Instant::now();
    let mut asked = JoinSet::new();
    for number in 0..objects.count {
        at += Duration::from_secs_f64(exponential(&mut random, gap));
        let work = exponential(&mut random, mean);
        let mut below = |count: usize| (random.next_u64() % count as u64) as usize;
        let from = below(CLIENTS);
        let (group, counts) = (&clients[from], &on_their_way[from]);
        let mut to = below(group.len());
        let other = below(group.len());
        sleep_until(at).await;
        let waiting = |server: usize| counts[server].load(Ordering::Relaxed);
        if by == By::ShorterOfTwo && waiting(other) < waiting(to) {
            to = other;
        }
        let ((mut client, mut ranges), count) = (group[to].clone(), Arc::clone(&counts[to]));
        let uri = format!("http://store/{number}/{}/{chunks}", (work * 1e9) as u64);
        let request = Request::get(uri).body(Empty::new()).expect("a request");
        count.fetch_add(1, Ordering::Relaxed);
        asked.spawn(async move {
            let began = Instant::now();
            let bytes = match is_whole {
                true => {
                    let answer = client.call(request).await.expect("an answer");
                    answer.into_body().collect().await.expect("bytes")
                }
                false => {
                    let answer = ranges.call(request).await.expect("an answer");
                    answer.into_body().collect().await.expect("bytes")
                }
            };
            assert_eq!(bytes.to_bytes().len(), chunks * CHUNK);
            count.fetch_sub(1, Ordering::Relaxed);
            began.elapsed().as_secs_f64()
        });
    }
    let latencies = asked.join_all().await;
    let needed = (objects.count * chunks) as f64;
    let extra = sent.load(Ordering::Relaxed) as f64 / needed - 1.0;
    (Outcome { latencies }, extra)
}
