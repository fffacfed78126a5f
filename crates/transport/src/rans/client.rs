//! The client's side: copies out, answers in, the first one ends the request everywhere.

use super::aggregation::Aggregation;
use super::header::{ByteRange, CopyId, HIGH, LOW, Order, Purpose, RequestHeader, RequestId};
use super::hedging::{Budget, Latencies};
use super::policy::{MAX_COPIES, Policy, Trigger};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use tailcut_units::{HostId, Time};

/// A request is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The request.
    pub request: RequestId,
    /// The copy whose bytes completed it.
    pub winner: u8,
    /// Copies that had been sent.
    pub copies: u8,
}

#[derive(Clone, Copy, Debug)]
struct CopyState {
    server: HostId,
    priority: u8,
    received: u64,
    /// The congestion window that its server has told last.
    window: Option<u64>,
}

impl CopyState {
    /// What is compared with the other copy's to find out which is ahead, in bytes.
    fn standing(&self, by_window: bool) -> u64 {
        match by_window {
            true => self.window.unwrap_or(0),
            false => self.received,
        }
    }
}

#[derive(Clone, Debug)]
struct Pending {
    bytes: u64,
    start: Time,
    copies: [CopyState; MAX_COPIES],
    /// Copies that could be sent: servers that were named.
    servers: u8,
    /// Copies that were sent.
    sent: u8,
    /// Copies that have arrived whole.
    whole: u8,
    /// Copies that will not answer.
    failed: u8,
    /// When the next copy is due.
    due: Option<Time>,
    /// Where the bytes of all copies count.
    aggregation: Option<Aggregation>,
}

/// One client. Its application [`submit`](Self::submit)s, the network gives it
/// [`on_bytes`](Self::on_bytes) and takes [`poll_transmit`](Self::poll_transmit), the clock calls
/// [`on_timeout`](Self::on_timeout); requests that are done come out of
/// [`poll_completion`](Self::poll_completion).
#[derive(Clone, Debug)]
pub struct Client {
    policy: Policy,
    pending: BTreeMap<RequestId, Pending>,
    /// When requests get their next copy.
    hedges: BTreeSet<(Time, RequestId)>,
    latencies: Latencies,
    budget: Option<Budget>,
    out: VecDeque<(HostId, RequestHeader)>,
    completions: VecDeque<Completion>,
}

