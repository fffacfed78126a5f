//! Whether anything moves on a connection: clients that do not read, or say nothing, give their place up.

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

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// When a byte moved last, in milliseconds since it began.
    moved: AtomicU64,
    /// Whether bytes wait that the client does not take.
    is_blocked: AtomicBool,
    /// Requests whose answer has not gone out whole.
    open: AtomicU32,
    has_asked: AtomicBool,
    /// When the head of a request began to come, as `moved`; 0: none does. With HTTP/2 nobody knows.
    head_since: AtomicU64,
    is_http2: AtomicBool,
}

/// When a connection ends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// In which the first request has to come, and the head of any.
    pub head: Duration,
    /// Without a request.
    pub idle: Duration,
    /// Without a byte taken of an answer that waits.
    pub stalled: Duration,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            open: AtomicU32::new(0),
            has_asked: AtomicBool::new(false),
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

    /// Bytes came in.
    fn note_head(&self) {
        if self.open.load(Relaxed) == 0
            && self.head_since.load(Relaxed) == 0
            && !self.is_http2.load(Relaxed)
        {
            self.head_since.store(self.age().max(1), Relaxed);
        }
    }

    /// Resolves when the client has let too much time pass.
    pub async fn over(&self, patience: Patience) {
        let shortest = patience.head.min(patience.idle).min(patience.stalled);
        let mut every = tokio::time::interval((shortest / 4).max(Duration::from_millis(10)));
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let age = self.age();
            let since = |then: u64| Duration::from_millis(age.saturating_sub(then));
            let still = since(self.moved.load(Relaxed));
            let head_since = self.head_since.load(Relaxed);
            let is_over = match (self.open.load(Relaxed), self.has_asked.load(Relaxed)) {
                (0, false) => since(0) > patience.head,
                (0, true) if head_since > 0 => since(head_since) > patience.head,
                (0, true) => still > patience.idle,
                _ => self.is_blocked.load(Relaxed) && still > patience.stalled,
            };
            if is_over {
                return;
            }
        }
    }

    /// A request begins.
    pub fn open(self: &Arc<Self>, version: Version) -> Open {
        self.open.fetch_add(1, Relaxed);
        self.has_asked.store(true, Relaxed);
        self.head_since.store(0, Relaxed);
        self.is_http2.store(version == Version::HTTP_2, Relaxed);
        Open(Arc::clone(self))
    }
}

/// A request whose answer has not gone out whole.
#[derive(Debug)]
pub(super) struct Open(Arc<Activity>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.0.note();
    }
}

pin_project_lite::pin_project! {
    /// An answer's body, with the request that it belongs to.
    #[derive(Debug)]
    pub(super) struct OpenBody<B> {
        #[pin]
        body: B,
        open: Open,
    }
}

impl<B> OpenBody<B> {
    pub const fn new(body: B, open: Open) -> Self {
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

/// A stream whose movements are noted.
#[derive(Debug)]
pub(super) struct Noted<T> {
    stream: T,
    activity: Arc<Activity>,
}

impl<T> Noted<T> {
    pub const fn new(stream: T, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }

    fn written<R>(&self, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        self.activity.is_blocked.store(polled.is_pending(), Relaxed);
        if polled.is_ready() {
            self.activity.note();
        }
        polled
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Noted<T> {
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

impl<T: AsyncWrite + Unpin> AsyncWrite for Noted<T> {
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
