//! The client's side: copies out, answers in, the first one ends the request everywhere.

use super::aggregation::Aggregation;
use super::header::{
    ByteRange, CancelScope, CopyId, HIGH, LOW, Order, Purpose, RequestHeader, RequestId,
};
use super::hedging::{Budget, Latencies};
use super::policy::{MAX_COPIES, Policy, Split, Trigger};
use super::sides::{Sides, Spare};
use alloc::boxed::Box;
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
    /// Whether its server was asked.
    is_known: bool,
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

/// How the bytes of all copies count.
#[derive(Clone, Debug)]
enum Sharing {
    Meet(Aggregation),
    Ranges(Sides),
}

impl Sharing {
    /// What a copy is to be asked for now, if it is for anything.
    fn ask(&mut self, now: Time, copy: u8) -> Option<ByteRange> {
        match self {
            Self::Meet(all) => all.ask(copy),
            Self::Ranges(sides) => sides.ask(now, copy),
        }
    }

    /// `bytes` more of a copy have come. Gives how many of them the object had not had yet.
    fn arrived(&mut self, now: Time, copy: u8, bytes: u64) -> u64 {
        match self {
            Self::Meet(all) => all.arrived(copy, bytes),
            Self::Ranges(sides) => sides.arrived(now, copy, bytes),
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Meet(all) => all.is_whole(),
            Self::Ranges(sides) => sides.is_whole(),
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
    sharing: Option<Sharing>,
    /// When a copy without work may take some from another one.
    idle: Option<Time>,
}

/// One client. Its application [`submit`](Self::submit)s, the network gives it
/// [`on_bytes`](Self::on_bytes) and takes [`poll_transmit`](Self::poll_transmit), the clock calls
/// [`on_timeout`](Self::on_timeout); requests that are done come out of
/// [`poll_completion`](Self::poll_completion).
#[derive(Clone, Debug)]
pub struct Client {
    policy: Policy,
    /// Boxed: a map moves its values when others come and go.
    pending: BTreeMap<RequestId, Box<Pending>>,
    /// When requests get their next copy.
    hedges: BTreeSet<(Time, RequestId)>,
    /// When requests have a copy that may take work from another one.
    idles: BTreeSet<(Time, RequestId)>,
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
                idles: BTreeSet::new(),
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

    /// The same client without requests. It keeps its latencies and its budget.
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
            is_known: false,
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
            sharing: self.sharing(bytes, named),
            idle: None,
        };
        self.pending.insert(request, Box::new(pending));
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
            self.send_next(now, request);
        }
        self.plan_hedge(now, request);
    }

    fn sharing(&self, bytes: u64, copies: u8) -> Option<Sharing> {
        let Policy {
            aggregates,
            split,
            piece,
            ..
        } = self.policy;
        aggregates.then(|| match split {
            Split::Meet => Sharing::Meet(Aggregation::new(bytes, copies, piece)),
            Split::Ranges => Sharing::Ranges(Sides::new(bytes, copies, piece)),
        })
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
        let (useful, is_done) = match &mut pending.sharing {
            Some(all) => (all.arrived(now, copy.copy, fresh), all.is_whole()),
            None => {
                let enough = self.policy.quorum.min(pending.servers);
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
    /// What it was asked for is asked of others where bytes come by ranges, and of nobody where copies meet.
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
        if pending.sent < pending.servers {
            if let Some(due) = pending.due.take() {
                self.hedges.remove(&(due, copy.request));
            }
            self.send_next(now, copy.request);
            self.plan_hedge(now, copy.request);
            return true;
        }
        if pending.failed < pending.sent {
            self.spare(now, copy.request);
            return true;
        }
        self.abandon(copy.request);
        false
    }

    /// The application does not wait any more. Its copies are the driver's to purge.
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

    /// When a request's next copy is due.
    pub fn due(&self, request: RequestId) -> Option<Time> {
        self.pending.get(&request)?.due
    }

    /// Sends copies that are due, and takes work from copies that wait.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some(&(due, request)) = self.hedges.first()
            && due <= now
        {
            self.hedges.pop_first();
            if let Some(pending) = self.pending.get_mut(&request) {
                pending.due = None;
            }
            if self.may_spend() {
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

    /// When [`on_timeout`](Self::on_timeout) has something to do next.
    pub fn next_timeout(&self) -> Option<Time> {
        let firsts = [self.hedges.first(), self.idles.first()];
        firsts.into_iter().flatten().map(|(due, _)| *due).min()
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

    fn send_next(&mut self, now: Time, request: RequestId) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return;
        };
        if pending.sent == pending.servers {
            return;
        }
        let copy = pending.sent;
        pending.sent += 1;
        if !self.policy.asks_in_pieces() {
            let state = &mut pending.copies[usize::from(copy)];
            state.is_known = true;
            // Copies that meet are asked for the whole object.
            if let Some(sharing) = &mut pending.sharing {
                sharing.ask(now, copy);
            }
            let message = header(pending, request, copy, Purpose::Ask);
            self.out.push_back(message);
        }
        self.ask_for_more(now, CopyId { request, copy });
    }

    /// Asks a copy's server for the next pieces, where a copy is asked for one at a time.
    fn ask_for_more(&mut self, now: Time, copy: CopyId) {
        if !self.policy.asks_in_pieces() {
            return;
        }
        while let Some(pending) = self.pending.get_mut(&copy.request)
            && let Some(sharing) = &mut pending.sharing
            && let Some(range) = sharing.ask(now, copy.copy)
        {
            let state = &mut pending.copies[usize::from(copy.copy)];
            // There may have been nothing for it before.
            let purpose = match core::mem::replace(&mut state.is_known, true) {
                true => Purpose::More,
                false => Purpose::Ask,
            };
            let (server, message) = header(pending, copy.request, copy.copy, purpose);
            self.out
                .push_back((server, RequestHeader { range, ..message }));
        }
    }

    /// Gives copies that have nothing to do what others have not begun, where bytes come by ranges.
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
        let Some(pending) = self.forget(request) else {
            return;
        };
        self.latencies.add(now.since(pending.start));
        if let Some(scope) = self.policy.purge {
            for index in 0..pending.sent {
                // By ranges a server does not know which piece is the last one.
                let is_whole = self.policy.split == Split::Meet
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
            let message = header(pending, request, index, Purpose::Reprioritise);
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
) -> (HostId, RequestHeader) {
    let state = &pending.copies[usize::from(copy)];
    let order = match &pending.sharing {
        Some(Sharing::Meet(_)) => Aggregation::order(copy),
        Some(Sharing::Ranges(_)) | None => Order::Forwards,
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