impl Client {
    /// A client without requests.
    ///
    /// # Errors
    /// What is wrong with the policy.
    pub fn new(policy: Policy) -> Result<Self, &'static str> {
        match policy.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                policy,
                pending: BTreeMap::new(),
                hedges: BTreeSet::new(),
                latencies: Latencies::over(match policy.trigger {
                    Trigger::AfterPercentile(percentile) => percentile.window,
                    _ => 0,
                }),
                budget: policy.budget.map(Budget::new),
                out: VecDeque::new(),
                completions: VecDeque::new(),
            }),
        }
    }

    /// The application asks for an object of `bytes` (at least 1) that all of `servers` have, in the
    /// order in which they are to be asked. Servers beyond the policy's copies are ignored; with fewer
    /// there are fewer copies. A number that is pending, or no server at all, is ignored.
    pub fn submit(&mut self, now: Time, request: RequestId, bytes: u64, servers: &[HostId]) {
        let Some(&first) = servers.first() else {
            return;
        };
        if self.pending.contains_key(&request) {
            return;
        }
        let none = CopyState {
            server: first,
            priority: HIGH,
            received: 0,
            window: None,
        };
        let mut copies = [none; MAX_COPIES];
        let wanted = servers.iter().take(usize::from(self.policy.copies));
        let mut named = 0;
        for (index, (state, server)) in copies.iter_mut().zip(wanted).enumerate() {
            state.server = *server;
            if self.policy.low_priority && index >= usize::from(self.policy.quorum) {
                state.priority = LOW;
            }
            named += 1;
        }
        let bytes = bytes.max(1);
        let pending = Pending {
            bytes,
            start: now,
            copies,
            servers: named,
            sent: 0,
            whole: 0,
            failed: 0,
            due: None,
            aggregation: self
                .policy
                .aggregates
                .then(|| Aggregation::new(bytes, named, self.policy.piece)),
        };
        self.pending.insert(request, pending);
        if let Some(budget) = &mut self.budget {
            budget.earn();
        }
        let at_once = match self.policy.trigger {
            Trigger::AtOnce => named,
            _ => named.min(self.policy.quorum),
        };
        for index in 0..at_once {
            // Copies at once are bounded by the budget as later ones are.
            if index >= self.policy.quorum && !self.may_spend() {
                break;
            }
            self.send_next(request);
        }
        self.plan_hedge(now, request);
    }

    /// `bytes` more of a copy's answer arrived, in the order that was asked for. Gives how many of them
    /// the request had not had yet: none when it is done or was never pending.
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
        let (useful, is_done) = match &mut pending.aggregation {
            Some(all) => (all.arrived(copy.copy, fresh), all.is_whole()),
            None => {
                let enough = self.policy.quorum.min(pending.servers);
                (fresh, pending.whole >= enough)
            }
        };
        if is_done {
            self.complete(now, copy);
        } else {
            self.ask_for_more(copy);
            self.maybe_swap(copy.request);
        }
        useful
    }

    /// A copy's server tells its congestion window, in bytes. To be followed by [`on_bytes`](Self::on_bytes).
    pub fn on_window(&mut self, copy: CopyId, window: u64) {
        if let Some(pending) = self.pending.get_mut(&copy.request)
            && copy.copy < pending.sent
        {
            pending.copies[usize::from(copy.copy)].window = Some(window);
        }
    }

    /// A copy will not answer: its server cannot be reached, or has answered with an error. Another copy is
    /// sent at once where the policy has one left that it would have sent later, budget or not. `false`:
    /// no copy is left that may still answer, so the request is forgotten.
    ///
    /// Bytes of several copies that count are not asked for again elsewhere.
    pub fn on_failure(&mut self, now: Time, copy: CopyId) -> bool {
        let Some(pending) = self.pending.get_mut(&copy.request) else {
            return false;
        };
        if copy.copy >= pending.sent {
            return true;
        }
        pending.failed += 1;
        if pending.sent < pending.servers {
            if let Some(due) = pending.due.take() {
                self.hedges.remove(&(due, copy.request));
            }
            self.send_next(copy.request);
            self.plan_hedge(now, copy.request);
            return true;
        }
        if pending.failed < pending.sent {
            return true;
        }
        self.abandon(copy.request);
        false
    }

    /// The application does not wait any more. Its copies are the driver's to purge.
    pub fn abandon(&mut self, request: RequestId) {
        if let Some(pending) = self.pending.remove(&request)
            && let Some(due) = pending.due
        {
            self.hedges.remove(&(due, request));
        }
    }

    /// When a request's next copy is due.
    pub fn due(&self, request: RequestId) -> Option<Time> {
        self.pending.get(&request)?.due
    }

    /// Sends copies that are due.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some(&(due, request)) = self.hedges.first()
            && due <= now
        {
            self.hedges.pop_first();
            if let Some(pending) = self.pending.get_mut(&request) {
                pending.due = None;
            }
            if self.may_spend() {
                self.send_next(request);
                self.plan_hedge(now, request);
            }
        }
    }

    /// When the next copy is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.hedges.first().map(|(due, _)| *due)
    }

    /// The next message to a server. The request that follows an ask is the driver's: it says how long that
    /// is ([`RequestHeader::body`]).
    pub fn poll_transmit(&mut self) -> Option<(HostId, RequestHeader)> {
        self.out.pop_front()
    }

    /// The next request that is done.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Whether a request is not done.
    pub fn is_pending(&self, request: RequestId) -> bool {
        self.pending.contains_key(&request)
    }

    /// Requests that are not done.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    fn may_spend(&mut self) -> bool {
        self.budget.as_mut().is_none_or(Budget::spend)
    }

    fn send_next(&mut self, request: RequestId) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return;
        };
        if pending.sent < pending.servers {
            let copy = pending.sent;
            pending.sent += 1;
            let (server, mut message) = header(pending, request, copy, Purpose::Ask, &self.policy);
            if let Some(all) = &mut pending.aggregation {
                match all.ask(copy) {
                    Some(range) => message.range = range,
                    // Others have been asked for every piece.
                    None => return,
                }
            }
            self.out.push_back((server, message));
            self.ask_for_more(message.copy);
        }
    }

    /// Asks a copy's server for the next pieces, where a copy is asked for one at a time.
    fn ask_for_more(&mut self, copy: CopyId) {
        if !self.policy.asks_in_pieces() {
            return;
        }
        let Some(pending) = self.pending.get_mut(&copy.request) else {
            return;
        };
        while let Some(range) = pending
            .aggregation
            .as_mut()
            .and_then(|all| all.ask(copy.copy))
        {
            let more = Purpose::More;
            let (server, message) = header(pending, copy.request, copy.copy, more, &self.policy);
            self.out
                .push_back((server, RequestHeader { range, ..message }));
        }
    }

    /// Plans the next copy of a request that has more servers to ask.
    fn plan_hedge(&mut self, now: Time, request: RequestId) {
        let delay = match self.policy.trigger {
            Trigger::AtOnce => None,
            Trigger::After(delay) => Some(delay),
            Trigger::AfterPercentile(percentile) => {
                let known = self.latencies.percentile(percentile.thousandths);
                Some(known.unwrap_or(percentile.first))
            }
        };
        if let Some(delay) = delay
            && let Some(pending) = self.pending.get_mut(&request)
            && pending.sent < pending.servers
        {
            let due = now.saturating_add(delay);
            pending.due = Some(due);
            self.hedges.insert((due, request));
        }
    }

    fn complete(&mut self, now: Time, copy: CopyId) {
        let request = copy.request;
        let Some(pending) = self.pending.remove(&request) else {
            return;
        };
        self.latencies.add(now.since(pending.start));
        if let Some(due) = pending.due {
            self.hedges.remove(&(due, request));
        }
        if let Some(scope) = self.policy.purge {
            for index in 0..pending.sent {
                let is_whole = pending.copies[usize::from(index)].received == pending.bytes;
                if !is_whole {
                    let purpose = Purpose::Cancel(scope);
                    let message = header(&pending, request, index, purpose, &self.policy);
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

    /// Exchanges the priorities of the two copies when the low one is far enough ahead: in congestion
    /// windows where servers tell them (that of one who has told nothing is 0), else in bytes received.
    fn maybe_swap(&mut self, request: RequestId) {
        let (Some(lead), Some(pending)) = (self.policy.swap_lead, self.pending.get_mut(&request))
        else {
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
            let message = header(pending, request, index, Purpose::Reprioritise, &self.policy);
            self.out.push_back(message);
        }
    }
}

/// The message about one copy, and to whom it goes.
fn header(
    pending: &Pending,
    request: RequestId,
    copy: u8,
    purpose: Purpose,
    policy: &Policy,
) -> (HostId, RequestHeader) {
    let state = &pending.copies[usize::from(copy)];
    let order = match policy.aggregates {
        true => Aggregation::order(copy),
        false => Order::Forwards,
    };
    let message = RequestHeader {
        copy: CopyId { request, copy },
        purpose,
        priority: state.priority,
        range: ByteRange {
            from: 0,
            to: pending.bytes,
        },
        object: pending.bytes,
        order,
        body: 0,
    };
    (state.server, message)
}
