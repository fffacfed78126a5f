//! One request and its response, and the time that the client takes for the response.
//! hyper polls the body of a response only when there is room for its bytes.
//! The room is in the socket with HTTP/1.1, and in the window of the stream with HTTP/2.
//! If hyper does not poll the body, the client takes nothing.

use super::activity::Activity;
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Notify;

/// Smallest allowed rate of a client that takes a response, in bytes per second.
/// The time limit for a single part is added to the time that this rate allows.
/// A client that takes single bytes would otherwise keep a worker for as long as it wants.
const LEAST_RATE: u64 = 1 << 10;

tokio::task_local! {
    /// Signal that ends a request. With HTTP/2, it ends the task of the stream, so that h2 resets the stream.
    /// With HTTP/1.1, it ends the task of the connection.
    static RESET: Arc<Notify>;
}

/// Returns the signal that ends the request of this task.
pub(super) fn current_reset() -> Option<Arc<Notify>> {
    RESET.try_with(Arc::clone).ok()
}

/// Runs the task of a stream or of a connection until it ends, or until the signal.
pub(super) async fn until_reset<F: Future>(task: F, reset: Arc<Notify>) {
    let signal = Arc::clone(&reset);
    let task = async move {
        tokio::select! {
            _ = task => {}
            () = signal.notified() => {}
        }
    };
    RESET.scope(reset, task).await;
}

/// Executor of the tasks of HTTP/2 streams. Each task can be ended from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamExecutor;

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(until_reset(stream, Arc::new(Notify::new())));
    }
}

/// State of a request that the connection watches.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Age of the connection in milliseconds at which the client is too late.
    /// `u64::MAX`: the client has nothing to take.
    due: AtomicU64,
    /// Signal that ends the request. Not set: the client has nothing to take yet.
    reset: OnceLock<Arc<Notify>>,
}

impl Exchange {
    pub const fn new() -> Self {
        Self {
            due: AtomicU64::new(u64::MAX),
            reset: OnceLock::new(),
        }
    }

    /// Whether the client has taken too long for the response.
    pub fn is_late(&self, age: u64) -> bool {
        age > self.due.load(Relaxed)
    }

    /// Resets the stream of the request, or closes its HTTP/1.1 connection.
    pub fn reset(&self) {
        if let Some(reset) = self.reset.get() {
            reset.notify_one();
        }
    }
}

/// Request whose response is not completely sent.
#[derive(Debug)]
pub(super) struct OpenRequest {
    activity: Arc<Activity>,
    number: u64,
    exchange: Arc<Exchange>,
    /// Whether the whole response, or an error in its place, was given to the client.
    is_over: bool,
}

impl OpenRequest {
    pub const fn new(activity: Arc<Activity>, number: u64, exchange: Arc<Exchange>) -> Self {
        Self {
            activity,
            number,
            exchange,
            is_over: false,
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if !self.is_over {
            self.activity.note_reset();
        }
        self.activity.close(self.number);
    }
}

/// Time that the client of a response has taken, in milliseconds.
#[derive(Debug)]
struct Taking {
    /// Longest time that the client may need to take one part.
    stalled: u64,
    /// Age of the connection at which the client got the current part.
    since: Option<u64>,
    /// Time that the client took for earlier parts.
    spent: u64,
    /// Number of bytes in all parts.
    bytes: u64,
}

impl Taking {
    /// Records that the client has taken the current part.
    fn taken(&mut self, age: u64) {
        if let Some(since) = self.since.take() {
            self.spent = self.spent.saturating_add(age.saturating_sub(since));
        }
    }

    /// Records a further part. Returns the age of the connection at which the client is too late for it.
    fn given(&mut self, age: u64, bytes: u64) -> u64 {
        self.since = Some(age);
        self.bytes = self.bytes.saturating_add(bytes);
        let earned = self.bytes.saturating_mul(1_000) / LEAST_RATE;
        let left = self
            .stalled
            .saturating_add(earned)
            .saturating_sub(self.spent);
        age.saturating_add(left.min(self.stalled))
    }
}

pin_project_lite::pin_project! {
    /// Body of a response, with the open request that it belongs to.
    #[derive(Debug)]
    pub(super) struct OpenBody<B> {
        #[pin]
        body: B,
        open: OpenRequest,
        taking: Taking,
    }
}

impl<B> OpenBody<B> {
    /// Creates the body in the task of its stream. The client may take `stalled` for a part.
    pub fn new(body: B, mut open: OpenRequest, stalled: Duration) -> Self
    where
        B: Body,
    {
        // A server does not poll an empty body.
        open.is_over = body.is_end_stream();
        if let Some(reset) = current_reset() {
            // The value is set once, since a request has one response.
            let _ = open.exchange.reset.set(reset);
        }
        let mut taking = Taking {
            stalled: stalled.as_millis().try_into().unwrap_or(u64::MAX),
            since: None,
            spent: 0,
            bytes: 0,
        };
        // Over HTTP/2, the body is polled only when the window of the stream is open.
        let due = taking.given(open.activity.age(), 0);
        open.exchange.due.store(due, Relaxed);
        Self { body, open, taking }
    }
}

impl<B: Body> Body for OpenBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let age = this.open.activity.age();
        this.taking.taken(age);
        // The client has nothing to take while the service makes the next part.
        this.open.exchange.due.store(u64::MAX, Relaxed);
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) || this.body.is_end_stream() {
            this.open.is_over = true;
        }
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        let bytes = data.map_or(0, |data| data.remaining() as u64);
        let due = this.taking.given(age, bytes);
        this.open.exchange.due.store(due, Relaxed);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client takes `bytes` every second. Returns the age in milliseconds at which it is too late; at most an hour.
    fn late_after(bytes: u64) -> u64 {
        let mut taking = Taking {
            stalled: 60_000,
            since: None,
            spent: 0,
            bytes: 0,
        };
        for age in (0..3_600_000).step_by(1_000) {
            taking.taken(age);
            let due = taking.given(age, bytes);
            if due < age + 1_000 {
                return due;
            }
        }
        3_600_000
    }

    #[test]
    fn single_bytes_extend_no_time_limit_but_a_slow_client_may_go_on() {
        assert!((60_000..=61_000).contains(&late_after(1)));
        assert!((119_000..=122_000).contains(&late_after(512)));
        assert_eq!(late_after(1_024), 3_600_000);
    }
}
