//! Requests that go to a chosen replica of a client. Downloads by ranges use them.

use super::Client;
use super::replica::Purges;
use super::sending::{Sent, send};
use http::request::Parts;
use http::{Request, Response};
use tailcut_requests::Class;
use tokio::time::Instant;
use tower_service::Service;

impl<S> Client<S> {
    /// Returns the open replicas, best first: the two least loaded replicas, then the others in random order.
    /// All replicas are compared, which costs time. A large object is worth the cost.
    pub(crate) fn choose(&self) -> Vec<usize> {
        let mut state = self.shared.lock();
        let mut rest = state.open(Instant::now());
        let mut order = Vec::new();
        order.extend(state.lightest(&mut rest));
        // Sometimes the second replica is random, so that a replica that was slow is tried again.
        if !state.explores() {
            order.extend(state.lightest(&mut rest));
        }
        while let Some(next) = state.draw(&mut rest) {
            order.push(next);
        }
        order
    }

    /// Sends a request to a replica. The class of the copy is set as in [`send`].
    pub(crate) fn send<B, R, E>(
        &self,
        (replica, copy, class): (usize, u8, Class),
        parts: Parts,
        body: B,
    ) -> Sent<R, E>
    where
        S: Service<Request<B>, Response = Response<R>, Error = E> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Send + 'static,
    {
        let client = (&*self.replicas, &self.shared);
        send(client, (replica, copy, class), parts, body)
    }

    /// Updates the state of a replica from its answer.
    pub(crate) fn note<R, E>(
        &self,
        replica: usize,
        began: Instant,
        answer: &Result<Response<R>, E>,
    ) {
        let learns = self.replicas[replica].purges == Purges::Learn;
        let config = &self.shared.config;
        let mut state = self.shared.lock();
        state.note(replica, (began, Instant::now()), learns, config, answer);
    }

    /// Records that a replica failed in the middle of an answer.
    pub(crate) fn note_failure(&self, replica: usize) {
        let breaker = self.shared.config.breaker;
        let mut state = self.shared.lock();
        let clock = state.clock();
        state.stats[replica].failed(Instant::now(), breaker, clock);
    }

    /// Takes one reset from a replica's budget. Returns `false` if the budget is used up.
    pub(crate) fn may_reset(&self, replica: usize) -> bool {
        let budget = self.shared.config.resets;
        let mut state = self.shared.lock();
        let may = state.stats[replica].may_reset(Instant::now(), budget);
        match may {
            true => state.counts.purged += 1,
            false => state.counts.spared += 1,
        }
        may
    }

    /// Takes a request to another replica, or a repeated request, from the budget of copies.
    /// Returns `false` if the budget is used up.
    pub(crate) fn may_send_copy(&self) -> bool {
        self.shared.lock().may_send_copy(&self.shared.config)
    }

    /// Counts a request that was sent directly and had a complete answer.
    pub(crate) fn note_success(&self) {
        self.shared.lock().on_success();
    }

    /// Counts a request that was sent directly and got no answer of any replica.
    pub(crate) fn note_overload(&self) {
        self.shared.lock().on_overload();
    }
}
