//! Serving HTTP/1.1 and HTTP/2 within limits: connections, requests on each, sizes and times of heads, and
//! clients that stop to read or to speak.

mod activity;
mod listeners;

pub use listeners::{Listeners, Site, Slot, Wanted};

use crate::BACK_OFF;
use crate::config::{count, size, time};
use activity::{Activity, Noted, OpenBody, Patience};
use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use serde::Deserialize;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Requests that a client resets before they were looked at: beyond it, its connection ends.
const MOST_PENDING_RESETS: usize = 10_000;
/// Bytes of an answer that wait for the client to take them, for each request.
const SEND_BUFFER: usize = 64 << 10;
const DAY_MS: u64 = 86_400_000;
/// How often a silent HTTP/2 connection is asked whether somebody is there.
const PING: Duration = Duration::from_secs(30);

/// Limits of a listener: the key `limits`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Limits {
    /// Connections at once, 1 to 1,000,000; others wait to be accepted.
    #[serde(deserialize_with = "count::<1, 1_000_000, _, _>")]
    pub connections: u32,
    /// Requests at once on one HTTP/2 connection, 1 to 10,000.
    #[serde(deserialize_with = "count::<1, 10_000, _, _>")]
    pub streams: u32,
    /// Bytes of a request's head, 8 KiB to 16 MiB. With HTTP/1.1 there are also 100 fields at most.
    #[serde(rename = "head", deserialize_with = "size::<8_192, 16_777_216, _, _>")]
    pub head_bytes: u32,
    /// Time for a request's head to come, and for the first request of a connection, 1 ms to 24 h.
    #[serde(rename = "head_timeout", deserialize_with = "time::<1, DAY_MS, _>")]
    pub head_time: Duration,
    /// Time after which a connection without a request is closed, 1 ms to 24 h.
    #[serde(rename = "idle_timeout", deserialize_with = "time::<1, DAY_MS, _>")]
    pub idle_time: Duration,
    /// Time after which a connection is closed whose client takes nothing of an answer, 1 ms to 24 h.
    #[serde(rename = "stall_timeout", deserialize_with = "time::<1, DAY_MS, _>")]
    pub stall_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            streams: 128,
            head_bytes: 64 << 10,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            stall_time: Duration::from_secs(60),
        }
    }
}

/// What is done with a connection before HTTP is spoken: options of its socket, TLS.
pub trait Accept: Send + Sync + 'static {
    /// What HTTP is spoken over.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// What is known of it then.
    type Told: Send;

    /// Makes one of a connection.
    fn accept(
        &self,
        stream: TcpStream,
    ) -> impl Future<Output = io::Result<(Self::Stream, Self::Told)>> + Send;
}

/// What a listener does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    Serves,
    /// No new connections; those that are open end with their requests, or after this time.
    Drains(Duration),
}

