//! One replica of a gateway: a way to it, and what is held against its answers.

use super::body::{AnswerFault, Ask, Given, Whole};
use super::pool::Dial;
use crate::hop;
use crate::ways::{Way, WayError};
use http::{Method, Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_proxy::metrics::Counter;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

/// What a replica has been asked.
#[derive(Default, Debug)]
pub(super) struct Counts {
    pub asked: Counter,
    pub failed: Counter,
}

/// A way to a replica. Clones share its connections.
#[derive(Clone)]
pub(super) struct Upstream {
    pub way: Way<Dial, Ask>,
    pub counts: Arc<Counts>,
    /// In which an answer has to begin, and each part of it has to come.
    pub time: Duration,
    /// Bytes of an answer that is taken whole before it counts as one.
    pub whole: u64,
}

/// Why a replica gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Way(WayError),
    /// It took too long.
    #[error("the answer did not begin")]
    Slow,
    /// It ended in the middle.
    #[error("{0}")]
    Answer(AnswerFault),
}

impl Service<Request<Ask>> for Upstream {
    type Response = Response<Given>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Ask>) -> Self::Future {
        let (mut way, counts) = (self.way.clone(), Arc::clone(&self.counts));
        let (time, whole) = (self.time, self.whole);
        Box::pin(async move {
            counts.asked.inc();
            let progress = request.body().progress();
            let is_head = request.method() == Method::HEAD;
            let mut answering = way.call(request);
            let mut due = Instant::now() + time;
            let answer = loop {
                if let Ok(answer) = timeout_at(due, &mut answering).await {
                    break answer.map_err(Failure::Way);
                }
                // An upload takes as long as it takes, while it moves.
                let moved = progress.as_ref().map(|progress| progress.latest() + time);
                match moved.filter(|moved| *moved > due) {
                    Some(later) => due = later,
                    None => break Err(Failure::Slow),
                }
            };
            let taken = match answer {
                Ok(answer) => {
                    let (mut parts, body) = answer.into_parts();
                    hop::drop_fields(&mut parts.headers);
                    let given = match is_head {
                        // The length that it tells is another answer's.
                        true => Ok(Given::Whole(Whole::default())),
                        false => Given::take(body, whole, time).await,
                    };
                    given
                        .map(|given| Response::from_parts(parts, given))
                        .map_err(Failure::Answer)
                }
                Err(failure) => Err(failure),
            };
            if taken.is_err() {
                counts.failed.inc();
            }
            taken
        })
    }
}
