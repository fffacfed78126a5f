//! HTTP/1.1 and HTTP/2 servers with limits.
//! The limits are the numbers of connections and of requests on a connection, and the inactivity of clients.
//! The size and the arrival time of heads are limited too.

mod activity;
mod client;
mod client_body;
mod connection_table;
mod exchange;
mod listeners;
mod open_files;
mod proxy_header;
mod resets;
mod slots;

pub use client::client_prefix;
pub use client_body::ClientBody;
pub use listeners::{HttpService, ListenerSpec, Listeners, Slot};
pub use slots::{RequestSlot, RequestSlots};

use crate::BACK_OFF;
use crate::address::ListeningSocket;
use crate::config::{count, size, time};
use activity::{Activity, MonitoredStream, Timeouts};
use bytes::Buf;
use connection_table::ConnectionTable;
use exchange::{OpenBody, StreamExecutor, until_reset};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
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
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Maximum number of requests that a client may reset before the server processes them.
/// After more resets, the connection is closed. The module `resets` limits all other resets.
const MOST_PENDING_RESETS: usize = 2_000;
/// Maximum number of response bytes that wait for the client, for each request.
/// With a larger buffer, a purge saves fewer bytes. With a smaller buffer, a fast client has to wait for the service.
const SEND_BUFFER: usize = 64 << 10;
const DAY_MS: u64 = 86_400_000;
/// Interval of PING frames on an HTTP/2 connection without traffic. A PING detects clients that have disappeared.
/// With a shorter interval, idle connections send more packets. With a longer one, requests of lost clients run longer.
const PING: Duration = Duration::from_secs(30);

/// Time between two searches for idle connections that can be closed, while a new client waits.
const IDLE_SEARCH: Duration = Duration::from_millis(100);

/// Limits of a listener: the key `limits`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Limits {
    /// Maximum number of connections, 1 to 1,000,000. If more clients come, connections without a request are closed.
    /// If there are none, clients wait to be accepted.
    #[serde(deserialize_with = "count::<1, 1_000_000, _, _>")]
    pub connections: u32,
    /// Maximum number of concurrent requests on one HTTP/2 connection, 1 to 10,000.
    #[serde(deserialize_with = "count::<1, 10_000, _, _>")]
    pub streams: u32,
    /// Maximum size of a request's head in bytes, 8 KiB to 16 MiB. With HTTP/1.1 a head has at most 100 fields.
    #[serde(rename = "head", deserialize_with = "size::<8_192, 16_777_216, _, _>")]
    pub head_bytes: u32,
    /// Time limit for a request's head, and for the first request of a connection, 1 ms to 24 h.
    #[serde(rename = "head_timeout", deserialize_with = "time::<1, DAY_MS, _>")]
    pub head_time: Duration,
    /// Time after which a connection without a request is closed, 1 ms to 24 h.
    #[serde(rename = "idle_timeout", deserialize_with = "time::<1, DAY_MS, _>")]
    pub idle_time: Duration,
    /// Longest time for which a client may take nothing of a waiting response, 1 ms to 24 h.
    /// After this time, the stream is reset (HTTP/2), or the connection is closed (HTTP/1.1).
    /// For a whole response, a client may need this time, and in addition one second for each KiB.
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

/// Preparation of a connection before HTTP starts, such as socket options and the TLS handshake.
pub trait Accept: Send + Sync + 'static {
    /// Stream that carries HTTP.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// Properties of the prepared connection.
    type ConnectionInfo: Send;

    /// Whether each connection begins with a header of the PROXY protocol.
    fn expects_proxy_header(&self) -> bool {
        false
    }

    /// Prepares a connection.
    fn accept(
        &self,
        stream: TcpStream,
    ) -> impl Future<Output = io::Result<(Self::Stream, Self::ConnectionInfo)>> + Send;
}

/// Stage in the life of a listener.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    Serves,
    /// The listener accepts no new connections. An open connection ends after its open requests, or after this time.
    Drains(Duration),
}

