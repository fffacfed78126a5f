//! Bodies on their way through a gateway: small ones are kept whole, so that they can be sent again, others
//! are handed on as they come.

use crate::client::{AnswerBody, Replay};
use crate::ranges::{RangesBody, RangesError};
use crate::ways::{WayBody, WayError};
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

/// A body that is there as a whole.
#[derive(Clone, Default, Debug)]
pub(super) struct Whole {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl From<&'static str> for Whole {
    fn from(text: &'static str) -> Self {
        Self {
            data: Bytes::from_static(text.as_bytes()),
            trailers: None,
        }
    }
}

impl Whole {
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

/// Takes a body whole. `None`: it has more than `most` bytes.
async fn collect<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    most: u64,
) -> Result<Option<Whole>, B::Error> {
    let mut whole = Whole::default();
    let mut joined = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        match frame?.into_data() {
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

/// Why a client's body did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Fault {
    /// It is longer than is allowed.
    #[error("the request's body is too long")]
    TooLong = 1,
    /// It stopped to come.
    #[error("the request's body stopped to come")]
    Stalled = 2,
    /// The client ended it before its end.
    #[error("the request's body was cut")]
    Cut = 3,
}

/// How an upload goes on, for those that wait for its answer.
#[derive(Debug)]
pub(super) struct Progress {
    began: Instant,
    /// When the client's bytes came last, in milliseconds since it began.
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

    /// When the client's bytes came last.
    pub fn latest(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Relaxed))
    }
}

/// How much and how long a client may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct UploadLimits {
    /// Bytes.
    pub most: u64,
    /// Bytes of a body that is kept.
    pub kept: u64,
    /// Between two parts.
    pub stall: Duration,
}

/// Finds out that a body has stopped to come.
struct Stall {
    /// In which the next part has to come.
    time: Duration,
    /// Runs while a part is waited for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    fn after(time: Duration) -> Self {
        Self { time, timer: None }
    }

    /// A part has come.
    fn moved(&mut self) {
        self.timer = None;
    }

    /// Ready when none has come for too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let time = self.time;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer.as_mut().poll(cx)
    }
}

/// A body that is handed on as it comes.
pub(super) struct Upload {
    body: Incoming,
    left: u64,
    stall: Stall,
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

/// A request's body on its way to replicas.
pub(super) enum Ask {
    /// It can be sent again.
    Kept(Whole),
    /// It is there, and is sent once, since the request says that it is a copy itself.
    Low(Whole),
    /// It is being handed on.
    Once(Box<Upload>),
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept(_) => "Kept",
            Self::Low(_) => "Low",
            Self::Once(_) => "Once",
        })
    }
}

impl Ask {
    /// Of nothing.
    pub fn empty() -> Self {
        Self::Kept(Whole::default())
    }

    /// Takes a client's body: it is kept where its length is known and small.
    pub async fn take(
        mut body: Incoming,
        limits: UploadLimits,
        may_keep: bool,
    ) -> Result<Self, Fault> {
        if body.is_end_stream() {
            return Ok(match may_keep {
                true => Self::empty(),
                false => Self::Low(Whole::default()),
            });
        }
        let length = body.size_hint().exact();
        if length.is_some_and(|length| length > limits.most) {
            return Err(Fault::TooLong);
        }
        if may_keep && length.is_some_and(|length| length <= limits.kept) {
            // As long as it is small it has to come in one such time.
            let taking = tokio::time::timeout(limits.stall, collect(&mut body, limits.kept));
            return match taking.await {
                Ok(Ok(Some(whole))) => Ok(Self::Kept(whole)),
                Ok(Ok(None)) => Err(Fault::TooLong),
                Ok(Err(_)) => Err(Fault::Cut),
                Err(_) => Err(Fault::Stalled),
            };
        }
        Ok(Self::Once(Box::new(Upload {
            body,
            left: limits.most,
            stall: Stall::after(limits.stall),
            progress: Progress::new(),
        })))
    }

    /// How it goes on, where it is handed on.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        match self {
            Self::Kept(_) | Self::Low(_) => None,
            Self::Once(upload) => Some(Arc::clone(&upload.progress)),
        }
    }
}

impl Replay for Ask {
    fn replay(&self) -> Option<Self> {
        match self {
            Self::Kept(whole) => Some(Self::Kept(whole.clone())),
            Self::Low(_) | Self::Once(_) => None,
        }
    }
}

impl Body for Ask {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match &mut *self {
            Self::Kept(whole) | Self::Low(whole) => Poll::Ready(whole.next()),
            Self::Once(upload) => Pin::new(&mut **upload).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Kept(whole) | Self::Low(whole) => whole.is_over(),
            Self::Once(upload) => upload.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Kept(whole) | Self::Low(whole) => SizeHint::with_exact(whole.size()),
            Self::Once(upload) => upload.size_hint(),
        }
    }
}

/// An answer's body, or what became of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerFault {
    /// The replica ended it before its end.
    #[error("the answer was cut: {0}")]
    Cut(WayError),
    /// The replica stopped to send it.
    #[error("the answer stopped to come")]
    Stalled,
    /// No replica could send the rest of an object.
    #[error("{0}")]
    Parts(RangesError),
}

/// A replica's answer as it comes.
pub(super) struct Download {
    body: WayBody<Ask>,
    stall: Stall,
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

/// A replica's answer.
pub(super) enum Given {
    Whole(Whole),
    Comes(Box<Download>),
}

impl Given {
    /// Takes an answer's body: whole where its length is known and at most `most`.
    pub async fn take(body: WayBody<Ask>, most: u64, stall: Duration) -> Result<Self, AnswerFault> {
        if body.is_end_stream() {
            return Ok(Self::Whole(Whole::default()));
        }
        let mut download = Download {
            body,
            stall: Stall::after(stall),
        };
        let length = download.size_hint().exact();
        if length.is_some_and(|length| length <= most)
            && let Some(whole) = collect(&mut download, most).await?
        {
            return Ok(Self::Whole(whole));
        }
        Ok(Self::Comes(Box::new(download)))
    }
}

impl Body for Given {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.next()),
            Self::Comes(download) => Pin::new(&mut **download).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_over(),
            Self::Comes(download) => download.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => SizeHint::with_exact(whole.size()),
            Self::Comes(download) => download.size_hint(),
        }
    }
}

/// What a client gets.
pub(super) enum Reply {
    /// The gateway's own words.
    Own(Whole),
    /// A replica's answer. The request keeps its place until it was taken whole.
    Of {
        body: Box<AnswerBody<Given>>,
        _place: OwnedSemaphorePermit,
    },
    /// An object, whose parts may come from several replicas. The same holds.
    Object {
        body: Box<RangesBody<Given>>,
        _place: OwnedSemaphorePermit,
    },
}

impl Body for Reply {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match &mut *self {
            Self::Own(whole) => Poll::Ready(whole.next()),
            Self::Of { body, .. } => Pin::new(&mut **body).poll_frame(cx),
            Self::Object { body, .. } => {
                let frame = ready!(Pin::new(&mut **body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(AnswerFault::Parts)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(whole) => whole.is_over(),
            Self::Of { body, .. } => body.is_end_stream(),
            Self::Object { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(whole) => SizeHint::with_exact(whole.size()),
            Self::Of { body, .. } => body.size_hint(),
            Self::Object { body, .. } => body.size_hint(),
        }
    }
}
