//! Answers to requests that a guard refuses before they wait for a worker.

use super::forward::ForwardedBody;
use crate::guard::{Chunk, GuardedBody};
use crate::request_head::{ALLOWED, Refusal};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
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
pub(super) fn refused(Refusal(status, text): Refusal) -> Response<ProgramBody> {
    let text = Bytes::from_static(text.as_bytes());
    let mut answer = Response::new(ProgramBody::Refusal(Some(text)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        // 1 s is the shortest wait above 0 that the field can express (RFC 9110, section 10.2.3).
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, ALLOWED);
    }
    answer
}

impl Body for ProgramBody {
    type Data = Chunk<Bytes>;
    type Error = Box<dyn Error + Send + Sync>;

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
