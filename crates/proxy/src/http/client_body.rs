//! Body of a client's request. If the request is answered before the body has arrived, the rest is read and dropped.
//! A server that stops reading at once resets the stream (HTTP/2), or closes the connection (HTTP/1.1).
//! Many clients then report the reset, and not the answer that they have received before.

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Longest time for which the rest of a body is read and dropped.
/// The answer needs a round trip until its client stops sending. A longer time would keep the stream open for longer.
const LINGER: Duration = Duration::from_secs(2);

/// Body of a client's request.
#[derive(Debug)]
pub struct ClientBody {
    /// `None`: the body has ended, or the rest is read in another task.
    body: Option<Incoming>,
    /// Whether the client sends the body. With `Expect: 100-continue`, it begins only when the body is read.
    is_sending: bool,
}

impl ClientBody {
    /// Takes the body of a request with these fields.
    pub(super) fn new(body: Incoming, headers: &HeaderMap) -> Self {
        Self {
            body: Some(body),
            is_sending: !headers.contains_key(header::EXPECT),
        }
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_sending = true;
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = std::task::ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        let body = self.body.take().filter(|body| !body.is_end_stream());
        // Without a runtime no task can read the rest.
        if self.is_sending
            && let Some(mut body) = body
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let rest = async {
                    while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                    }
                };
                // After this time, the body is dropped, which ends the stream.
                let _ = tokio::time::timeout(LINGER, rest).await;
            });
        }
    }
}