/// HTTP listener. Dropping it resets its connections.
#[derive(Debug)]
pub struct HttpListener {
    address: Option<SocketAddr>,
    stage: watch::Sender<Stage>,
    /// Whether the socket is open.
    is_listening: watch::Receiver<bool>,
    limits: watch::Sender<Limits>,
    open: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl HttpListener {
    /// Starts to serve requests. `make` returns the service for one connection.
    ///
    /// # Errors
    /// The operating system reports an error.
    pub fn start<A, M, S, F, B, E>(
        listener: ListeningSocket,
        limits: Limits,
        accept: A,
        make: M,
    ) -> io::Result<Self>
    where
        A: Accept,
        M: Fn(SocketAddr, A::ConnectionInfo) -> S + Send + Sync + 'static,
        S: Fn(Request<ClientBody>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
        B::Data: Buf,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let address = listener.address()?;
        let (limits, limit_changes) = watch::channel(limits);
        let (stage, stage_changes) = watch::channel(Stage::Serves);
        let (set_listening, is_listening) = watch::channel(true);
        let open = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Shared { accept, make });
        let owner = OwnerChannels {
            stage_changes,
            limit_changes,
            set_listening,
            open: Arc::clone(&open),
        };
        let serving = tokio::spawn(serve(listener, owner, shared));
        Ok(Self {
            address,
            stage,
            is_listening,
            limits,
            open,
            serving,
        })
    }

    /// Returns the address of the listener. A Unix socket has no such address.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the number of open connections. The number is not updated after the listener has closed.
    pub fn connections(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.open)
    }

    /// Sets the limits of future connections.
    pub fn limit(&self, limits: Limits) {
        self.limits.send_replace(limits);
    }

    /// Closes the port and waits until it is free. Open requests may end within `time`.
    /// Call [`Drained::end`] to wait for these requests.
    pub async fn drain(mut self, time: Duration) -> Drained {
        self.stage.send_replace(Stage::Drains(time));
        // An error means that the listener has already ended.
        let _ = self
            .is_listening
            .wait_for(|is_listening| !is_listening)
            .await;
        Drained(self)
    }
}

impl Drop for HttpListener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Listener that has closed its port and finishes its open requests.
#[derive(Debug)]
pub struct Drained(HttpListener);

impl Drained {
    /// Waits until all connections have ended or were reset.
    pub async fn end(mut self) {
        // A panic in the task of the listener also means that its connections have ended.
        let _ = (&mut self.0.serving).await;
    }
}

/// Data that all connections of a listener share.
struct Shared<A, M> {
    accept: A,
    make: M,
}

/// Channels between the task of a listener and its owner.
struct OwnerChannels {
    stage_changes: watch::Receiver<Stage>,
    limit_changes: watch::Receiver<Limits>,
    /// Whether the socket is open.
    set_listening: watch::Sender<bool>,
    /// Number of open connections.
    open: Arc<AtomicUsize>,
}

fn builder(limits: &Limits) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(StreamExecutor);
    builder
        .http1()
        .timer(TokioTimer::new())
        // hyper starts this timer when the previous response has been sent, so the timer must include the idle time.
        // The exact limit for heads is enforced by `Activity`.
        .header_read_timeout(limits.head_time.saturating_add(limits.idle_time))
        // hyper panics if the buffer is smaller than 8,192 bytes.
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

