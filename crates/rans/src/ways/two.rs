//! The HTTP/2 connection to a server: one at a time, replaced when the server says goodbye, and before it
//! has been reset so often that the server would defend itself.

use super::config::WayConfig;
use super::error::{WayError, is_accusation};
use super::wire::Wire;
use bytes::Bytes;
use h2::client::{self, ResponseFuture, SendRequest};
use h2::{Ping, PingPong, SendStream};
use http::Request;
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Bytes that a server may send on a connection and on a stream before the client reads, and bytes of an answer's
/// fields: the values of hyper.
const CONNECTION_WINDOW: u32 = 5 << 20;
const STREAM_WINDOW: u32 = 2 << 20;
const MOST_FIELDS: u32 = 16 << 10;

/// What is counted of a connection.
#[derive(Default)]
struct Counts {
    /// Requests on it.
    streams: AtomicU32,
    /// How many of its streams were reset.
    resets: AtomicU32,
}

/// A connection.
#[derive(Clone)]
pub(super) struct Connection {
    sender: SendRequest<Bytes>,
    counts: Arc<Counts>,
}

impl Connection {
    /// Begins to speak HTTP/2. `on_error` gets the error if the connection fails.
    pub async fn open<I: Wire>(
        stream: I,
        config: WayConfig,
        on_error: impl Fn(&h2::Error) + Send + 'static,
    ) -> Result<Self, h2::Error> {
        let (sender, mut connection) = client::Builder::new()
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_window_size(STREAM_WINDOW)
            .max_header_list_size(MOST_FIELDS)
            .enable_push(false)
            // Late frames of a reset stream are then not taken for protocol errors.
            .max_concurrent_reset_streams(2 * config.resets.max(1) as usize)
            .handshake(TokioIo::new(stream))
            .await?;
        let counts = Arc::new(Counts::default());
        let of_pings = Arc::clone(&counts);
        let pings = connection.ping_pong();
        tokio::spawn(async move {
            let mut dies = pin!(dead(pings, config, of_pings));
            let mut connection = pin!(connection);
            let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
                Poll::Ready(ended) => Poll::Ready(ended),
                Poll::Pending => dies.as_mut().poll(cx).map(Ok),
            });
            if let Err(error) = ended.await {
                on_error(&error);
            }
        });
        Ok(Self { sender, counts })
    }

    /// Whether the server takes another request on it: it has not said goodbye, and numbers are left.
    fn is_open(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        matches!(self.sender.poll_ready(&mut nobody), Poll::Ready(Ok(())))
    }

    /// Sends the head of a request, which is all of it where it `is_whole`.
    pub fn send(
        mut self,
        head: Request<()>,
        is_whole: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>, Stream), h2::Error> {
        let (answering, out) = self.sender.send_request(head, is_whole)?;
        self.counts.streams.fetch_add(1, Ordering::Relaxed);
        Ok((answering, out, Stream(Some(self.counts))))
    }
}

/// Ends when a connection that has requests does not answer a ping in time. Idle connections are not asked: some
/// servers take that for an attack.
async fn dead(pings: Option<PingPong>, config: WayConfig, counts: Arc<Counts>) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        sleep(config.ping).await;
        if counts.streams.load(Ordering::Relaxed) == 0 {
            continue;
        }
        match timeout(config.ping_time, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection has ended by itself.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return,
        }
    }
}

/// A request on a connection. Dropping it before its end resets it.
pub(super) struct Stream(Option<Arc<Counts>>);

impl Stream {
    /// It ended by itself.
    pub fn end(mut self) {
        if let Some(counts) = self.0.take() {
            counts.streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(counts) = &self.0 {
            counts.streams.fetch_sub(1, Ordering::Relaxed);
            counts.resets.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A try to connect: `None` while it goes on.
type Attempt = watch::Receiver<Option<Result<Connection, WayError>>>;

/// What became of the connections of a way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ConnectionCounts {
    /// Connections that were begun.
    pub opened: u64,
    /// HTTP/1.1: losers whose connection was kept, since their answers came at once.
    pub kept: u64,
    /// How often the server was seen to end one with an error code in GOAWAY, as servers do that count
    /// too many resets.
    pub accused: u64,
}

/// The connection that requests take now.
pub(super) struct Current {
    attempt: Mutex<Option<Attempt>>,
    opened: AtomicU64,
    accused: AtomicU64,
    /// Resets after which another connection takes its place.
    most_resets: u32,
}

impl Current {
    pub fn new(most_resets: u32) -> Arc<Self> {
        let attempt = Mutex::new(None);
        Arc::new(Self {
            attempt,
            opened: AtomicU64::new(0),
            accused: AtomicU64::new(0),
            most_resets,
        })
    }

    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.opened.load(Ordering::Relaxed),
            kept: 0,
            accused: self.accused.load(Ordering::Relaxed),
        }
    }

    /// A request, or its connection, ended so.
    pub fn on_error(&self, error: &h2::Error) {
        if is_accusation(error) {
            self.accused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An open connection. A separate task opens it, so that a request that is purged meanwhile does not
    /// take the connection from other requests that wait for it.
    pub async fn get<F>(&self, open: impl FnOnce() -> F) -> Result<Connection, WayError>
    where
        F: Future<Output = Result<Connection, WayError>> + Send + 'static,
    {
        let mut attempt = match self.now(open) {
            Now::Open(connection) => return Ok(connection),
            Now::Opening(attempt) => attempt,
        };
        let outcome = attempt.wait_for(Option::is_some).await;
        match outcome.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            // The task was ended with its runtime.
            _ => Err(WayError::Connect(Arc::new(std::io::Error::from(
                std::io::ErrorKind::Interrupted,
            )))),
        }
    }

    fn now<F>(&self, open: impl FnOnce() -> F) -> Now
    where
        F: Future<Output = Result<Connection, WayError>> + Send + 'static,
    {
        let mut current = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = &*current {
            match &*attempt.borrow() {
                None if attempt.has_changed().is_ok() => return Now::Opening(attempt.clone()),
                Some(Ok(connection))
                    if connection.counts.resets.load(Ordering::Relaxed) < self.most_resets =>
                {
                    let mut connection = connection.clone();
                    if connection.is_open() {
                        return Now::Open(connection);
                    }
                }
                _ => {}
            }
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (tell, attempt) = watch::channel(None);
        let opening = open();
        tokio::spawn(async move {
            let outcome = opening.await;
            // Whoever waited may have left.
            tell.send_replace(Some(outcome));
        });
        *current = Some(attempt.clone());
        Now::Opening(attempt)
    }
}

/// The connection for a request, or the reason to wait.
enum Now {
    Open(Connection),
    Opening(Attempt),
}
