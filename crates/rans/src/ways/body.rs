//! The body of an answer that came on a way: it reports its end to the connection.

use super::error::WayError;
use super::exchange::Download;
use super::one::Borrowed;
use super::two::Stream;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

enum Source<B: Send + 'static> {
    /// With what is left of its connection until the answer was taken whole.
    One(Incoming, Option<Borrowed<B>>),
    Two(Download<B>, Option<Stream>),
    /// It is being dropped.
    None,
}

/// An answer's body. Dropping it before its end purges the request.
pub struct WayBody<B: Send + 'static>(Source<B>);

impl<B: Send + 'static> WayBody<B> {
    pub(super) fn one(body: Incoming, borrowed: Borrowed<B>) -> Self {
        let mut answer = Self(Source::One(body, Some(borrowed)));
        answer.note_end();
        answer
    }

    pub(super) fn two(body: Download<B>, stream: Stream) -> Self {
        let mut answer = Self(Source::Two(body, Some(stream)));
        answer.note_end();
        answer
    }

    fn has_ended(&self) -> bool {
        match &self.0 {
            Source::One(body, _) => body.is_end_stream(),
            Source::Two(body, _) => body.has_ended(),
            Source::None => true,
        }
    }

    fn note_end(&mut self) {
        if self.has_ended() {
            self.end();
        }
    }

    /// The answer was taken whole.
    fn end(&mut self) {
        match &mut self.0 {
            Source::One(_, borrowed) => {
                if let Some(borrowed) = borrowed.take() {
                    borrowed.give_back();
                }
            }
            Source::Two(_, stream) => {
                if let Some(stream) = stream.take() {
                    stream.end();
                }
            }
            Source::None => {}
        }
    }
}

impl<B: Send + 'static> Drop for WayBody<B> {
    fn drop(&mut self) {
        if let Source::One(body, Some(borrowed)) = std::mem::replace(&mut self.0, Source::None) {
            borrowed.linger(std::future::ready(Some(body)));
        }
    }
}

// Nothing in it is pinned but the body, which moves freely.
impl<B: Send + 'static> Unpin for WayBody<B> {}

impl<B> Body for WayBody<B>
where
    B: Body + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = WayError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WayError>>> {
        let frame = match &mut self.0 {
            Source::One(body, _) => {
                ready!(Pin::new(body).poll_frame(cx)).map(|frame| frame.map_err(WayError::http))
            }
            Source::Two(body, _) => {
                ready!(Pin::new(body).poll_frame(cx)).map(|frame| frame.map_err(WayError::http))
            }
            Source::None => None,
        };
        match &frame {
            None => self.end(),
            // The connection is of no more use.
            Some(Err(_)) => match &mut self.0 {
                Source::One(_, borrowed) => *borrowed = None,
                Source::Two(_, stream) => *stream = None,
                Source::None => {}
            },
            Some(Ok(_)) => self.note_end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::One(body, _) => body.size_hint(),
            Source::Two(body, _) => body.length(),
            Source::None => SizeHint::with_exact(0),
        }
    }
}

impl<B: Send + 'static> fmt::Debug for WayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WayBody").finish_non_exhaustive()
    }
}
