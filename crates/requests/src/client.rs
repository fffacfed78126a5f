//! Client of requests. The client sends copies and counts the bytes of answers.
//! When a request is complete, the client purges all its copies.

mod pending;

use super::budget::Budget;
use super::header::{CancelScope, CopyId, HIGH, LOW, Purpose, RequestHeader, RequestId};
use super::hedging::Latencies;
use super::policy::{MAX_COPIES, Policy, Split, Trigger};
use super::sharing::Sharing;
use super::sides::Spare;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use pending::{CopyState, header};
use tailcut_units::{HostId, Time};

/// Report of a request that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Request that is complete.
    pub request: RequestId,
    /// Copy whose bytes completed the request.
    pub winner: u8,
    /// Number of copies that were sent.
    pub copies: u8,
}

/// State of a request that is not complete.
#[derive(Clone, Debug)]
struct Pending {
    policy: Policy,
    bytes: u64,
    start: Time,
    copies: [CopyState; MAX_COPIES],
    /// Largest number of copies that can be sent: one for each server in use.
    servers: u8,
    /// Number of copies that were sent.
    sent: u8,
    /// Number of copies whose answer has arrived completely.
    whole: u8,
    /// Number of copies that have failed and will not answer.
    failed: u8,
    /// Time at which the next copy is due.
    due: Option<Time>,
    /// Ranges of all copies, if the bytes of all copies count.
    sharing: Option<Sharing>,
    /// Time at which a copy without work may take work from another copy.
    idle: Option<Time>,
}

/// Client of requests as plain state. The application calls [`submit`](Self::submit).
/// The driver passes answers to [`on_bytes`](Self::on_bytes).
/// The driver sends the messages of [`poll_transmit`](Self::poll_transmit).
/// When a timer expires, the driver calls [`on_timeout`](Self::on_timeout).
/// [`poll_completion`](Self::poll_completion) returns requests that are complete.
#[derive(Clone, Debug)]
pub struct Client {
    policy: Policy,
    /// Pending requests. The values are boxed, because a map moves its values when entries are added or removed.
    pending: BTreeMap<RequestId, Box<Pending>>,
    /// Times at which the next copies of requests are due.
    hedges: BTreeSet<(Time, RequestId)>,
    /// Times at which a copy without work may take work from another copy of its request.
    idles: BTreeSet<(Time, RequestId)>,
    latencies: Latencies,
    budget: Option<Budget>,
    out: VecDeque<(HostId, RequestHeader)>,
    completions: VecDeque<Completion>,
}

