//! Bodies of requests on their way from a client to a service. A small body is stored before the request is sent.
//! A longer one is forwarded as it arrives.

use crate::client::Replay;
use crate::client_wait::ClientWait;
use crate::connection_fields;
#[cfg(feature = "gateway")]
use crate::stored_body::collect_within;
use crate::stored_body::{Collected, StoredBody, collect};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tailcut_proxy::http::ClientBody;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

/// Smallest allowed rate of a body, in bytes per second.
/// [`UploadLimits::stall`] is added to the time that this rate allows.
/// A client that sends single bytes would otherwise keep a worker for as long as it wants.
/// Slow mobile networks (EDGE) are several times as fast.
const LEAST_RATE: u64 = 1 << 10;

/// Reason why a client's body did not arrive completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The body is longer than the limit.
    #[error("the request's body is too long")]
    TooLong = 1,
    /// No further bytes arrived for too long.
    #[error("no further bytes of the request's body arrived")]
    Stalled = 2,
    /// The client ended the request in the middle of the body.
    #[error("the request's body is not complete")]
    Cut = 3,
    /// The request has waited for its client, and another client needs the worker.
    #[error("another client needs the worker of the request")]
    Displaced = 4,
}

/// Progress of an upload, for the tasks that wait for its answer.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    /// Time of the client's latest bytes, in milliseconds after `began`.
    moved: AtomicU64,
    fault: AtomicU8,
    is_answered: AtomicBool,
    wait: Arc<ClientWait>,
}

impl Progress {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            fault: AtomicU8::new(0),
            is_answered: AtomicBool::new(false),
            wait: Arc::default(),
        })
    }

    /// Returns the reason why the body did not arrive completely.
    pub fn fault(&self) -> Option<Fault> {
        match self.fault.load(Relaxed) {
            1 => Some(Fault::TooLong),
            2 => Some(Fault::Stalled),
            3 => Some(Fault::Cut),
            4 => Some(Fault::Displaced),
            _ => None,
        }
    }

    /// Returns the time for which the request waits for its client.
    #[cfg(feature = "guard")]
    pub fn wait(&self) -> Arc<ClientWait> {
        Arc::clone(&self.wait)
    }

    /// Records that the answer has begun.
    /// Client and service may then send in turns, with any pauses (gRPC), so the body has no time limit any more.
    /// The time limits of the answer bound the request.
    fn answered(&self) {
        self.is_answered.store(true, Relaxed);
    }

    fn note(&self) {
        self.wait.uploaded();
        let since = self.began.elapsed().as_millis();
        self.moved
            .store(since.try_into().unwrap_or(u64::MAX), Relaxed);
    }

    /// Time of the client's latest bytes.
    pub fn latest(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Relaxed))
    }
}

/// Waits until an answer begins, for `time` at most.
/// The time begins again with each part of the upload that arrives, since most services answer only after it.
/// Returns `None` if the answer does not begin.
pub(crate) async fn begins_within<F: Future + Unpin>(
    mut answering: F,
    progress: Option<&Progress>,
    time: Duration,
) -> Option<F::Output> {
    let mut due = Instant::now() + time;
    loop {
        if let Ok(answer) = timeout_at(due, &mut answering).await {
            if let Some(progress) = progress {
                progress.answered();
            }
            return Some(answer);
        }
        let moved = progress.map(|progress| progress.latest() + time);
        due = moved.filter(|moved| *moved > due)?;
    }
}

/// Limits of a client's upload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UploadLimits {
    /// Largest body in bytes.
    pub most: u64,
    /// Largest body that is stored, in bytes.
    pub stored: u64,
    /// Longest time between two parts. Longer bodies also have to reach 1 KiB/s.
    pub stall: Duration,
}

/// Time that a client may take for its body. Only waiting for the client counts, not the time of the service.
struct Pace {
    stall: Duration,
    /// Time for which earlier parts were awaited.
    waited: Duration,
    /// Number of bytes that have arrived.
    bytes: u64,
    /// Time since which the next part is awaited.
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    const fn new(stall: Duration) -> Self {
        Self {
            stall,
            waited: Duration::ZERO,
            bytes: 0,
            since: None,
            timer: None,
        }
    }

