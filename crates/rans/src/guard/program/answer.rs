//! Answers to requests that a guard refuses before they wait for a worker.

use super::forward::ForwardedBody;
use crate::connections::ConnectionError;
use crate::guard::{AnswerError, Chunk, GuardedBody, Refusal};
use crate::reason::Reason;
use crate::request_head;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Body of an answer of the guard.
pub(super) enum ProgramBody {
    /// Answer to a request that has waited for a worker.
    Guarded(GuardedBody<ForwardedBody>),
    /// Text of a refusal.
    Refusal(Option<Bytes>),
}

/// Returns the answer to a request that is refused.
pub(super) fn refused(refusal: request_head::Refusal) -> Response<ProgramBody> {
    let text = Bytes::from_static(refusal.1.as_bytes());
    refusal.answer(ProgramBody::Refusal(Some(text)))
}

impl From<&AnswerError<Box<dyn Error + Send + Sync>>> for Reason {
    fn from(error: &AnswerError<Box<dyn Error + Send + Sync>>) -> Self {
        match error {
            AnswerError::Displaced => Self::Displaced,
            AnswerError::Service(error) if error.is::<ConnectionError>() => Self::AnswerCut,
            AnswerError::Service(_) => Self::AnswerStalled,
        }
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Optional => Self::Optional,
            Refusal::Full => Self::QueueFull,
            Refusal::Late => Self::QueueTimeout,
        }
    }
}

impl Body for ProgramBody {
    type Data = Chunk<Bytes>;
    type Error = AnswerError<Box<dyn Error + Send + Sync>>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut *self {
            Self::Guarded(body) => Pin::new(body).poll_frame(cx),
            Self::Refusal(text) => {
                let frame = text.take();
                Poll::Ready(frame.map(|text| Ok(Frame::data(Chunk::Refusal(text)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Guarded(body) => body.is_end_stream(),
            Self::Refusal(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Guarded(body) => body.size_hint(),
            Self::Refusal(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}
