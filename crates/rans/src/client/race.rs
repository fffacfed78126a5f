//! One request: its copies, and the one that is first.

use super::flight::{AnswerBody, Flight};
use super::replay::Replay;
use super::replica::{Purges, Replica};
use super::sending::{Sent, send};
use super::shared::{Follows, Orders, Shared};
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tailcut_requests::{Class, CopyId, HIGH, Purpose, RequestHeader, RequestId};
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

/// A copy that is on its way.
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
    /// The body for the last copy.
    body: Option<B>,
    /// Its number and its policy, once it has begun.
    request: Option<(RequestId, Follows)>,
    running: Vec<Running<R, E>>,
    /// Replicas that it was sent to.
    asked: Vec<usize>,
    /// When the next copy is due.
    timer: Option<Pin<Box<Sleep>>>,
    /// The first answer that was not acceptable.
    poor: Option<Result<Response<AnswerBody<R>>, E>>,
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
            asked: Vec::new(),
            timer: None,
            poor: None,
        }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<AnswerBody<R>>, E>> {
        loop {
            let (id, follows) = match self.request {
                Some((id, follows)) => {
                    let orders = self.shared.lock().orders(id, follows);
                    self.obey(orders);
                    (id, follows)
                }
                None => self.begin().expect("a client has a replica"),
            };
            if let Some(answer) = self.look(cx, follows) {
                self.request = None;
                return Poll::Ready(answer);
            }
            if self.request != Some((id, follows)) {
                continue;
            }
            let due = self.shared.lock().wait(id, follows, cx.waker());
            let Some(due) = due else {
                return Poll::Pending;
            };
            let at = self.shared.instant(due);
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            self.shared.lock().on_timeout(due, follows);
        }
    }

    /// `None`: it has been sent to every replica.
    fn begin(&mut self) -> Option<(RequestId, Follows)> {
        let now = Instant::now();
        let allowed = self.shared.config.methods.allow(&self.parts.method);
        let again = allowed.then(|| self.body.as_ref().and_then(Replay::replay));
        let is_copied = again.flatten().is_some();
        let moment = (now, self.shared.time(now));
        let begun = self.shared.lock().begin(moment, is_copied, &self.asked);
        let (id, follows, orders) = begun?;
        self.request = Some((id, follows));
        self.obey(orders);
        Some((id, follows))
    }

    /// Sends it to replicas that it has not been sent to, where that is allowed after such a failure: all that it
    /// was sent to have failed, without an answer.
    fn go_elsewhere(&mut self, error: &E) -> bool {
        let is_unsent = (self.shared.config.unsent)(error);
        let may = is_unsent || self.parts.method.is_idempotent();
        let can = self.body.as_ref().and_then(Replay::replay).is_some();
        may && can && self.begin().is_some()
    }

    fn obey(&mut self, orders: Orders) {
        for (replica, header) in orders {
            match header.purpose {
                Purpose::Ask => self.ask(replica, &header),
                Purpose::Cancel(_) => self.purge(header.copy),
                // Nothing of HTTP.
                Purpose::More | Purpose::Reprioritise => {}
            }
        }
    }

    /// Sends a copy.
    fn ask(&mut self, replica: usize, header: &RequestHeader) {
        let again = self.body.as_ref().and_then(Replay::replay);
        let Some(body) = again.or_else(|| self.body.take()) else {
            return;
        };
        self.asked.push(replica);
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

    /// The answer, if there is one.
    fn look(
        &mut self,
        cx: &mut Context<'_>,
        follows: Follows,
    ) -> Option<Result<Response<AnswerBody<R>>, E>> {
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
            let breaker = self.shared.config.breaker;
            state.standings[copy.sent.replica].note(
                (copy.sent.began, now),
                learns,
                breaker,
                &answer,
            );
            if is_good {
                state.counts.won_by_copy += u64::from(copy.id.copy > 0);
                state.on_answer(time, copy.id, follows);
                let orders = state.orders(copy.id.request, follows);
                drop(state);
                self.obey(orders);
                return Some(carried(answer, copy.sent.flight));
            }
            state.counts.failed += 1;
            let goes_on = state.on_failure(time, copy.id, follows);
            let orders = state.orders(copy.id.request, follows);
            drop(state);
            if let Err(error) = &answer
                && !goes_on
                && self.poor.as_ref().is_none_or(Result::is_err)
                && self.go_elsewhere(error)
            {
                return None;
            }
            let poor = carried(answer, copy.sent.flight);
            // An answer says more than an error.
            if self
                .poor
                .as_ref()
                .is_none_or(|known| known.is_err() && poor.is_ok())
            {
                self.poor = Some(poor);
            }
            if !goes_on {
                return self.poor.take();
            }
            self.obey(orders);
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
    /// Drops a copy, or lets it run to its end where its replica has been reset too often.
    fn purge(&mut self, id: CopyId) {
        let Some(at) = self.running.iter().position(|copy| copy.id == id) else {
            return;
        };
        let copy = self.running.swap_remove(at);
        let mut state = self.shared.lock();
        let budget = self.shared.config.resets;
        if state.standings[copy.sent.replica].may_reset(Instant::now(), budget) {
            state.counts.purged += 1;
            return;
        }
        state.counts.spared += 1;
        drop(state);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
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
        // The application has left before the answer.
        if let Some((id, follows)) = self.request.take() {
            self.shared.lock().abandon(id, follows);
        }
        while let Some(copy) = self.running.last() {
            let id = copy.id;
            self.purge(id);
        }
    }
}

fn carried<R, E>(
    answer: Result<Response<R>, E>,
    flight: Flight,
) -> Result<Response<AnswerBody<R>>, E> {
    answer.map(|answer| answer.map(|body| AnswerBody::new(body, flight)))
}