    /// Records that a part has arrived.
    fn moved(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(since) = self.since.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
        self.timer = None;
    }

    /// Ready when the client has taken too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let earned = Duration::from_millis(self.bytes.saturating_mul(1_000) / LEAST_RATE);
        let left = self
            .stall
            .saturating_add(earned)
            .saturating_sub(self.waited);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(since + left.min(self.stall))));
        timer.as_mut().poll(cx)
    }
}

/// Body that is forwarded as it arrives.
pub(crate) struct Upload {
    /// First bytes, if they were read before the request was sent.
    beginning: Option<Bytes>,
    body: ClientBody,
    left: u64,
    pace: Pace,
    progress: Arc<Progress>,
}

impl Upload {
    fn fail(&self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.progress.fault.store(fault as u8, Relaxed);
        Poll::Ready(Some(Err(fault)))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let frame = match self.beginning.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Pin::new(&mut self.body).poll_frame(cx),
        };
        match frame {
            Poll::Ready(frame) => {
                let frame = match frame {
                    None => return Poll::Ready(None),
                    Some(Err(_)) => return self.fail(Fault::Cut),
                    Some(Ok(mut frame)) => {
                        connection_fields::remove_from_trailers(&mut frame);
                        frame
                    }
                };
                let size = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.pace.moved(size);
                self.progress.note();
                match self.left.checked_sub(size) {
                    Some(left) => self.left = left,
                    None => return self.fail(Fault::TooLong),
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Pending if self.progress.is_answered.load(Relaxed) => Poll::Pending,
            // The timer is polled only if no part has arrived, so a late timer cannot end a body that moves.
            Poll::Pending => {
                if self.progress.wait.awaits_upload(cx.waker()) {
                    return self.fail(Fault::Displaced);
                }
                ready!(self.pace.poll(cx));
                // The answer may have begun while the timer ran.
                if self.progress.is_answered.load(Relaxed) {
                    return Poll::Pending;
                }
                self.fail(Fault::Stalled)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.beginning.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.beginning.as_ref().map_or(0, Bytes::len) as u64;
        let rest = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(read));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(read));
        }
        hint
    }
}

/// Body of a request to a service.
pub(crate) enum RequestBody {
    /// Stored body, which can be sent again.
    Stored(StoredBody),
    /// Stored body that is sent only once, because the request is itself a copy.
    StoredOnce(StoredBody),
    /// Body that is forwarded as it arrives.
    Streamed(Box<Upload>),
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stored(_) => "Stored",
            Self::StoredOnce(_) => "StoredOnce",
            Self::Streamed(_) => "Streamed",
        })
    }
}

impl RequestBody {
    /// Whether the body can be sent again.
    #[cfg(feature = "gateway")]
    pub const fn is_stored(&self) -> bool {
        matches!(self, Self::Stored(_))
    }

    /// Returns an empty body.
    pub fn empty() -> Self {
        Self::Stored(StoredBody::default())
    }

    /// Reads or forwards a client's body. It is stored if its length is known and small.
    ///
    /// # Errors
    /// The body is too long, or does not arrive.
    #[cfg(feature = "gateway")]
    pub async fn take(
        body: ClientBody,
        limits: UploadLimits,
        may_store: bool,
    ) -> Result<Self, Fault> {
        let length = body.size_hint().exact();
        // A body of unknown length may be a stream whose client waits for answers, so it is forwarded immediately.
        if body.is_end_stream() || length.is_some_and(|length| length <= limits.stored) && may_store
        {
            return Self::buffered(body, limits, may_store).await;
        }
        Self::streamed(None, body, limits)
    }

    /// Reads the body of a call that ends at once, so that it can be sent again. Forwards another body.
    ///
    /// # Errors
    /// The body is too long, or does not arrive.
    #[cfg(feature = "gateway")]
    pub async fn prompt(
        mut body: ClientBody,
        limits: UploadLimits,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let wanted = limits.stored.min(limits.most);
        match collect_within(&mut body, wanted, Some(patience)).await {
            Ok(Collected::Whole(whole)) => Ok(Self::Stored(whole)),
            Ok(Collected::Beginning(bytes)) => {
                let beginning = Some(bytes).filter(|bytes| !bytes.is_empty());
                Self::streamed(beginning, body, limits)
            }
            Err(_) => Err(Fault::Cut),
        }
    }

