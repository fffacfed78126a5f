//! Detection of inactive connections. An inactive client does not read responses or does not send requests.
//! The connection of such a client is closed, so that other clients can connect.

use http::Version;
use http_body::{Body, Frame, SizeHint};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Activity of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Time of the last read or write, in milliseconds since `began`.
    moved: AtomicU64,
    /// Whether the last write is blocked because the client does not read.
    is_blocked: AtomicBool,
    /// Number of requests whose response is not completely sent.
    open: AtomicU32,
    has_requested: AtomicBool,
    /// Time at which the head of the current request started to arrive, in milliseconds since `began`.
    /// 0 means that no head is arriving.
    /// The value is always 0 with HTTP/2, where a head looks like other frames.
    head_since: AtomicU64,
    is_http2: AtomicBool,
}

/// Time limits after which a connection is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// Time limit for the first request, and for the head of each request.
    pub head: Duration,
    /// Time limit without a request.
    pub idle: Duration,
    /// Time limit during which a client reads no byte of a waiting response.
    pub stalled: Duration,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            open: AtomicU32::new(0),
            has_requested: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            is_http2: AtomicBool::new(false),
        })
    }

    fn age(&self) -> u64 {
        self.began
            .elapsed()
            .as_millis()
            .try_into()
            .unwrap_or(u64::MAX)
    }

    fn note(&self) {
        self.moved.store(self.age(), Relaxed);
    }

    /// Records that bytes arrived. They belong to a head if no request is open.
    fn note_head(&self) {
        if self.open.load(Relaxed) == 0
            && self.head_since.load(Relaxed) == 0
            && !self.is_http2.load(Relaxed)
        {
            // The value 0 means that no head is arriving.
            self.head_since.store(self.age().max(1), Relaxed);
        }
    }

    /// Waits until the client exceeds one of the time limits.
    pub async fn timed_out(&self, timeouts: Timeouts) {
        let shortest = timeouts.head.min(timeouts.idle).min(timeouts.stalled);
        // The checks run at a quarter of the shortest limit.
        // A connection exceeds its limit by at most this interval.
        let mut every = tokio::time::interval((shortest / 4).max(Duration::from_millis(10)));
        // After a delay, one check is enough to replace the missed ones.
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let age = self.age();
            let since = |then: u64| Duration::from_millis(age.saturating_sub(then));
            let still = since(self.moved.load(Relaxed));
            let head_since = self.head_since.load(Relaxed);
            let is_over = match (self.open.load(Relaxed), self.has_requested.load(Relaxed)) {
                (0, false) => since(0) > timeouts.head,
                (0, true) if head_since > 0 => since(head_since) > timeouts.head,
                (0, true) => still > timeouts.idle,
                _ => self.is_blocked.load(Relaxed) && still > timeouts.stalled,
            };
            if is_over {
                return;
            }
        }
    }

    /// Records the start of a request.
    pub fn open(self: &Arc<Self>, version: Version) -> OpenRequest {
        self.open.fetch_add(1, Relaxed);
        self.has_requested.store(true, Relaxed);
        self.head_since.store(0, Relaxed);
        self.is_http2.store(version == Version::HTTP_2, Relaxed);
        OpenRequest(Arc::clone(self))
    }
}

/// Request whose response is not completely sent.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Activity>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.0.note();
    }
}

pin_project_lite::pin_project! {
    /// Body of a response. It keeps the request open until the body is sent completely.
    #[derive(Debug)]
    pub(super) struct OpenBody<B> {
        #[pin]
        body: B,
        open: OpenRequest,
    }
}

impl<B> OpenBody<B> {
    pub const fn new(body: B, open: OpenRequest) -> Self {
        Self { body, open }
    }
}

impl<B: Body> Body for OpenBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
        // A pending write means that the socket's buffer is full, because the client does not read.
        self.activity.is_blocked.store(polled.is_pending(), Relaxed);
        if polled.is_ready() {
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
            self.activity.note();
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
