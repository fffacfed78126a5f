//! Bodies of requests that may be sent more than once.

use http_body::Body;
use http_body_util::{Empty, Full};

/// Body of a request that can be sent to two replicas.
pub trait Replay: Body + Sized {
    /// Returns the same body again, or `None` if the body can be sent only once.
    /// A request with such a body is not copied.
    fn replay(&self) -> Option<Self>;
}

impl<D: bytes::Buf> Replay for Empty<D> {
    fn replay(&self) -> Option<Self> {
        Some(Self::new())
    }
}

impl<D: bytes::Buf + Clone> Replay for Full<D> {
    fn replay(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Replay for String {
    fn replay(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Body that can be sent only once, such as a stream.
#[derive(Clone, Copy, Debug)]
pub struct Once<B>(pub B);

impl<B: Body + Unpin> Body for Once<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<B::Data>, B::Error>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.0.size_hint()
    }
}

impl<B: Body + Unpin> Replay for Once<B> {
    fn replay(&self) -> Option<Self> {
        None
    }
}
