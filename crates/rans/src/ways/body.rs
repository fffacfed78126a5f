//! The body of an answer that came on a way: it tells the connection how it ended.

use super::one::Borrowed;
use super::two::Stream;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What an answer holds of its connection until it was taken whole.
pub(super) enum Lease<B> {
    One(Borrowed<B>),
    Two(Stream),
}

impl<B> Lease<B> {
    /// The answer was taken whole.
    fn end(self) {
        match self {
            Self::One(borrowed) => borrowed.give_back(),
            Self::Two(stream) => stream.end(),
        }
    }
}

/// An answer's body. Dropping it before its end purges the request.
pub struct WayBody<B: Send + 'static> {
    /// `None` once it is being dropped.
    body: Option<Incoming>,
    lease: Option<Lease<B>>,
}

impl<B: Send + 'static> WayBody<B> {
    pub(super) fn new(body: Incoming, lease: Lease<B>) -> Self {
        let mut answer = Self {
            body: Some(body),
            lease: Some(lease),
        };
        answer.note_end();
        answer
    }

    fn note_end(&mut self) {
        if self.is_end_stream()
            && let Some(lease) = self.lease.take()
        {
            lease.end();
        }
    }
}

impl<B: Send + 'static> Drop for WayBody<B> {
    fn drop(&mut self) {
        if let (Some(body), Some(Lease::One(borrowed))) = (self.body.take(), self.lease.take()) {
            borrowed.linger(std::future::ready(Some(body)));
        }
    }
}

// Nothing in it is pinned but the body, which moves freely.
impl<B: Send + 'static> Unpin for WayBody<B> {}

impl<B: Send + 'static> Body for WayBody<B> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        match &frame {
            None => {
                if let Some(lease) = self.lease.take() {
                    lease.end();
                }
            }
            // The connection is of no more use.
            Some(Err(_)) => self.lease = None,
            Some(Ok(_)) => self.note_end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.as_ref().map(Body::size_hint);
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

impl<B: Send + 'static> fmt::Debug for WayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WayBody").finish_non_exhaustive()
    }
}
