//! Body of a guarded answer. It occupies the worker until it has been read to its end.

use super::config::OnCancel;
use super::shared::{QueueTicket, Refusal};
use crate::client_wait::EndAnswer;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

/// Body of an answer. Dropping it before its end purges the request.
pub struct GuardedBody<R: Body + Send + 'static>
where
    R::Data: Send,
{
    content: Content<R>,
}

enum Content<R: Body + Send + 'static>
where
    R::Data: Send,
{
    /// Answer of the service.
    Own(Arc<OwnAnswer<R>>),
    /// Text of a refusal. The service has not received the request.
    Refusal(Option<Bytes>),
}

/// Answer of the service. The guard shares it with the task of the client, so that it can end the answer.
struct OwnAnswer<R: Body + Send + 'static>(Mutex<Answer<R>>)
where
    R::Data: Send;

enum Answer<R> {
    /// The service still sends the answer.
    Open(Pin<Box<R>>, QueueTicket),
    /// The client has got the whole answer.
    Over,
    /// The guard has ended the answer in favour of another client.
    Displaced,
}

impl<R> Answer<R> {
    /// Replaces the answer, and returns its body and ticket if it was open.
    fn replace(&mut self, by: Self) -> Option<(Pin<Box<R>>, QueueTicket)> {
        match std::mem::replace(self, by) {
            Self::Open(body, ticket) => Some((body, ticket)),
            Self::Over | Self::Displaced => None,
        }
    }
}

impl<R: Body + Send + 'static> OwnAnswer<R>
where
    R::Data: Send,
{
    fn lock(&self) -> MutexGuard<'_, Answer<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Body + Send + 'static> EndAnswer for OwnAnswer<R>
where
    R::Data: Send,
{
    fn end(&self) {
        let mut answer = self.lock();
        // The client may have taken a part in the meantime.
        if !matches!(&*answer, Answer::Open(_, ticket) if ticket.is_stuck()) {
            return;
        }
        let open = answer.replace(Answer::Displaced);
        // The code of the service must not run under the lock.
        drop(answer);
        if let Some((body, mut ticket)) = open {
            ticket.displaced();
            purge(body, ticket);
        }
    }
}

/// Drops an answer that no client reads any more.
fn purge<R>(mut body: Pin<Box<R>>, ticket: QueueTicket)
where
    R: Body + Send + 'static,
    R::Data: Send,
{
    // With `HoldSlot` the service runs to its end.
    // So the remaining answer is read and dropped, and the ticket occupies the worker until then.
    if ticket.on_cancel() == OnCancel::HoldSlot
        // Without a runtime no task can read the remaining body.
        && let Ok(runtime) = tokio::runtime::Handle::try_current()
    {
        ticket.wait().taken();
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

impl<R: Body + Send + 'static> GuardedBody<R>
where
    R::Data: Send,
{
    pub(super) fn new(body: R, mut ticket: QueueTicket) -> Self {
        let wait = Arc::clone(ticket.wait());
        // A server does not poll an empty body, so the end has to be recorded here.
        let answer = match body.is_end_stream() {
            true => {
                ticket.done();
                Answer::Over
            }
            false => Answer::Open(Box::pin(body), ticket),
        };
        let answer = Arc::new(OwnAnswer(Mutex::new(answer)));
        // Over HTTP/2, the body is polled only when the window of the stream is open.
        wait.awaits_taking();
        let ending = Arc::downgrade(&answer);
        wait.answered(ending as Weak<dyn EndAnswer>);
        Self {
            content: Content::Own(answer),
        }
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
}

impl<R: Body + Send + 'static> Body for GuardedBody<R>
where
    R::Data: Send,
{
    type Data = Chunk<R::Data>;
    type Error = AnswerError<R::Error>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let own = match &mut self.content {
            Content::Own(own) => own,
            Content::Refusal(text) => {
                let frame = text
                    .take()
                    .map(|text| Ok(Frame::data(Chunk::Refusal(text))));
                return Poll::Ready(frame);
            }
        };
        let mut answer = own.lock();
        let (body, ticket) = match &mut *answer {
            Answer::Open(body, ticket) => (body, ticket),
            Answer::Over => return Poll::Ready(None),
            Answer::Displaced => return Poll::Ready(Some(Err(AnswerError::Displaced))),
        };
        ticket.wait().taken();
        let frame = std::task::ready!(body.as_mut().poll_frame(cx));
        // A server drops a body that reports its end, and does not poll it again.
        // Without this record, the drop would count as a purge.
        if frame.is_none() || body.is_end_stream() {
            ticket.done();
            *answer = Answer::Over;
        } else {
            ticket.wait().awaits_taking();
        }
        let frame = frame.map(|frame| frame.map(|frame| frame.map_data(Chunk::Own)));
        Poll::Ready(frame.map(|frame| frame.map_err(AnswerError::Service)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Own(own) => match &*own.lock() {
                Answer::Open(body, _) => body.is_end_stream(),
                Answer::Over => true,
                Answer::Displaced => false,
            },
            Content::Refusal(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Own(own) => match &*own.lock() {
                Answer::Open(body, _) => body.size_hint(),
                Answer::Over => SizeHint::with_exact(0),
                Answer::Displaced => SizeHint::default(),
            },
            Content::Refusal(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}

impl<R: Body + Send + 'static> Drop for GuardedBody<R>
where
    R::Data: Send,
{
    fn drop(&mut self) {
        if let Content::Own(own) = &self.content {
            let open = own.lock().replace(Answer::Over);
            if let Some((body, ticket)) = open {
                purge(body, ticket);
            }
        }
    }
}

/// Reason why a guarded answer is not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerError<E> {
    /// Error of the service.
    Service(E),
    /// The client took nothing of the answer for too long, and another client needed the worker.
    Displaced,
}

impl<E: fmt::Display> fmt::Display for AnswerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(error) => error.fmt(f),
            Self::Displaced => f.write_str("another client needed the worker of the answer"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for AnswerError<E> {}

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