impl Client {
    /// Creates a client without requests.
    ///
    /// # Errors
    /// The policy is invalid. The error states the fault of the policy.
    pub fn new(policy: Policy) -> Result<Self, &'static str> {
        match policy.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                policy,
                pending: BTreeMap::new(),
                hedges: BTreeSet::new(),
                idles: BTreeSet::new(),
                latencies: Latencies::default(),
                budget: policy.budget.map(Budget::new),
                out: VecDeque::new(),
                completions: VecDeque::new(),
            }),
        }
    }

    /// Returns a client with the same policy, latencies and budget, but without requests.
    #[must_use]
    pub fn without_requests(&self) -> Self {
        Self {
            policy: self.policy,
            pending: BTreeMap::new(),
            hedges: BTreeSet::new(),
            idles: BTreeSet::new(),
            latencies: self.latencies.clone(),
            budget: self.budget,
            out: VecDeque::new(),
            completions: VecDeque::new(),
        }
    }

    /// Starts a request for an object of `bytes` bytes, at least 1. All of `servers` have the object.
    /// Copies go to the servers in the given order. Fewer servers mean fewer copies.
    /// Servers beyond the policy's number of copies are ignored.
    /// The call has no effect if the request's number is already pending or `servers` is empty.
    pub fn submit(&mut self, now: Time, request: RequestId, bytes: u64, servers: &[HostId]) {
        self.submit_with(now, request, bytes, servers, self.policy);
    }

    /// Starts a request as [`submit`](Self::submit) does, with its own policy.
    /// All policies share the budget of the client's policy. A policy without a budget sends copies without a limit.
    /// The call has no effect if the policy is invalid.
    pub fn submit_with(
        &mut self,
        now: Time,
        request: RequestId,
        bytes: u64,
        servers: &[HostId],
        policy: Policy,
    ) {
        if self.can_begin(request, servers, &policy) {
            if let Some(budget) = &mut self.budget {
                budget.earn();
            }
            self.begin(now, request, bytes, servers, policy);
        }
    }

    /// Starts a request again at other servers. Its first copy costs the budget one copy, and it earns no tokens.
    /// Returns whether the request was started.
    pub fn resubmit_with(
        &mut self,
        now: Time,
        request: RequestId,
        bytes: u64,
        servers: &[HostId],
        policy: Policy,
    ) -> bool {
        let begins = self.can_begin(request, servers, &policy) && self.may_send_copy(&policy);
        if begins {
            self.begin(now, request, bytes, servers, policy);
        }
        begins
    }

    fn can_begin(&self, request: RequestId, servers: &[HostId], policy: &Policy) -> bool {
        !servers.is_empty() && !self.pending.contains_key(&request) && policy.fault().is_none()
    }

    fn begin(
        &mut self,
        now: Time,
        request: RequestId,
        bytes: u64,
        servers: &[HostId],
        policy: Policy,
    ) {
        let Some(&first) = servers.first() else {
            return;
        };
        let none = CopyState {
            server: first,
            priority: HIGH,
            received: 0,
            window: None,
            is_known: false,
        };
        let mut copies = [none; MAX_COPIES];
        let wanted = servers.iter().take(usize::from(policy.copies));
        let mut named = 0;
        for (index, (state, server)) in copies.iter_mut().zip(wanted).enumerate() {
            state.server = *server;
            if policy.low_priority && index >= usize::from(policy.quorum) {
                state.priority = LOW;
            }
            named += 1;
        }
        let bytes = bytes.max(1);
        let pending = Pending {
            policy,
            bytes,
            start: now,
            copies,
            servers: named,
            sent: 0,
            whole: 0,
            failed: 0,
            due: None,
            sharing: Sharing::new(&policy, bytes, named),
            idle: None,
        };
        self.pending.insert(request, Box::new(pending));
        let at_once = match policy.trigger {
            Trigger::AtOnce => named,
            _ => named.min(policy.quorum),
        };
        for index in 0..at_once {
            // The budget limits every copy beyond the quorum, whether it is sent immediately or later.
            if index >= policy.quorum && !self.may_spend(&policy, policy.uses_credit) {
                break;
            }
            self.send_next(now, request);
        }
        self.plan_hedge(now, request);
    }

    /// Counts `bytes` more bytes of a copy's answer, in the requested order.
    /// Returns how many of these bytes are new for the request: 0 if the request is complete or was never pending.
    pub fn on_bytes(&mut self, now: Time, copy: CopyId, bytes: u64) -> u64 {
        let Some(pending) = self.pending.get_mut(&copy.request) else {
            return 0;
        };
        if copy.copy >= pending.sent {
            return 0;
        }
        let state = &mut pending.copies[usize::from(copy.copy)];
        let before = state.received;
        state.received = before.saturating_add(bytes).min(pending.bytes);
        let fresh = state.received - before;
        let became_whole = fresh > 0 && state.received == pending.bytes;
        if became_whole {
            pending.whole += 1;
        }
        let (useful, is_done) = match &mut pending.sharing {
            Some(all) => (all.arrived(now, copy.copy, fresh), all.is_whole()),
            None => {
                let enough = pending.policy.quorum.min(pending.servers);
                (fresh, pending.whole >= enough)
            }
        };
        if is_done {
            self.complete(now, copy);
        } else {
            self.ask_for_more(now, copy);
            self.spare(now, copy.request);
            self.maybe_swap(copy.request);
        }
        useful
    }

    /// Records the congestion window in bytes that a copy's server reports.
    /// The driver calls [`on_bytes`](Self::on_bytes) next.
    pub fn on_window(&mut self, copy: CopyId, window: u64) {
        if let Some(pending) = self.pending.get_mut(&copy.request)
            && copy.copy < pending.sent
        {
            pending.copies[usize::from(copy.copy)].window = Some(window);
        }
    }

    /// Records that a copy will not answer: its server cannot be reached, or answered with an error.
    /// If the policy has a copy left to send and the budget allows it, that copy is sent immediately.
    /// If no remaining copy can answer, the request is removed and the function returns `false`.
    ///
    /// With [`Split::Ranges`], other copies request the ranges of this copy.
    /// With [`Split::Meet`], no other copy requests these ranges.
    pub fn on_failure(&mut self, now: Time, copy: CopyId) -> bool {
        let Some(pending) = self.pending.get_mut(&copy.request) else {
            return false;
        };
        if copy.copy >= pending.sent {
            return true;
        }
        pending.failed += 1;
        if let Some(Sharing::Ranges(sides)) = &mut pending.sharing {
            sides.close(copy.copy);
        }
        let (is_alone, has_next) = (
            pending.failed == pending.sent,
            pending.sent < pending.servers,
        );
        let policy = pending.policy;
        if has_next && self.may_send_copy(&policy) {
            if let Some(pending) = self.pending.get_mut(&copy.request)
                && let Some(due) = pending.due.take()
            {
                self.hedges.remove(&(due, copy.request));
            }
            self.send_next(now, copy.request);
            self.plan_hedge(now, copy.request);
            return true;
        }
        if !is_alone {
            self.spare(now, copy.request);
            return true;
        }
        self.abandon(copy.request);
        false
    }

    /// Removes a request whose answer the application no longer needs.
    /// The driver has to purge the copies of the request.
    pub fn abandon(&mut self, request: RequestId) {
        self.forget(request);
    }

    fn forget(&mut self, request: RequestId) -> Option<Box<Pending>> {
        let pending = self.pending.remove(&request)?;
        if let Some(due) = pending.due {
            self.hedges.remove(&(due, request));
        }
        if let Some(idle) = pending.idle {
            self.idles.remove(&(idle, request));
        }
        Some(pending)
    }

    /// Returns the time at which the next copy of a request is due.
    pub fn due(&self, request: RequestId) -> Option<Time> {
        self.pending.get(&request)?.due
    }

    /// Sends copies that are due, and moves work from copies that wait in a queue to idle copies.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some(&(due, request)) = self.hedges.first()
            && due <= now
        {
            self.hedges.pop_first();
            if let Some(pending) = self.pending.get_mut(&request) {
                pending.due = None;
            }
            let Some(policy) = self.pending.get(&request).map(|pending| pending.policy) else {
                continue;
            };
            if self.may_spend(&policy, policy.uses_credit) {
                self.send_next(now, request);
                self.plan_hedge(now, request);
            }
        }
        while let Some(&(due, request)) = self.idles.first()
            && due <= now
        {
            self.idles.pop_first();
            if let Some(pending) = self.pending.get_mut(&request) {
                pending.idle = None;
            }
            self.spare(now, request);
        }
    }

    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout).
    pub fn next_timeout(&self) -> Option<Time> {
        let firsts = [self.hedges.first(), self.idles.first()];
        firsts.into_iter().flatten().map(|(due, _)| *due).min()
    }

    /// Returns the next message and its server. A first message ([`Purpose::Ask`]) has a body.
    /// The driver appends the application's request and sets its length in [`RequestHeader::body`].
    pub fn poll_transmit(&mut self) -> Option<(HostId, RequestHeader)> {
        self.out.pop_front()
    }

    /// Returns the next request that is complete.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Whether a request was submitted and is not complete.
    pub fn is_pending(&self, request: RequestId) -> bool {
        self.pending.contains_key(&request)
    }

    /// Number of requests that were submitted and are not complete.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes one copy from the budget, for a copy after a failure or a copy that only the driver knows.
    /// Returns `false` if the budget is used up. The copy must then not be sent.
    pub fn may_send_copy(&mut self, policy: &Policy) -> bool {
        self.may_spend(policy, true)
    }

    /// Records a good answer to a request that only the driver knows. It earns credit, like each such request.
    pub fn on_success(&mut self) {
        if let Some(budget) = &mut self.budget {
            budget.succeeded();
        }
    }

    /// Records that a request ended without a good answer, because its servers are overloaded or cannot be reached.
    /// Such requests use the budget up, so that copies do not add load.
    pub fn on_overload(&mut self) {
        if let Some(budget) = &mut self.budget {
            budget.failed();
        }
    }

    fn may_spend(&mut self, policy: &Policy, may_use_credit: bool) -> bool {
        let budget = self.budget.as_mut().filter(|_| policy.budget.is_some());
        budget.is_none_or(|budget| budget.spend(may_use_credit))
    }

    fn send_next(&mut self, now: Time, request: RequestId) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return;
        };
        if pending.sent == pending.servers {
            return;
        }
        let copy = pending.sent;
        pending.sent += 1;
        if !pending.policy.asks_in_pieces() {
            let state = &mut pending.copies[usize::from(copy)];
            state.is_known = true;
            // With `Split::Meet` and at most two copies, each copy requests the whole object once.
            if let Some(sharing) = &mut pending.sharing {
                sharing.ask(now, copy);
            }
            let message = header(pending, request, copy, Purpose::Ask);
            self.out.push_back(message);
        }
        self.ask_for_more(now, CopyId { request, copy });
    }

    /// Requests the next pieces from a copy's server, if the policy splits the object into pieces.
    fn ask_for_more(&mut self, now: Time, copy: CopyId) {
        while let Some(pending) = self.pending.get_mut(&copy.request)
            && pending.policy.asks_in_pieces()
            && let Some(sharing) = &mut pending.sharing
            && let Some(range) = sharing.ask(now, copy.copy)
        {
            let state = &mut pending.copies[usize::from(copy.copy)];
            // If no piece was left when the copy was sent, no `Ask` was sent.
            // This message is then the copy's first one.
            let purpose = match core::mem::replace(&mut state.is_known, true) {
                true => Purpose::More,
                false => Purpose::Ask,
            };
            let (server, message) = header(pending, copy.request, copy.copy, purpose);
            self.out
                .push_back((server, RequestHeader { range, ..message }));
        }
    }

    /// Moves ranges from copies whose servers have not begun to answer to copies without work.
    /// The function has an effect only with [`Split::Ranges`].
    fn spare(&mut self, now: Time, request: RequestId) {
        let sent = self.pending.get(&request).map_or(0, |all| all.sent);
        let mut next = None;
        for index in 0..sent {
            let copy = CopyId {
                request,
                copy: index,
            };
            self.ask_for_more(now, copy);
            let Some(pending) = self.pending.get_mut(&request) else {
                return;
            };
            let Some(Sharing::Ranges(sides)) = &mut pending.sharing else {
                return;
            };
            match sides.idle(now, index) {
                Some(Spare::Taken(owner)) => {
                    let purge = Purpose::Cancel(CancelScope::Queued);
                    self.out.push_back(header(pending, request, owner, purge));
                    self.ask_for_more(now, copy);
                }
                Some(Spare::Until(due)) => next = Time::earlier(next, Some(due)),
                None => {}
            }
        }
        if let Some(pending) = self.pending.get_mut(&request) {
            if let Some(idle) = core::mem::replace(&mut pending.idle, next) {
                self.idles.remove(&(idle, request));
            }
            self.idles.extend(next.map(|due| (due, request)));
        }
    }

    /// Plans the next copy of a request, if another server is left.
    fn plan_hedge(&mut self, now: Time, request: RequestId) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return;
        };
        let delay = match pending.policy.trigger {
            Trigger::AtOnce | Trigger::OnFailure => None,
            Trigger::After(delay) => Some(delay),
            Trigger::AfterPercentile(percentile) => {
                self.latencies.widen(percentile.window);
                let known = self.latencies.percentile(percentile.thousandths);
                Some(known.unwrap_or(percentile.first))
            }
        };
        if let Some(delay) = delay
            && pending.sent < pending.servers
        {
            let due = now.saturating_add(delay);
            pending.due = Some(due);
            self.hedges.insert((due, request));
        }
    }

    fn complete(&mut self, now: Time, copy: CopyId) {
        let request = copy.request;
        let Some(pending) = self.forget(request) else {
            return;
        };
        self.latencies.add(now.since(pending.start));
        self.on_success();
        if let Some(scope) = pending.policy.purge {
            for index in 0..pending.sent {
                // With `Split::Ranges`, no message marks the last piece.
                // The server keeps a complete copy until it is purged.
                let is_whole = pending.policy.split == Split::Meet
                    && pending.copies[usize::from(index)].received == pending.bytes;
                if !is_whole {
                    let purpose = Purpose::Cancel(scope);
                    let message = header(&pending, request, index, purpose);
                    self.out.push_back(message);
                }
            }
        }
        self.completions.push_back(Completion {
            request,
            winner: copy.copy,
            copies: pending.sent,
        });
    }

    /// Exchanges the priorities of the two copies when the low copy is far enough ahead.
    /// If servers report congestion windows, the copies are compared by their windows.
    /// A server that has reported no window counts as a window of 0.
    /// Without windows, the copies are compared by the bytes received.
    fn maybe_swap(&mut self, request: RequestId) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return;
        };
        let Some(lead) = pending.policy.swap_lead else {
            return;
        };
        if pending.sent < 2 {
            return;
        }
        let [first, second] = [0, 1].map(|index: usize| pending.copies[index]);
        let (high, low) = match first.priority == HIGH {
            true => (first, second),
            false => (second, first),
        };
        let by_window = first.window.or(second.window).is_some();
        let [high_standing, low_standing] = [high, low].map(|copy| copy.standing(by_window));
        if high.priority == low.priority || low_standing < high_standing.saturating_add(lead) {
            return;
        }
        pending.copies[0].priority = second.priority;
        pending.copies[1].priority = first.priority;
        for index in 0..2 {
            let message = header(pending, request, index, Purpose::Reprioritise);
            self.out.push_back(message);
        }
    }
}
