//! Body of an answer. When it ends, the connection becomes free for the next request.

use super::error::ConnectionError;
use super::http1::LeasedConnection;
use super::http2::Stream;
use super::http2_request::Download;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

enum Source<B: Send + 'static> {
    /// Body over HTTP/1.1, with its connection until the body has been read to its end.
    Http1(Incoming, Option<LeasedConnection<B>>),
    Http2(Download<B>, Option<Stream>),
    /// State while the body is being dropped.
    None,
}

/// Body of an answer. Dropping it before its end purges the request.
pub struct ConnectionBody<B: Send + 'static>(Source<B>);

impl<B: Send + 'static> ConnectionBody<B> {
    pub(super) fn http1(body: Incoming, leased: LeasedConnection<B>) -> Self {
        let mut answer = Self(Source::Http1(body, Some(leased)));
        answer.note_end();
        answer
    }

    pub(super) fn http2(body: Download<B>, stream: Stream) -> Self {
        let mut answer = Self(Source::Http2(body, Some(stream)));
        answer.note_end();
        answer
    }

    fn has_ended(&self) -> bool {
        match &self.0 {
            Source::Http1(body, _) => body.is_end_stream(),
            Source::Http2(body, _) => body.has_ended(),
            Source::None => true,
        }
    }

    fn note_end(&mut self) {
        if self.has_ended() {
            self.end();
        }
    }

    /// Frees the connection after the whole answer has been read.
    fn end(&mut self) {
        match &mut self.0 {
            Source::Http1(_, leased) => {
                if let Some(leased) = leased.take() {
                    leased.release();
                }
            }
            Source::Http2(_, stream) => {
                if let Some(stream) = stream.take() {
                    stream.end();
                }
            }
            Source::None => {}
        }
    }
}

impl<B: Send + 'static> Drop for ConnectionBody<B> {
    fn drop(&mut self) {
        if let Source::Http1(body, Some(leased)) = std::mem::replace(&mut self.0, Source::None) {
            leased.linger(std::future::ready(Some(body)));
        }
    }
}

// Only the body is pinned, and it is `Unpin`.
impl<B: Send + 'static> Unpin for ConnectionBody<B> {}

impl<B> Body for ConnectionBody<B>
where
    B: Body + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = ConnectionError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionError>>> {
        let frame = match &mut self.0 {
            Source::Http1(body, _) => ready!(Pin::new(body).poll_frame(cx))
                .map(|frame| frame.map_err(ConnectionError::http)),
            Source::Http2(body, _) => ready!(Pin::new(body).poll_frame(cx))
                .map(|frame| frame.map_err(ConnectionError::http)),
            Source::None => None,
        };
        match &frame {
            None => self.end(),
            // The connection has failed and cannot be used again.
            // With HTTP/2, the error counts as a reset, so a connection with many errors is replaced.
            Some(Err(_)) => match &mut self.0 {
                Source::Http1(_, leased) => *leased = None,
                Source::Http2(_, stream) => *stream = None,
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
            Source::Http1(body, _) => body.size_hint(),
            Source::Http2(body, _) => body.length(),
            Source::None => SizeHint::with_exact(0),
        }
    }
}

impl<B: Send + 'static> fmt::Debug for ConnectionBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionBody").finish_non_exhaustive()
    }
}