/// A listener whose requests are answered. Dropping it resets its connections.
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    stage: watch::Sender<Stage>,
    /// Whether the socket is open.
    is_listening: watch::Receiver<bool>,
    limits: watch::Sender<Limits>,
    open: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Front {
    /// Answers what comes in. `make` gives what answers the requests of one connection.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn start<A, M, S, F, B, E>(
        listener: TcpListener,
        limits: Limits,
        accept: A,
        make: M,
    ) -> io::Result<Self>
    where
        A: Accept,
        M: Fn(SocketAddr, A::Told) -> S + Send + Sync + 'static,
        S: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
        B::Data: Buf,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let address = listener.local_addr()?;
        let (limits, limited) = watch::channel(limits);
        let (stage, told) = watch::channel(Stage::Serves);
        let (tell, is_listening) = watch::channel(true);
        let open = Arc::new(AtomicUsize::new(0));
        let each = Arc::new(Each { accept, make });
        let outside = Outside {
            told,
            limited,
            tell,
            open: Arc::clone(&open),
        };
        let serving = tokio::spawn(serve(listener, outside, each));
        Ok(Self {
            address,
            stage,
            is_listening,
            limits,
            open,
            serving,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that are open, counted as long as it serves.
    pub fn connections(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.open)
    }

    /// Other limits, for connections that come from now on.
    pub fn limit(&self, limits: Limits) {
        self.limits.send_replace(limits);
    }

    /// Closes the port, and waits until it is free. Requests that are open may end within a time; what this
    /// gives resolves when they have, or were reset.
    pub async fn drain(mut self, time: Duration) -> Drained {
        self.stage.send_replace(Stage::Drains(time));
        // Fails where the listener has gone already.
        let _ = self
            .is_listening
            .wait_for(|is_listening| !is_listening)
            .await;
        Drained(self)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A listener that has closed its port.
#[derive(Debug)]
pub struct Drained(Front);

impl Drained {
    /// Resolves when all of its connections have gone.
    pub async fn end(mut self) {
        // A panic of it concerns nobody here.
        let _ = (&mut self.0.serving).await;
    }
}

/// What connections of a listener share.
struct Each<A, M> {
    accept: A,
    make: M,
}

/// What a listener's task knows of its owner.
struct Outside {
    told: watch::Receiver<Stage>,
    limited: watch::Receiver<Limits>,
    /// Whether the socket is open.
    tell: watch::Sender<bool>,
    /// Connections that are open.
    open: Arc<AtomicUsize>,
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // It begins when the last answer has gone out: what bounds heads is `Activity`.
        .header_read_timeout(limits.head_time.saturating_add(limits.idle_time))
        .max_buf_size(limits.head_bytes.max(8_192) as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.head_bytes)
        .max_concurrent_streams(limits.streams)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING)
        .max_pending_accept_reset_streams(Some(MOST_PENDING_RESETS));
    builder
}

async fn serve<A, M, S, F, B, E>(listener: TcpListener, mut outside: Outside, each: Arc<Each<A, M>>)
where
    A: Accept,
    M: Fn(SocketAddr, A::Told) -> S + Send + Sync + 'static,
    S: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let graceful = GracefulShutdown::new();
    let mut connections = tokio::task::JoinSet::new();
    let time = loop {
        outside.open.store(connections.len(), Ordering::Relaxed);
        let limits = *outside.limited.borrow_and_update();
        let accepted = tokio::select! {
            stage = outside.told.wait_for(|stage| *stage != Stage::Serves) => match stage.as_deref() {
                Ok(Stage::Drains(time)) => break *time,
                _ => break Duration::ZERO,
            },
            _ = outside.limited.changed() => continue,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept(), if connections.len() < limits.connections as usize => accepted,
        };
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        let watcher = graceful.watcher();
        connections.spawn(connection(
            Arc::clone(&each),
            limits,
            (stream, address),
            watcher,
        ));
    };
    drop(listener);
    outside.tell.send_replace(false);
    // Connections that are left are reset when their set is dropped.
    let _ = tokio::time::timeout(time, graceful.shutdown()).await;
}

async fn connection<A, M, S, F, B, E>(
    each: Arc<Each<A, M>>,
    limits: Limits,
    (stream, address): (TcpStream, SocketAddr),
    watcher: Watcher,
) where
    A: Accept,
    M: Fn(SocketAddr, A::Told) -> S + Send + Sync + 'static,
    S: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let accepting = each.accept.accept(stream);
    let Ok(Ok((stream, known))) = tokio::time::timeout(limits.head_time, accepting).await else {
        return;
    };
    let activity = Activity::new();
    let answer = (each.make)(address, known);
    let noted = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let open = noted.open(request.version());
        let answering = answer(request);
        async move {
            let answer = answering.await;
            answer.map(|answer| answer.map(|body| OpenBody::new(body, open)))
        }
    });
    let stream = TokioIo::new(Noted::new(stream, Arc::clone(&activity)));
    let serving = builder(&limits)
        .serve_connection(stream, service)
        .into_owned();
    let patience = Patience {
        head: limits.head_time,
        idle: limits.idle_time,
        stalled: limits.stall_time,
    };
    let serving = pin!(watcher.watch(serving));
    tokio::select! {
        // A client that leaves, or speaks no HTTP, concerns nobody else.
        _ = serving => {}
        () = activity.over(patience) => {}
    }
}
