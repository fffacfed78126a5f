//! Race of the copies of one request: the first good answer wins.

use super::in_flight::{AnswerBody, InFlight};
use super::replay::Replay;
use super::replica::{Purges, Replica};
use super::sending::{Sent, send};
use super::shared::{Beginning, Messages, Shared};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tailcut_requests::{Class, CopyId, HIGH, Purpose, RequestHeader, RequestId, Ticket, TrialEnd};
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

/// Copy that has no answer yet.
struct Running<R, E> {
    id: CopyId,
    sent: Sent<R, E>,
}

/// One request with all its copies, until the first good answer.
pub(super) struct Race<S, B, R, E>
where
    R: Send + 'static,
    E: Send + 'static,
{
    replicas: Arc<[Replica<S>]>,
    shared: Arc<Shared>,
    parts: Parts,
    /// Body of the request. The last copy takes the body out.
    body: Option<B>,
    /// Number of the request. It is set when the request has begun.
    request: Option<RequestId>,
    running: Vec<Running<R, E>>,
    /// Replicas to which the request was sent.
    tried: Vec<usize>,
    /// Whether a replica may have received the request.
    was_received: bool,
    /// Request in the trial of copies.
    ticket: Option<Ticket>,
    /// Timer that expires when the next copy is due.
    timer: Option<Pin<Box<Sleep>>>,
    /// First answer whose status was not acceptable. Without such an answer: the first error.
    unacceptable: Option<Result<Response<AnswerBody<R>>, E>>,
}

