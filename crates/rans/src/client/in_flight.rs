//! Value that counts a copy as in flight until its replica has answered completely.

use super::shared::Shared;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Counts a copy as in flight at its replica, until this value is dropped.
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    replica: usize,
}

impl InFlight {
    pub(super) fn begin(shared: Arc<Shared>, replica: usize) -> Self {
        shared.lock().on_sent(replica);
        Self { shared, replica }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.lock().stats[self.replica].in_flight -= 1;
    }
}

pin_project_lite::pin_project! {
    /// Body of an answer. The replica counts as busy until the body has been read to its end or is dropped.
    pub struct AnswerBody<R> {
        #[pin]
        body: R,
        flight: Option<InFlight>,
    }
}

impl<R> AnswerBody<R> {
    pub(crate) fn new(body: R, flight: InFlight) -> Self {
        let flight = Some(flight);
        Self { body, flight }
    }

    /// Returns the replica that sends the body. Returns `None` after the end of the body.
    pub(crate) fn replica(&self) -> Option<usize> {
        self.flight.as_ref().map(|flight| flight.replica)
    }

    /// Returns the body, and the value that counts its request as in flight.
    pub(crate) fn into_parts(self) -> (R, Option<InFlight>) {
        (self.body, self.flight)
    }
}

impl<R: Body> Body for AnswerBody<R> {
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(cx));
        if frame.is_none() {
            *this.flight = None;
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

impl<R> std::fmt::Debug for AnswerBody<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerBody").finish_non_exhaustive()
    }
}
