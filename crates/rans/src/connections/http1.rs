//! HTTP/1.1 connections to a server. Each request in flight has its own connection.
//! Idle connections wait for the next request.
//!
//! HTTP/1.1 does not number its answers.
//! If a server sends two answers, the second one looks like the answer to the next request.
//! So a connection is used again only if no byte has arrived after the last answer ([`Wire`](super::wire::Wire)).
//! The connection of a purged request is kept if its answer is small and arrives soon.

use super::config::ConnectionConfig;
use super::http2::ConnectionCounts;
use super::wire::{Watch, is_quiet};
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

/// Largest answer in bytes that is still read after a purge, so that the connection can be kept.
/// With a larger limit, more bytes would be read that no client receives.
/// With a smaller limit, more connections would be closed.
const MOST_LINGERING: u64 = 16 << 10;

struct IdleConnection<B> {
    sender: SendRequest<B>,
    watch: Watch,
    since: Instant,
}

/// Idle HTTP/1.1 connections to one server, and their counters.
pub(super) struct IdleConnections<B> {
    /// Idle connections. The connection that has been idle for longest is first.
    idle: Mutex<VecDeque<IdleConnection<B>>>,
    config: ConnectionConfig,
    pub opened: AtomicU64,
    /// Number of purged requests whose connection was kept.
    kept: AtomicU64,
}

impl<B> IdleConnections<B> {
    pub fn new(config: ConnectionConfig) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::default(),
            config,
            opened: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        })
    }

    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.opened.load(Ordering::Relaxed),
            kept: self.kept.load(Ordering::Relaxed),
            accused: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<IdleConnection<B>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<IdleConnection<B>> {
        // The server is least likely to close the connection that was used last.
        // Surplus connections stay unused and expire.
        self.lock().pop_back()
    }

    /// Returns the open connection that was used last and on which no byte waits.
    pub async fn take(self: &Arc<Self>) -> Option<LeasedConnection<B>> {
        loop {
            let mut connection = self.pop()?;
            // The connection is ready immediately, or when the end of the last answer has been processed.
            if connection.since.elapsed() < self.config.idle_time
                && connection.sender.ready().await.is_ok()
                && is_quiet(&connection.watch)
            {
                return Some(self.lease(connection.sender, connection.watch));
            }
        }
    }

    pub fn lease(self: &Arc<Self>, sender: SendRequest<B>, watch: Watch) -> LeasedConnection<B> {
        let pool = Arc::clone(self);
        LeasedConnection {
            sender,
            watch,
            pool,
        }
    }
}

/// Connection that a request uses. Dropping it closes the connection.
pub(super) struct LeasedConnection<B> {
    sender: SendRequest<B>,
    watch: Watch,
    pool: Arc<IdleConnections<B>>,
}

impl<B> LeasedConnection<B> {
    /// Returns the connection to the idle connections, after the whole answer has been read.
    pub fn release(self) {
        let now = Instant::now();
        let mut idle = self.pool.lock();
        // The oldest connections are at the front, so the loop can stop at the first young one.
        while let Some(first) = idle.front()
            && (first.sender.is_closed() || now - first.since >= self.pool.config.idle_time)
        {
            idle.pop_front();
        }
        if idle.len() < self.pool.config.idle && !self.sender.is_closed() {
            idle.push_back(IdleConnection {
                sender: self.sender,
                watch: self.watch,
                since: now,
            });
        }
    }
}

impl<B: Send + 'static> LeasedConnection<B> {
    /// Continues a request whose client has dropped it.
    /// If its answer is small and arrives soon, the connection is kept.
    /// Otherwise the connection is closed, so that the server stops.
    pub fn linger(self, answering: impl Future<Output = Option<Incoming>> + Send + 'static) {
        let time = self.pool.config.linger;
        if time.is_zero() || self.sender.is_closed() {
            return;
        }
        // Without a runtime no task can wait for the answer.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let ending = async { read_small(answering.await?).await };
            if let Ok(Some(())) = timeout(time, ending).await {
                self.pool.kept.fetch_add(1, Ordering::Relaxed);
                self.release();
            }
        });
    }
}

/// Reads a body to its end. Returns `None` if the body has too many bytes or fails.
async fn read_small(mut body: Incoming) -> Option<()> {
    let mut left = MOST_LINGERING;
    // A body whose announced length is too large is not read at all.
    if body.size_hint().upper().is_some_and(|most| most > left) {
        return None;
    }
    while let Some(frame) = body.frame().await {
        let bytes = frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
        left = left.checked_sub(bytes)?;
    }
    Some(())
}

impl<B: Body + Send + 'static> LeasedConnection<B> {
    /// Sends a request on this connection.
    pub fn send(mut self, request: Request<B>) -> PendingRequest<B> {
        let answering = Box::pin(self.sender.try_send_request(request));
        PendingRequest(Some((answering, self)))
    }
}

type Answering<B> =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<B>>>> + Send>>;

/// Request on a connection. After it is dropped, its answer may still arrive within a short time.
/// After this time, the connection is closed.
pub(super) struct PendingRequest<B: Body + Send + 'static>(
    Option<(Answering<B>, LeasedConnection<B>)>,
);

impl<B: Body + Send + 'static> Future for PendingRequest<B> {
    type Output = (
        Result<Response<Incoming>, TrySendError<Request<B>>>,
        LeasedConnection<B>,
    );

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (answering, _) = self.0.as_mut().expect("it has not answered");
        let answer = std::task::ready!(answering.as_mut().poll(cx));
        let (_, leased) = self.0.take().expect("it was there");
        Poll::Ready((answer, leased))
    }
}

impl<B: Body + Send + 'static> Drop for PendingRequest<B> {
    fn drop(&mut self) {
        if let Some((answering, leased)) = self.0.take() {
            leased.linger(async move { answering.await.ok().map(Response::into_body) });
        }
    }
}
