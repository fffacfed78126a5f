//! Body of a guarded answer. It occupies the worker until it has been read to its end.

use super::config::OnCancel;
use super::shared::{QueueTicket, Refusal};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Body of an answer. Dropping it before its end purges the request.
pub struct GuardedBody<R: Body + Send + 'static>
where
    R::Data: Send,
{
    content: Content<R>,
}

enum Content<R> {
    /// Answer of the service.
    Own(Pin<Box<R>>, QueueTicket),
    /// Text of a refusal. The service has not received the request.
    Refusal(Option<Bytes>),
    Over,
}

impl<R: Body + Send + 'static> GuardedBody<R>
where
    R::Data: Send,
{
    pub(super) fn new(body: R, ticket: QueueTicket) -> Self {
        let mut answer = Self {
            content: Content::Own(Box::pin(body), ticket),
        };
        // A server does not poll an empty body, so the end has to be recorded here.
        answer.note_end();
        answer
    }

    pub(super) fn refusal(refusal: Refusal) -> Self {
        let text = match refusal {
            Refusal::Optional => "optional work is refused while all workers are busy\n",
            Refusal::Full => "too many requests wait\n",
            Refusal::Late => "no worker was free in time\n",
        };
        Self {
            content: Content::Refusal(Some(Bytes::from_static(text.as_bytes()))),
        }
    }

    /// Records that the answer is complete. A server drops a body that reports its end, and does not poll it again.
    /// Without this record, the drop would count as a purge.
    fn note_end(&mut self) {
        if let Content::Own(body, ticket) = &mut self.content
            && body.is_end_stream()
        {
            ticket.done();
            self.content = Content::Over;
        }
    }
}

impl<R: Body + Send + 'static> Body for GuardedBody<R>
where
    R::Data: Send,
{
    type Data = Chunk<R::Data>;
    type Error = R::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, R::Error>>> {
        match &mut self.content {
            Content::Over => Poll::Ready(None),
            Content::Refusal(text) => {
                let frame = text
                    .take()
                    .map(|text| Ok(Frame::data(Chunk::Refusal(text))));
                Poll::Ready(frame)
            }
            Content::Own(body, ticket) => {
                let frame = std::task::ready!(body.as_mut().poll_frame(cx));
                if frame.is_none() {
                    ticket.done();
                    self.content = Content::Over;
                } else {
                    self.note_end();
                }
                Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(Chunk::Own))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Own(body, _) => body.is_end_stream(),
            Content::Refusal(text) => text.is_none(),
            Content::Over => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Own(body, _) => body.size_hint(),
            Content::Refusal(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            Content::Over => SizeHint::with_exact(0),
        }
    }
}

impl<R: Body + Send + 'static> Drop for GuardedBody<R>
where
    R::Data: Send,
{
    fn drop(&mut self) {
        // With `HoldSlot` the service runs to its end.
        // So the remaining answer is read and dropped, and the ticket occupies the worker until then.
        if let Content::Own(mut body, ticket) = std::mem::replace(&mut self.content, Content::Over)
            && ticket.on_cancel() == OnCancel::HoldSlot
            // Without a runtime no task can read the remaining body.
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let hold = ticket.hold();
            runtime.spawn(async move {
                let rest = async {
                    while let Some(Ok(_)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {}
                };
                // After this time, the remaining answer is dropped.
                let _ = tokio::time::timeout(hold, rest).await;
                drop(ticket);
            });
        }
    }
}

impl<R: Body + Send + 'static> fmt::Debug for GuardedBody<R>
where
    R::Data: Send,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedBody").finish_non_exhaustive()
    }
}

/// Bytes of an answer, from the service or from the guard.
#[derive(Clone, Debug)]
pub enum Chunk<D> {
    /// Bytes from the service.
    Own(D),
    /// Text with which the guard refuses a request.
    Refusal(Bytes),
}

impl<D: bytes::Buf> bytes::Buf for Chunk<D> {
    fn remaining(&self) -> usize {
        match self {
            Self::Own(own) => own.remaining(),
            Self::Refusal(text) => text.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Own(own) => own.chunk(),
            Self::Refusal(text) => text.chunk(),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Own(own) => own.advance(count),
            Self::Refusal(text) => text.advance(count),
        }
    }
}
