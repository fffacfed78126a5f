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
    fn end(self) {
        match self {
            Self::One(borrowed) => borrowed.give_back(),
            Self::Two(stream) => stream.end(),
        }
    }
}

/// An answer's body. Dropping it before its end purges the request.
pub struct WayBody<B> {
    body: Incoming,
    lease: Option<Lease<B>>,
}

impl<B> WayBody<B> {
    pub(super) fn new(body: Incoming, lease: Lease<B>) -> Self {
        let mut answer = Self {
            body,
            lease: Some(lease),
        };
        answer.note_end();
        answer
    }

    fn note_end(&mut self) {
        if self.body.is_end_stream()
            && let Some(lease) = self.lease.take()
        {
            lease.end();
        }
    }
}

// Nothing in it is pinned but the body, which moves freely.
impl<B> Unpin for WayBody<B> {}

impl<B> Body for WayBody<B> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => {
                if let Some(lease) = self.lease.take() {
                    lease.end();
                }
            }
            Some(_) => self.note_end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> fmt::Debug for WayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WayBody").finish_non_exhaustive()
    }
}
