//! Bodies of requests and answers in a gateway. Small bodies are stored completely, so that requests can be sent again.
//! Other bodies are forwarded while they arrive.

use crate::client::{AnswerBody, Replay};
use crate::connections::{ConnectionBody, ConnectionError};
use crate::ranges::{RangesBody, RangesError};
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

/// Body that has arrived completely.
#[derive(Clone, Default, Debug)]
pub(super) struct StoredBody {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl From<&'static str> for StoredBody {
    fn from(text: &'static str) -> Self {
        Self {
            data: Bytes::from_static(text.as_bytes()),
            trailers: None,
        }
    }
}

impl StoredBody {
    fn next<E>(&mut self) -> Option<Result<Frame<Bytes>, E>> {
        if !self.data.is_empty() {
            return Some(Ok(Frame::data(std::mem::take(&mut self.data))));
        }
        Some(Ok(Frame::trailers(self.trailers.take()?)))
    }

    const fn is_over(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    const fn size(&self) -> u64 {
        self.data.len() as u64
    }
}

/// Reads a body to its end. Returns `None` if the body has more than `most` bytes.
async fn collect<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    most: u64,
) -> Result<Option<StoredBody>, B::Error> {
    let mut whole = StoredBody::default();
    let mut joined = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        match frame?.into_data() {
            // A body that consists of one frame needs no copy.
            Ok(data) if whole.data.is_empty() => whole.data = data,
            Ok(data) => {
                if joined.is_empty() {
                    joined.extend_from_slice(&whole.data);
                }
                joined.extend_from_slice(&data);
            }
            Err(frame) => whole.trailers = frame.into_trailers().ok(),
        }
        if whole.size().max(joined.len() as u64) > most {
            return Ok(None);
        }
    }
    if !joined.is_empty() {
        whole.data = joined.freeze();
    }
    Ok(Some(whole))
}

/// Reason why a client's body did not arrive completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The body is longer than the limit.
    #[error("the request's body is too long")]
    TooLong = 1,
    /// No further bytes arrived within the time limit.
    #[error("no further bytes of the request's body arrived")]
    Stalled = 2,
    /// The client ended the request in the middle of the body.
    #[error("the request's body is not complete")]
    Cut = 3,
}

/// Progress of an upload, for tasks that wait for the answer.
#[derive(Debug)]
pub(super) struct Progress {
    began: Instant,
    /// Time at which the client's latest bytes arrived, in milliseconds after `began`.
    moved: AtomicU64,
    fault: AtomicU8,
}

impl Progress {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            fault: AtomicU8::new(0),
        })
    }

    pub fn fault(&self) -> Option<Fault> {
        match self.fault.load(Relaxed) {
            1 => Some(Fault::TooLong),
            2 => Some(Fault::Stalled),
            3 => Some(Fault::Cut),
            _ => None,
        }
    }

    fn note(&self) {
        let since = self.began.elapsed().as_millis();
        self.moved
            .store(since.try_into().unwrap_or(u64::MAX), Relaxed);
    }

    /// Returns the time at which the client's latest bytes arrived.
    pub fn latest(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Relaxed))
    }
}

/// Limits of a client's upload.
#[derive(Clone, Copy, Debug)]
pub(super) struct UploadLimits {
    /// Size of the largest body, in bytes.
    pub most: u64,
    /// Size of the largest body that is stored, in bytes.
    pub stored: u64,
    /// Longest time between two parts of the body.
    pub stall: Duration,
}

/// Detector of a body that has stopped.
struct StallTimer {
    /// Longest time until the next part.
    time: Duration,
    /// Timer that runs while the body's next part is missing.
    timer: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    fn after(time: Duration) -> Self {
        Self { time, timer: None }
    }

    /// Records that a part has arrived.
    fn moved(&mut self) {
        self.timer = None;
    }

    /// Returns ready when no part has arrived for too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let time = self.time;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer.as_mut().poll(cx)
    }
}