async fn serve<A, M, S, F, B, E>(
    listener: ListeningSocket,
    mut owner: OwnerChannels,
    shared: Arc<Shared<A, M>>,
) where
    A: Accept,
    M: Fn(SocketAddr, A::ConnectionInfo) -> S + Send + Sync + 'static,
    S: Fn(Request<ClientBody>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let graceful = GracefulShutdown::new();
    let mut connections = tokio::task::JoinSet::new();
    let mut table = ConnectionTable::default();
    // Connection beyond the limit. The kernel does not show whether clients wait in its queue, so one is accepted.
    let mut waiting = None;
    let time = loop {
        owner.open.store(connections.len(), Ordering::Relaxed);
        let limits = *owner.limit_changes.borrow_and_update();
        let most = limits.connections as usize;
        if waiting.is_some() && connections.len() >= most {
            // Several connections are closed together, because each search looks at all connections.
            table.close_idle(1 + most / 32);
        }
        let accepted = tokio::select! {
            stage = owner.stage_changes.wait_for(|stage| *stage != Stage::Serves) => match stage.as_deref() {
                Ok(Stage::Drains(time)) => break *time,
                _ => break Duration::ZERO,
            },
            _ = owner.limit_changes.changed() => continue,
            // A connection has ended. The loop stores the new number of open connections.
            Some(ended) = connections.join_next_with_id(), if !connections.is_empty() => {
                table.remove(ended.map_or_else(|error| error.id(), |(id, ())| id));
                continue;
            }
            // A connection may have become idle.
            () = tokio::time::sleep(IDLE_SEARCH), if waiting.is_some() && connections.len() >= most => continue,
            accepted = next(&listener, &mut waiting), if waiting.is_none() || connections.len() < most => accepted,
        };
        // Without a free file descriptor, the next call would fail immediately.
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        if connections.len() >= most {
            waiting = Some((stream, address));
            continue;
        }
        let (activity, close) = (Activity::new(), Arc::new(Notify::new()));
        let serving = connection(
            Arc::clone(&shared),
            limits,
            (stream, address),
            Arc::clone(&activity),
            graceful.watcher(),
        );
        let task = connections.spawn(until_reset(serving, Arc::clone(&close)));
        table.insert(task.id(), address.ip(), activity, close);
    };
    // The port must be free before the owner is notified.
    drop(listener);
    owner.set_listening.send_replace(false);
    // The remaining connections are reset when `connections` is dropped.
    let _ = tokio::time::timeout(time, graceful.shutdown()).await;
}

/// Returns the connection that waits, or the next one.
async fn next(
    listener: &ListeningSocket,
    waiting: &mut Option<(TcpStream, SocketAddr)>,
) -> io::Result<(TcpStream, SocketAddr)> {
    match waiting.take() {
        Some(connection) => Ok(connection),
        None => listener.accept().await,
    }
}

async fn connection<A, M, S, F, B, E>(
    shared: Arc<Shared<A, M>>,
    limits: Limits,
    (mut stream, peer): (TcpStream, SocketAddr),
    activity: Arc<Activity>,
    watcher: Watcher,
) where
    A: Accept,
    M: Fn(SocketAddr, A::ConnectionInfo) -> S + Send + Sync + 'static,
    S: Fn(Request<ClientBody>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    // The TLS handshake has the same time limit as a head.
    // A client that does not finish it must not keep the connection.
    let accepting = async {
        let address = match shared.accept.expects_proxy_header() {
            true => proxy_header::read(&mut stream, peer).await?,
            false => peer,
        };
        activity.set_client(address.ip());
        let (stream, info) = shared.accept.accept(stream).await?;
        io::Result::Ok((stream, info, address))
    };
    let accepted = tokio::time::timeout(limits.head_time, accepting).await;
    let Ok(Ok((stream, info, address))) = accepted else {
        return;
    };
    let answer = (shared.make)(address, info);
    let monitor = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let open = monitor.open(request.version());
        let (parts, body) = request.into_parts();
        let body = ClientBody::new(body, &parts.headers);
        let answering = answer(Request::from_parts(parts, body));
        async move {
            let answer = answering.await;
            answer.map(|answer| answer.map(|body| OpenBody::new(body, open, limits.stall_time)))
        }
    });
    let stream = TokioIo::new(MonitoredStream::new(stream, Arc::clone(&activity)));
    let serving = builder(&limits)
        .serve_connection(stream, service)
        .into_owned();
    let timeouts = Timeouts {
        head: limits.head_time,
        idle: limits.idle_time,
        stalled: limits.stall_time,
    };
    let serving = pin!(watcher.watch(serving));
    tokio::select! {
        // An error concerns only this client and is ignored. It has disconnected, or it does not use HTTP.
        _ = serving => {}
        () = activity.timed_out(timeouts) => {}
    }
}
