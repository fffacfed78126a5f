//! HTTP/2 connection to a server. Only one connection is open for new requests.
//! The connection is replaced after a GOAWAY, and before the server would end it because of too many resets.

use super::config::ConnectionConfig;
use super::error::{ConnectionError, is_accusation};
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

/// Largest number of bytes that a server may send on a connection before the client reads them.
/// The limits for a stream and for the header of an answer follow. All three values are hyper's.
const CONNECTION_WINDOW: u32 = 5 << 20;
const STREAM_WINDOW: u32 = 2 << 20;
const MOST_FIELDS: u32 = 16 << 10;

/// Counters of a connection.
#[derive(Default)]
struct Counts {
    /// Number of requests on the connection.
    streams: AtomicU32,
    /// Number of streams that were reset.
    resets: AtomicU32,
}

/// Open HTTP/2 connection. Clones share the connection.
#[derive(Clone)]
pub(super) struct Connection {
    sender: SendRequest<Bytes>,
    counts: Arc<Counts>,
}

impl Connection {
    /// Starts HTTP/2 on a byte stream. `on_error` receives the error if the connection fails.
    pub async fn open<I: Wire>(
        stream: I,
        config: ConnectionConfig,
        on_error: impl Fn(&h2::Error) + Send + 'static,
    ) -> Result<Self, h2::Error> {
        let (sender, mut connection) = client::Builder::new()
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_window_size(STREAM_WINDOW)
            .max_header_list_size(MOST_FIELDS)
            .enable_push(false)
            // Frames that arrive after a reset are then not treated as protocol errors.
            // Open requests may also be reset after the connection was replaced, so the number is twice the limit.
            .max_concurrent_reset_streams(2 * config.resets.max(1) as usize)
            .handshake(TokioIo::new(stream))
            .await?;
        let counts = Arc::new(Counts::default());
        let ping_counts = Arc::clone(&counts);
        let pings = connection.ping_pong();
        tokio::spawn(async move {
            let mut timed_out = pin!(ping_timeout(pings, config, ping_counts));
            let mut connection = pin!(connection);
            // The connection is polled before the ping's timer, because it receives the answer to the ping.
            let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
                Poll::Ready(ended) => Poll::Ready(ended),
                Poll::Pending => timed_out.as_mut().poll(cx).map(Ok),
            });
            if let Err(error) = ended.await {
                on_error(&error);
            }
        });
        Ok(Self { sender, counts })
    }

    /// Returns whether the server accepts another request: it has sent no GOAWAY, and stream numbers are left.
    fn is_open(&mut self) -> bool {
        // Only the present state matters, so no task needs to be woken.
        let mut nobody = Context::from_waker(Waker::noop());
        matches!(self.sender.poll_ready(&mut nobody), Poll::Ready(Ok(())))
    }

    /// Sends the head of a request. If `is_whole` is true, the request has no body.
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

/// Resolves when a connection with requests does not answer a ping in time.
/// Idle connections are not pinged, because some servers treat such pings as an attack.
async fn ping_timeout(pings: Option<PingPong>, config: ConnectionConfig, counts: Arc<Counts>) {
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
            // The connection has already ended.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return,
        }
    }
}

/// Request on a connection. Dropping it before its end counts as a reset.
pub(super) struct Stream(Option<Arc<Counts>>);

impl Stream {
    /// Records that the request ended without a reset.
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

/// Attempt to connect. The value is `None` until the attempt has a result.
type Attempt = watch::Receiver<Option<Result<Connection, ConnectionError>>>;

/// Counters of the connections to a server.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ConnectionCounts {
    /// Connections that were started.
    pub opened: u64,
    /// Purged requests whose connection was kept, because their answers arrived soon (HTTP/1.1).
    pub kept: u64,
    /// Connections that the server ended with an error code in GOAWAY, as servers do after too many resets.
    pub accused: u64,
}

/// Connection that new requests use.
pub(super) struct CurrentConnection {
    attempt: Mutex<Option<Attempt>>,
    opened: AtomicU64,
    accused: AtomicU64,
    /// Number of resets after which a new connection replaces the present one.
    most_resets: u32,
}

impl CurrentConnection {
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

    /// Records the error of a request or of its connection.
    pub fn on_error(&self, error: &h2::Error) {
        if is_accusation(error) {
            self.accused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns an open connection. A separate task opens it.
    /// Otherwise, a purged request would also end the attempt for the other requests that wait.
    pub async fn get<F>(&self, open: impl FnOnce() -> F) -> Result<Connection, ConnectionError>
    where
        F: Future<Output = Result<Connection, ConnectionError>> + Send + 'static,
    {
        let mut attempt = match self.current_or_new(open) {
            ConnectionState::Open(connection) => return Ok(connection),
            ConnectionState::Opening(attempt) => attempt,
        };
        let outcome = attempt.wait_for(Option::is_some).await;
        match outcome.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            // The task ended because its runtime ended.
            _ => Err(ConnectionError::Connect(Arc::new(std::io::Error::from(
                std::io::ErrorKind::Interrupted,
            )))),
        }
    }

    fn current_or_new<F>(&self, open: impl FnOnce() -> F) -> ConnectionState
    where
        F: Future<Output = Result<Connection, ConnectionError>> + Send + 'static,
    {
        let mut current = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = &*current {
            match &*attempt.borrow() {
                // An error of `has_changed` means that the task ended without a result. A new attempt is then started.
                None if attempt.has_changed().is_ok() => {
                    return ConnectionState::Opening(attempt.clone());
                }
                Some(Ok(connection))
                    if connection.counts.resets.load(Ordering::Relaxed) < self.most_resets =>
                {
                    let mut connection = connection.clone();
                    if connection.is_open() {
                        return ConnectionState::Open(connection);
                    }
                }
                _ => {}
            }
        }
        // The lock is held until the attempt is stored. Otherwise two requests could open two connections.
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (result, attempt) = watch::channel(None);
        let opening = open();
        tokio::spawn(async move {
            let outcome = opening.await;
            // The attempt may have no receiver any more, so the value is set without a check.
            result.send_replace(Some(outcome));
        });
        *current = Some(attempt.clone());
        ConnectionState::Opening(attempt)
    }
}

/// Open connection for a request, or the attempt that the request has to wait for.
enum ConnectionState {
    Open(Connection),
    Opening(Attempt),
}