    /// Reads a client's body, and returns when it is complete, or when more than `limits.stored` bytes have arrived.
    /// A complete body may be sent again if `may_repeat` is true.
    ///
    /// # Errors
    /// The body is too long, or does not arrive.
    pub async fn buffered(
        mut body: ClientBody,
        limits: UploadLimits,
        may_repeat: bool,
    ) -> Result<Self, Fault> {
        let stored = |whole| match may_repeat {
            true => Self::Stored(whole),
            false => Self::StoredOnce(whole),
        };
        if body.is_end_stream() {
            return Ok(stored(StoredBody::default()));
        }
        let announced = body.size_hint().lower();
        if announced > limits.most {
            return Err(Fault::TooLong);
        }
        let wanted = limits.stored.min(limits.most);
        // A small body needs no time limit for each part: all of it has to arrive in the time of one part.
        let taking = tokio::time::timeout(limits.stall, collect(&mut body, wanted));
        match taking.await {
            Ok(Ok(Collected::Whole(whole))) => Ok(stored(whole)),
            Ok(Ok(Collected::Beginning(bytes))) => Self::streamed(Some(bytes), body, limits),
            Ok(Err(_)) => Err(Fault::Cut),
            Err(_) => Err(Fault::Stalled),
        }
    }

    fn streamed(
        beginning: Option<Bytes>,
        body: ClientBody,
        limits: UploadLimits,
    ) -> Result<Self, Fault> {
        let read = beginning.as_ref().map_or(0, Bytes::len) as u64;
        if body.size_hint().lower().saturating_add(read) > limits.most {
            return Err(Fault::TooLong);
        }
        Ok(Self::Streamed(Box::new(Upload {
            beginning,
            body,
            left: limits.most,
            pace: Pace::new(limits.stall),
            progress: Progress::new(),
        })))
    }

    /// Returns the progress of the upload, if the body is forwarded.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        match self {
            Self::Stored(_) | Self::StoredOnce(_) => None,
            Self::Streamed(upload) => Some(Arc::clone(&upload.progress)),
        }
    }
}

impl Replay for RequestBody {
    fn replay(&self) -> Option<Self> {
        match self {
            Self::Stored(whole) => Some(Self::Stored(whole.clone())),
            Self::StoredOnce(_) | Self::Streamed(_) => None,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match &mut *self {
            Self::Stored(whole) | Self::StoredOnce(whole) => Poll::Ready(whole.next()),
            Self::Streamed(upload) => Pin::new(&mut **upload).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stored(whole) | Self::StoredOnce(whole) => whole.is_over(),
            Self::Streamed(upload) => upload.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Stored(whole) | Self::StoredOnce(whole) => whole.size(),
            Self::Streamed(upload) => upload.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::{sleep, timeout};

    /// A client sends `bytes` every second, for an hour at most. Returns the seconds after which it is given up.
    async fn given_up_after(bytes: u64) -> u64 {
        let began = Instant::now();
        let mut pace = Pace::new(Duration::from_secs(60));
        while began.elapsed() < Duration::from_secs(3_600) {
            let waiting = poll_fn(|cx| pace.poll(cx));
            if timeout(Duration::from_secs(1), waiting).await.is_ok() {
                break;
            }
            pace.moved(bytes);
        }
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn single_bytes_extend_no_time_limit_but_a_slow_connection_may_go_on() {
        assert!((60..=61).contains(&given_up_after(1).await));
        assert!((119..=121).contains(&given_up_after(512).await));
        assert_eq!(given_up_after(1_024).await, 3_600);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_service_does_not_read_does_not_count() {
        let mut pace = Pace::new(Duration::from_secs(60));
        for _ in 0..100 {
            sleep(Duration::from_secs(59)).await;
            pace.moved(1);
        }
        let waiting = poll_fn(|cx| pace.poll(cx));
        assert!(timeout(Duration::from_secs(59), waiting).await.is_err());
    }
}
