//! Connections from a gateway to one replica, with the time limit and the counters of its answers.

use super::body::{AnswerFault, ReplicaBody};
use super::grpc::{self, NonFatal, Throttle, Verdict};
use super::pool::Dial;
use crate::connection_fields;
use crate::connections::{ConnectionError, Connections};
use crate::reason::Reason;
use crate::request_log::{Attempts, Server};
use crate::stored_body::StoredBody;
use crate::upload::{RequestBody, begins_within};
use crate::via::names_guard;
use http::{HeaderMap, Method, Request, Response};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_proxy::Address;
use tailcut_proxy::log::Log;
use tailcut_proxy::metrics::Counter;
use tower_service::Service;

/// Counters of a replica.
#[derive(Default, Debug)]
pub(super) struct Counts {
    pub requests: Counter,
    pub failed: Counter,
    /// Failures by their reason.
    reasons: Mutex<BTreeMap<Reason, u64>>,
    /// Reason of the latest failure.
    latest: Mutex<Option<Reason>>,
}

impl Counts {
    fn fail(&self, reason: Reason) {
        self.failed.inc();
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        *reasons.entry(reason).or_default() += 1;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Returns the reason of the latest failure.
    pub fn latest(&self) -> Option<Reason> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of failures for each reason.
    pub fn reasons(&self) -> BTreeMap<Reason, u64> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.clone()
    }
}

/// Connections to a replica. Clones share the connections.
#[derive(Clone)]
pub(super) struct Upstream {
    pub connections: Connections<Dial, RequestBody>,
    /// Name and address of the replica in logs.
    pub name: Arc<str>,
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
    log: Log,
    route: String,
    replica: String,
    is_written: AtomicBool,
}

impl Warning {
    pub fn new(log: &Log, route: &str, replica: &Address) -> Self {
        Self {
            log: log.clone(),
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
            self.log.errors(|| {
                let (route, replica) = (self.route.as_str(), self.replica.as_str());
                tracing::warn!(
                    route,
                    replica,
                    "a replica has no guard, so its copies delay other requests; \
                     `budget` limits them, although `purges` is \"yes\""
                );
            });
        }
    }
}

/// Mark of a call of gRPC that may be hedged: an extension of the request.
#[derive(Clone)]
pub(super) struct Hedged(pub Arc<Throttle>, pub NonFatal);

impl Hedged {
    /// Judges an answer, and counts it.
    fn judge(&self, answer: &Response<ReplicaBody>) -> Verdict {
        let Self(throttle, codes) = self;
        let verdict = grpc::judge(answer.status(), answer.headers(), *codes);
        throttle.note(verdict != Verdict::Final);
        verdict
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
    /// The answer to a call of gRPC has a code that is not fatal. The answer has only a head.
    #[error("the code of the answer is not fatal")]
    Code(Box<http::response::Parts>),
}

impl From<&Failure> for Reason {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Connection(error) => error.into(),
            Failure::Slow => Self::AnswerTimeout,
            Failure::Code(_) => Self::Code,
            Failure::Answer(fault) => fault.into(),
        }
    }
}

impl Service<Request<RequestBody>> for Upstream {
    type Response = Response<ReplicaBody>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        let (mut connections, counts) = (self.connections.clone(), Arc::clone(&self.counts));
        let (time, whole, warning) = (self.time, self.whole, self.warning.clone());
        let name = Arc::clone(&self.name);
        // Checks of replicas have no record.
        let attempts = request.extensions().get::<Arc<Attempts>>().cloned();
        Box::pin(async move {
            counts.requests.inc();
            let hedged = request.extensions_mut().remove::<Hedged>();
            if let Some(attempts) = &attempts {
                let earlier = attempts.begin();
                if hedged.is_some() && earlier > 0 {
                    let earlier = grpc::attempts(earlier);
                    request.headers_mut().insert(grpc::ATTEMPTS, earlier);
                }
            }
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
            let verdict = match (&hedged, &taken) {
                (Some(hedged), Ok(answer)) => hedged.judge(answer),
                _ => Verdict::Final,
            };
            let taken = match (verdict, taken) {
                (Verdict::Again(wait), Ok(answer)) => {
                    let head = answer.into_parts().0;
                    // The next copy is sent when this one has failed, so the wait that the server wants is here.
                    tokio::time::sleep(wait.min(time)).await;
                    Err(Failure::Code(Box::new(head)))
                }
                (_, taken) => taken,
            };
            match taken {
                Ok(mut answer) => {
                    answer.extensions_mut().insert(Server(name));
                    Ok(answer)
                }
                Err(failure) => {
                    // A body that did not arrive is the fault of the client.
                    let fault = progress.and_then(|progress| progress.fault());
                    let reason = fault.map_or_else(|| Reason::from(&failure), Reason::from);
                    counts.fail(reason);
                    if let Some(attempts) = &attempts {
                        attempts.fail(&name, reason, &failure);
                    }
                    Err(failure)
                }
            }
        })
    }
}
