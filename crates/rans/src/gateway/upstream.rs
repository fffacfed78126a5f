//! Connections from a gateway to one replica, with the time limit and the counters of its answers.

use super::body::{AnswerFault, ReplicaBody};
use super::pool::Dial;
use crate::connection_fields;
use crate::connections::{ConnectionError, Connections};
use crate::stored_body::StoredBody;
use crate::upload::{RequestBody, begins_within};
use crate::via::names_guard;
use http::{HeaderMap, Method, Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_proxy::Endpoint;
use tailcut_proxy::metrics::Counter;
use tower_service::Service;

/// Counters of a replica.
#[derive(Default, Debug)]
pub(super) struct Counts {
    pub requests: Counter,
    pub failed: Counter,
}

/// Connections to a replica. Clones share the connections.
#[derive(Clone)]
pub(super) struct Upstream {
    pub connections: Connections<Dial, RequestBody>,
    pub counts: Arc<Counts>,
    /// Longest time until an answer begins, and until each further part of it arrives.
    pub time: Duration,
    /// Size in bytes of the largest answer that counts only after it has arrived completely.
    pub whole: u64,
    /// Warning about a replica without a guard, if the configuration says that the replica purges.
    pub warning: Option<Arc<Warning>>,
}

/// Warning that a replica purges, but has no guard. It is written once.
#[derive(Debug)]
pub(super) struct Warning {
    route: String,
    replica: String,
    is_written: AtomicBool,
}

impl Warning {
    pub fn new(route: &str, replica: &Endpoint) -> Self {
        Self {
            route: route.to_owned(),
            replica: replica.to_string(),
            is_written: AtomicBool::new(false),
        }
    }

    /// Writes the warning if this is the first answer without the name of a guard.
    fn check(&self, headers: &HeaderMap) {
        if !self.is_written.load(Ordering::Relaxed)
            && !names_guard(headers)
            && !self.is_written.swap(true, Ordering::Relaxed)
        {
            eprintln!(
                "tailcut gateway: route {}: replica {} has no guard, so its copies delay other requests; \
                 `budget` limits them, although `purges` is \"yes\"",
                self.route, self.replica
            );
        }
    }
}

/// Reason why a replica gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Connection(ConnectionError),
    /// The answer did not begin in time.
    #[error("the answer did not begin")]
    Slow,
    /// The answer ended early.
    #[error("{0}")]
    Answer(AnswerFault),
}

impl Service<Request<RequestBody>> for Upstream {
    type Response = Response<ReplicaBody>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let (mut connections, counts) = (self.connections.clone(), Arc::clone(&self.counts));
        let (time, whole, warning) = (self.time, self.whole, self.warning.clone());
        Box::pin(async move {
            counts.requests.inc();
            let progress = request.body().progress();
            let is_head = request.method() == Method::HEAD;
            let answering = connections.call(request);
            let answer = begins_within(answering, progress.as_deref(), time).await;
            let answer = match answer {
                Some(answer) => answer.map_err(Failure::Connection),
                None => Err(Failure::Slow),
            };
            let taken = match answer {
                Ok(answer) => {
                    let (mut parts, body) = answer.into_parts();
                    if let Some(warning) = warning {
                        warning.check(&parts.headers);
                    }
                    connection_fields::remove(&mut parts.headers);
                    let body = match is_head {
                        // The length in an answer to HEAD belongs to the body of another answer: the answer to GET.
                        true => Ok(ReplicaBody::Stored(StoredBody::default())),
                        false => ReplicaBody::take(body, whole, time).await,
                    };
                    body.map(|body| Response::from_parts(parts, body))
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