/// Body of a request that is forwarded while it arrives.
pub(super) struct Upload {
    body: Incoming,
    left: u64,
    stall: StallTimer,
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
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.stall.moved();
                self.progress.note();
                let frame = match frame {
                    None => return Poll::Ready(None),
                    Some(Err(_)) => return self.fail(Fault::Cut),
                    Some(Ok(frame)) => frame,
                };
                let size = frame.data_ref().map_or(0, |data| data.len() as u64);
                match self.left.checked_sub(size) {
                    Some(left) => self.left = left,
                    None => return self.fail(Fault::TooLong),
                }
                Poll::Ready(Some(Ok(frame)))
            }
            // The timer is polled only if no part has arrived. So a late timer cannot end a body that makes progress.
            Poll::Pending => {
                ready!(self.stall.poll(cx));
                self.fail(Fault::Stalled)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of a request to replicas.
pub(super) enum RequestBody {
    /// Stored body, which can be sent again.
    Stored(StoredBody),
    /// Stored body that is sent only once, because the request is itself a copy.
    StoredOnce(StoredBody),
    /// Body that is forwarded while it arrives.
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
    /// Returns an empty body.
    pub fn empty() -> Self {
        Self::Stored(StoredBody::default())
    }

    /// Reads or forwards a client's body. It is stored if its length is known and small.
    pub async fn take(
        mut body: Incoming,
        limits: UploadLimits,
        may_store: bool,
    ) -> Result<Self, Fault> {
        if body.is_end_stream() {
            return Ok(match may_store {
                true => Self::empty(),
                false => Self::StoredOnce(StoredBody::default()),
            });
        }
        let length = body.size_hint().exact();
        if length.is_some_and(|length| length > limits.most) {
            return Err(Fault::TooLong);
        }
        // A body of unknown length may be endless, so it is forwarded and not stored.
        if may_store && length.is_some_and(|length| length <= limits.stored) {
            // A small body has no time limit for each part. All of it has to arrive within the time for one part.
            let taking = tokio::time::timeout(limits.stall, collect(&mut body, limits.stored));
            return match taking.await {
                Ok(Ok(Some(whole))) => Ok(Self::Stored(whole)),
                Ok(Ok(None)) => Err(Fault::TooLong),
                Ok(Err(_)) => Err(Fault::Cut),
                Err(_) => Err(Fault::Stalled),
            };
        }
        Ok(Self::Streamed(Box::new(Upload {
            body,
            left: limits.most,
            stall: StallTimer::after(limits.stall),
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
            Self::Stored(whole) | Self::StoredOnce(whole) => SizeHint::with_exact(whole.size()),
            Self::Streamed(upload) => upload.size_hint(),
        }
    }
}

/// Reason why the body of an answer is not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerFault {
    /// The replica ended the answer before its end.
    #[error("the answer is not complete: {0}")]
    Cut(ConnectionError),
    /// The replica sent no further bytes for too long.
    #[error("no further bytes of the answer arrived")]
    Stalled,
    /// No replica was able to send the rest of an object.
    #[error("{0}")]
    Parts(RangesError),
}

/// Answer of a replica that is forwarded while it arrives.
pub(super) struct Download {
    body: ConnectionBody<RequestBody>,
    stall: StallTimer,
}

impl Body for Download {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.stall.moved();
                Poll::Ready(frame.map(|frame| frame.map_err(AnswerFault::Cut)))
            }
            Poll::Pending => {
                ready!(self.stall.poll(cx));
                Poll::Ready(Some(Err(AnswerFault::Stalled)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of a replica's answer.
pub(super) enum ReplicaBody {
    Stored(StoredBody),
    Streamed(Box<Download>),
}

impl ReplicaBody {
    /// Reads the body of an answer to its end, if its length is known and at most `most`. Otherwise the body is
    /// forwarded.
    pub async fn take(
        body: ConnectionBody<RequestBody>,
        most: u64,
        stall: Duration,
    ) -> Result<Self, AnswerFault> {
        if body.is_end_stream() {
            return Ok(Self::Stored(StoredBody::default()));
        }
        let mut download = Download {
            body,
            stall: StallTimer::after(stall),
        };
        // A small answer counts only when it is complete. So another copy can replace an answer that ends early.
        let length = download.size_hint().exact();
        // hyper and h2 deliver at most the announced length, so `collect` always returns the whole body here.
        if length.is_some_and(|length| length <= most)
            && let Some(whole) = collect(&mut download, most).await?
        {
            return Ok(Self::Stored(whole));
        }
        Ok(Self::Streamed(Box::new(download)))
    }
}

impl Body for ReplicaBody {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match &mut *self {
            Self::Stored(whole) => Poll::Ready(whole.next()),
            Self::Streamed(download) => Pin::new(&mut **download).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stored(whole) => whole.is_over(),
            Self::Streamed(download) => download.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Stored(whole) => SizeHint::with_exact(whole.size()),
            Self::Streamed(download) => download.size_hint(),
        }
    }
}

/// Body of the answer to a client.
pub(super) enum ResponseBody {
    /// Text that the gateway itself has written.
    Text(StoredBody),
    /// Answer of a replica. The request counts as open until the body has been read to its end.
    Replica {
        body: Box<AnswerBody<ReplicaBody>>,
        _permit: OwnedSemaphorePermit,
    },
    /// Object whose parts may come from several replicas. The request counts as open until the body has been read.
    Object {
        body: Box<RangesBody<ReplicaBody>>,
        _permit: OwnedSemaphorePermit,
    },
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match &mut *self {
            Self::Text(whole) => Poll::Ready(whole.next()),
            Self::Replica { body, .. } => Pin::new(&mut **body).poll_frame(cx),
            Self::Object { body, .. } => {
                let frame = ready!(Pin::new(&mut **body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(AnswerFault::Parts)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text(whole) => whole.is_over(),
            Self::Replica { body, .. } => body.is_end_stream(),
            Self::Object { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(whole) => SizeHint::with_exact(whole.size()),
            Self::Replica { body, .. } => body.size_hint(),
            Self::Object { body, .. } => body.size_hint(),
        }
    }
}
