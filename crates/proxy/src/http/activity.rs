//! Detection of inactive connections. An inactive client does not read responses or does not send requests.
//! The connection of such a client is closed, so that other clients can connect.

use super::client::client_prefix;
use super::exchange::{Exchange, OpenRequest};
use super::resets::ResetRate;
use http::Version;
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Activity of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Time of the last activity, in milliseconds since `began`.
    /// Activity is the end of a request, or a write over HTTP/1.1.
    /// Reads do not count, and writes over HTTP/2 do not count. A client can cause both by PING frames.
    moved: AtomicU64,
    /// Requests whose response is not completely sent, by their number.
    open: Mutex<HashMap<u64, Arc<Exchange>>>,
    /// Number of the next request. Above 0: the client has sent a request.
    next: AtomicU64,
    /// Time at which the head of the current request started to arrive, in milliseconds since `began`.
    /// 0: no head is arriving.
    /// The value is always 0 with HTTP/2, where bytes of other frames cannot be distinguished from a head.
    head_since: AtomicU64,
    is_http2: AtomicBool,
    resets: ResetRate,
    /// Address of the client. Not set: the connection is not prepared.
    client: OnceLock<IpAddr>,
    /// Signal that the client has reset too many requests.
    flooded: Notify,
}

/// Time limits of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// Time limit for the first request, and for the head of each request.
    pub head: Duration,
    /// Longest time without a request.
    pub idle: Duration,
    /// Longest time for which a client may take nothing of a response that waits for it.
    pub stalled: Duration,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            is_http2: AtomicBool::new(false),
            resets: ResetRate::default(),
            client: OnceLock::new(),
            flooded: Notify::new(),
        })
    }

    /// Age of the connection in milliseconds.
    pub fn age(&self) -> u64 {
        self.began
            .elapsed()
            .as_millis()
            .try_into()
            .unwrap_or(u64::MAX)
    }

    fn open_requests(&self) -> MutexGuard<'_, HashMap<u64, Arc<Exchange>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self) {
        self.moved.store(self.age(), Relaxed);
    }

    /// Records that bytes arrived. They belong to a head if no request is open.
    fn note_head(&self) {
        if !self.is_http2.load(Relaxed)
            && self.head_since.load(Relaxed) == 0
            && self.open_requests().is_empty()
        {
            // The value 0 means that no head is arriving.
            self.head_since.store(self.age().max(1), Relaxed);
        }
    }

    /// Sets the client of the connection. A load balancer may have named it.
    pub fn set_client(&self, address: IpAddr) {
        // The value is set once, when the connection is prepared.
        let _ = self.client.set(client_prefix(address));
    }

    /// Returns the client of the connection; `None`: the connection is not prepared.
    pub fn client(&self) -> Option<IpAddr> {
        self.client.get().copied()
    }

    /// Records that the client has left a request over HTTP/2 before its end.
    pub fn note_reset(&self) {
        if self.is_http2.load(Relaxed) && self.resets.note(self.age()) {
            self.flooded.notify_one();
        }
    }

    /// Waits until the client exceeds a limit of the connection.
    /// Over HTTP/2, a client that does not take a response loses only the stream of that response.
    pub async fn timed_out(&self, timeouts: Timeouts) {
        let shortest = timeouts.head.min(timeouts.idle).min(timeouts.stalled);
        // The checks run at a quarter of the shortest limit.
        // A connection exceeds its limit by at most this interval.
        let mut every = tokio::time::interval((shortest / 4).max(Duration::from_millis(10)));
        // After a delay, one check is enough to replace the missed ones.
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                () = self.flooded.notified() => return,
            }
            let age = self.age();
            let since = |then: u64| Duration::from_millis(age.saturating_sub(then));
            let open = self.open_requests();
            for exchange in open.values().filter(|exchange| exchange.is_late(age)) {
                exchange.reset();
            }
            let head_since = self.head_since.load(Relaxed);
            let is_over = match (open.is_empty(), self.next.load(Relaxed)) {
                (true, 0) => since(0) > timeouts.head,
                (true, _) if head_since > 0 => since(head_since) > timeouts.head,
                (true, _) => since(self.moved.load(Relaxed)) > timeouts.idle,
                (false, _) => false,
            };
            drop(open);
            if is_over {
                return;
            }
        }
    }

    /// Returns the time since which the client has no open request; `None`: it has an open request.
    pub fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.open_requests().is_empty();
        is_idle.then(|| self.began + Duration::from_millis(self.moved.load(Relaxed)))
    }

    /// Records the start of a request.
    pub fn open(self: &Arc<Self>, version: Version) -> OpenRequest {
        let number = self.next.fetch_add(1, Relaxed);
        self.head_since.store(0, Relaxed);
        self.is_http2.store(version == Version::HTTP_2, Relaxed);
        let exchange = Arc::new(Exchange::new());
        self.open_requests().insert(number, Arc::clone(&exchange));
        OpenRequest::new(Arc::clone(self), number, exchange)
    }

    /// Records the end of a request.
    pub fn close(&self, number: u64) {
        self.open_requests().remove(&number);
        self.note();
    }
}

/// Stream that records reads and writes in an [`Activity`].
#[derive(Debug)]
pub(super) struct MonitoredStream<T> {
    stream: T,
    activity: Arc<Activity>,
}

impl<T> MonitoredStream<T> {
    pub const fn new(stream: T, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }

    fn written<R>(&self, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_ready() && !self.activity.is_http2.load(Relaxed) {
            self.activity.note();
        }
        polled
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for MonitoredStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, into);
        if polled.is_ready() {
            self.activity.note_head();
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for MonitoredStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