impl<S, B, R, E> Race<S, B, R, E>
where
    S: Service<Request<B>, Response = Response<R>, Error = E> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Replay + Send + 'static,
    R: Body + Send + 'static,
    E: Send + 'static,
{
    pub fn new(replicas: Arc<[Replica<S>]>, shared: Arc<Shared>, request: Request<B>) -> Self {
        let (parts, body) = request.into_parts();
        Self {
            replicas,
            shared,
            parts,
            body: Some(body),
            request: None,
            running: Vec::new(),
            tried: Vec::new(),
            was_received: false,
            ticket: None,
            timer: None,
            unacceptable: None,
        }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<AnswerBody<R>>, E>> {
        loop {
            let id = match self.request {
                Some(id) => {
                    let messages = self.shared.lock().messages(id);
                    self.send_messages(messages);
                    id
                }
                None => self.begin().expect("a client has a replica"),
            };
            if let Some(answer) = self.poll_copies(cx) {
                self.request = None;
                let is_good = answer
                    .as_ref()
                    .is_ok_and(|answer| (self.shared.config.acceptable)(answer.status()));
                self.end_trial(!is_good);
                return Poll::Ready(answer);
            }
            // `poll_copies` has sent the request to other replicas under a new number. The new copies are polled first.
            if self.request != Some(id) {
                continue;
            }
            let due = self.shared.lock().wait(id, cx.waker());
            let Some(due) = due else {
                return Poll::Pending;
            };
            let at = self.shared.instant(due);
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            // A reset of the timer is registered at the runtime, which has a cost.
            // The reset is skipped if the time is the same.
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            self.shared.lock().on_timeout(due);
        }
    }

    /// Begins the request, for the first time or at other replicas.
    /// Returns `None` if it was sent to all replicas, or if the budget of copies is used up.
    fn begin(&mut self) -> Option<RequestId> {
        let now = Instant::now();
        let allowed = self.shared.config.methods.allow(&self.parts.method);
        // A request is copied only if its method allows it and its body can be sent twice.
        let again = allowed.then(|| self.body.as_ref().and_then(Replay::replay));
        let is_copied = again.flatten().is_some();
        let moment = (now, self.shared.time(now));
        if self.tried.is_empty() {
            let mut state = self.shared.lock();
            self.ticket = state.trial.as_mut().map(|trial| trial.begin(moment.1));
        }
        let beginning = Beginning {
            is_copied,
            tried: &self.tried,
            is_unsent: !self.was_received,
            may_copy: self.ticket.is_none_or(|ticket| ticket.may_copy),
        };
        let config = &self.shared.config;
        let begun = self.shared.lock().begin(moment, config, &beginning);
        let (id, messages) = begun?;
        self.request = Some(id);
        self.send_messages(messages);
        Some(id)
    }

    /// Sends the request to further replicas, if this error allows it.
    /// Call it when all replicas that received the request have failed without an answer.
    fn try_other_replicas(&mut self, error: &E) -> bool {
        let is_unsent = (self.shared.config.unsent)(error);
        let may = is_unsent || self.parts.method.is_idempotent();
        let can = self.body.as_ref().and_then(Replay::replay).is_some();
        may && can && self.begin().is_some()
    }

    fn send_messages(&mut self, messages: Messages) {
        for (replica, header) in messages {
            match header.purpose {
                Purpose::Ask => self.send_copy(replica, &header),
                Purpose::Cancel(_) => self.purge(header.copy),
                // HTTP has no messages for these two purposes.
                Purpose::More | Purpose::Reprioritise => {}
            }
        }
    }

    /// Sends a copy to a replica.
    fn send_copy(&mut self, replica: usize, header: &RequestHeader) {
        let again = self.body.as_ref().and_then(Replay::replay);
        // A body that can be sent only once is used for the first copy.
        let Some(body) = again.or_else(|| self.body.take()) else {
            return;
        };
        self.tried.push(replica);
        let class = match header.priority {
            HIGH => Class::Primary,
            _ => Class::Duplicate,
        };
        let client = (&*self.replicas, &self.shared);
        let to = (replica, header.copy.copy, class);
        self.running.push(Running {
            id: header.copy,
            sent: send(client, to, self.parts.clone(), body),
        });
    }

    /// Returns the final answer, if there is one.
    fn poll_copies(&mut self, cx: &mut Context<'_>) -> Option<Result<Response<AnswerBody<R>>, E>> {
        let mut at = 0;
        while let Some(copy) = self.running.get_mut(at) {
            let Poll::Ready(answer) = copy.sent.answering.as_mut().poll(cx) else {
                at += 1;
                continue;
            };
            let copy = self.running.swap_remove(at);
            let now = Instant::now();
            let time = self.shared.time(now);
            let status = answer.as_ref().ok().map(Response::status);
            let is_good = status.is_some_and(self.shared.config.acceptable);
            let mut state = self.shared.lock();
            let learns = self.replicas[copy.sent.replica].purges == Purges::Learn;
            let moment = (copy.sent.began, now);
            state.note(
                copy.sent.replica,
                moment,
                learns,
                &self.shared.config,
                &answer,
            );
            if is_good {
                state.counts.won_by_copy += u64::from(copy.id.copy > 0);
                state.on_answer(time, copy.id);
                let messages = state.messages(copy.id.request);
                // `send_messages` takes the lock again, for example to count resets.
                drop(state);
                self.send_messages(messages);
                return Some(attach_in_flight(answer, copy.sent.flight));
            }
            state.counts.failed += 1;
            let is_unsent = answer
                .as_ref()
                .is_err_and(|error| (self.shared.config.unsent)(error));
            self.was_received |= !is_unsent;
            // After a failure the policy may send the next copy immediately, so its messages are read here.
            let goes_on = state.on_failure(time, copy.id);
            let messages = state.messages(copy.id.request);
            drop(state);
            if let Err(error) = &answer
                && !goes_on
                // If any replica has answered, no other replica is tried, even if the answer was not acceptable.
                && self.unacceptable.as_ref().is_none_or(Result::is_err)
                && self.try_other_replicas(error)
            {
                return None;
            }
            let unacceptable = attach_in_flight(answer, copy.sent.flight);
            // An answer of the service is more useful to the caller than a connection error.
            if self
                .unacceptable
                .as_ref()
                .is_none_or(|known| known.is_err() && unacceptable.is_ok())
            {
                self.unacceptable = Some(unacceptable);
            }
            if !goes_on {
                let unacceptable = self.unacceptable.take();
                if unacceptable.as_ref().is_some_and(is_overload) {
                    self.shared.lock().on_overload();
                }
                return unacceptable;
            }
            // `send_messages` may have added or removed copies, so the indices have changed.
            self.send_messages(messages);
            at = 0;
        }
        None
    }
}

impl<S, B, R, E> Race<S, B, R, E>
where
    R: Send + 'static,
    E: Send + 'static,
{
    /// Ends the request in the trial of copies.
    fn end_trial(&mut self, has_failed: bool) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let end = TrialEnd {
            copies: u32::try_from(self.tried.len().saturating_sub(1)).unwrap_or(u32::MAX),
            has_failed,
        };
        let now = self.shared.time(Instant::now());
        if let Some(trial) = &mut self.shared.lock().trial {
            trial.end(now, ticket, end);
        }
    }

    /// Drops a copy. If the replica's budget of resets is used up, the copy runs to its end instead.
    fn purge(&mut self, id: CopyId) {
        let Some(at) = self.running.iter().position(|copy| copy.id == id) else {
            return;
        };
        let copy = self.running.swap_remove(at);
        let mut state = self.shared.lock();
        let budget = self.shared.config.resets;
        if state.stats[copy.sent.replica].may_reset(Instant::now(), budget) {
            state.counts.purged += 1;
            return;
        }
        // The copy runs to its end, because one more reset could make the server end the connection.
        state.counts.spared += 1;
        drop(state);
        // Without a runtime no task can wait, so the copy is dropped here.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Another copy has answered, so no caller needs this result.
                // The replica counts as busy until the copy ends.
                let _ = copy.sent.answering.await;
                drop(copy.sent.flight);
            });
        }
    }
}

impl<S, B, R, E> Drop for Race<S, B, R, E>
where
    R: Send + 'static,
    E: Send + 'static,
{
    fn drop(&mut self) {
        // Until then the request had no answer, so the time until then counts in the trial.
        self.end_trial(false);
        // The application has dropped the request before its answer.
        if let Some(id) = self.request.take() {
            self.shared.lock().abandon(id);
        }
        while let Some(copy) = self.running.last() {
            let id = copy.id;
            self.purge(id);
        }
    }
}

/// Returns whether the result of a request is a sign that its replicas are overloaded or unreachable.
/// Other bad answers, such as 404, say nothing about the load.
fn is_overload<R, E>(result: &Result<Response<R>, E>) -> bool {
    result.as_ref().map_or(true, |answer| {
        let status = answer.status();
        status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
    })
}

fn attach_in_flight<R, E>(
    answer: Result<Response<R>, E>,
    flight: InFlight,
) -> Result<Response<AnswerBody<R>>, E> {
    answer.map(|answer| answer.map(|body| AnswerBody::new(body, flight)))
}
