//! Sessions of one host, with their segments and events. NDP, SCDP and pFabric share this part of a host.

use super::{Directory, Register, SessionKey, Sessions, Side};
use crate::tcp::timers::Timers;
use crate::{Condition, Event, FlowStats, Segment};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Sending half of a session.
pub(crate) trait Sending {
    /// Returns the number of the flow that the session sends.
    fn flow(&self) -> FlowId;
    /// Returns the statistics of the flow so far.
    fn stats(&self) -> FlowStats;
    /// Returns the addresses with which the session sends, one tuple for each receiver.
    fn tuples(&self) -> impl Iterator<Item = FiveTuple>;
    /// Returns whether the session has ended. It may still be in time-wait.
    fn is_closed(&self) -> bool;
    /// Ends the session, so that it sends no more packets.
    fn close(&mut self);
    /// Returns the time of the earliest entry of the session in the timer queue; [`Time::MAX`] without an entry.
    fn timer_at(&mut self) -> &mut Time;
}

/// Receiving half of a session.
pub(crate) trait Receiving {
    /// Returns the number that this host uses for the flow.
    fn flow(&self) -> FlowId;
    /// Returns the addresses of the answers, one tuple for each sender.
    fn tuples(&self) -> impl Iterator<Item = FiveTuple>;
    /// Returns whether the whole flow has arrived.
    fn is_complete(&self) -> bool;
    /// Returns the arrival time of the last segment of the session.
    fn heard_at(&self) -> Time;
}

/// Sessions of one host.
#[derive(Debug)]
pub(crate) struct SessionTable<S, R> {
    pub(crate) host: HostId,
    pub(crate) directory: Directory,
    pub(crate) senders: Sessions<S>,
    pub(crate) receivers: Sessions<R>,
    /// Control packets, which leave before data.
    pub(crate) control: VecDeque<Segment>,
    /// Deadlines of senders. An entry is stale if its time differs from [`Sending::timer_at`] of the sender.
    pub(crate) timers: Timers,
    pub(crate) events: VecDeque<Event>,
    pub(crate) register: Register,
    /// Number of sessions that have not ended. Sessions in time-wait are not counted.
    pub(crate) open: usize,
    /// Number of dropped segments that were invalid or belonged to no session.
    pub(crate) ignored: u64,
}

impl<S: Sending, R: Receiving> SessionTable<S, R> {
    /// Returns an empty table for `host`, which accepts flows on `port`.
    /// Addresses stay reserved for `time_wait` after the end of a session.
    pub(crate) fn new(host: HostId, port: u16, time_wait: Duration) -> Self {
        Self {
            host,
            directory: Directory::new(host, port, time_wait),
            senders: Sessions::new(),
            receivers: Sessions::new(),
            control: VecDeque::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            register: Register::default(),
            open: 0,
            ignored: 0,
        }
    }

    /// Reports that a flow could not start, for example because all ports are in use.
    pub(crate) fn fail(&mut self, flow: FlowId) {
        let failed = Event::Failed(flow, FlowStats::default());
        self.events.push_back(failed);
    }

    /// Adds a sending session and enters its addresses.
    pub(crate) fn add_sender(&mut self, sender: S) -> SessionKey {
        let flow = sender.flow();
        let key = self.senders.insert(sender);
        if let Some(sender) = self.senders.get(key) {
            for tuple in sender.tuples() {
                self.directory.enter(&tuple, Side::Sender, key);
            }
        }
        self.open += 1;
        // Receiver-driven transports have no handshake, so the flow is established immediately.
        self.events.push_back(Event::Established(flow));
        key
    }

    /// Adds a receiving session and enters its addresses.
    pub(crate) fn add_receiver(&mut self, receiver: R) -> SessionKey {
        let key = self.receivers.insert(receiver);
        if let Some(receiver) = self.receivers.get(key) {
            for tuple in receiver.tuples() {
                self.directory.enter(&tuple, Side::Receiver, key);
            }
        }
        self.open += 1;
        key
    }

    /// Returns the open sending session to which an answer or a returned header belongs, with its key.
    /// Segments for other sessions are counted as ignored.
    #[inline]
    pub(crate) fn sender_of(&mut self, segment: &Segment) -> Option<(SessionKey, &mut S)> {
        let found = match segment.condition {
            // A returned header still has the addresses with which this host sent it.
            Condition::Returned => self.directory.returning(&segment.tuple),
            Condition::Whole | Condition::Trimmed => self.directory.arriving(&segment.tuple),
        };
        let Some((Side::Sender, slot)) = found else {
            self.ignored += 1;
            return None;
        };
        let (key, sender) = self.senders.at(slot)?;
        // Late answers during the time-wait are normal, so they are not counted as ignored.
        if sender.is_closed() {
            return None;
        }
        if sender.flow() != segment.flow {
            self.ignored += 1;
            return None;
        }
        Some((key, sender))
    }

    /// Returns the session of this host that an answer with these addresses belongs to.
    pub(crate) fn answered(&mut self, tuple: &FiveTuple) -> Option<&S> {
        let Some((Side::Sender, slot)) = self.directory.arriving(tuple) else {
            return None;
        };
        self.senders.at(slot).map(|(_, sender)| &*sender)
    }

    /// Returns the open session that sends `flow`, with its key. Only flows in the register are found.
    pub(crate) fn outgoing(&mut self, flow: FlowId) -> Option<(SessionKey, &mut S)> {
        let key = *self.register.outgoing.get(&flow)?;
        Some((key, self.senders.get_mut(key)?))
    }

    /// Returns the next sender whose timer is due, and clears that timer.
    pub(crate) fn next_due(&mut self, now: Time) -> Option<SessionKey> {
        while let Some((at, key)) = self.timers.pop_due(now) {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            if at == *sender.timer_at() {
                *sender.timer_at() = Time::MAX;
                return Some(key);
            }
        }
        None
    }

    /// Ends a sending session and reports `event`, unless it has already ended.
    pub(crate) fn end(
        &mut self,
        now: Time,
        key: SessionKey,
        event: fn(FlowId, FlowStats) -> Event,
    ) {
        let closed = self.close(now, key);
        self.events
            .extend(closed.map(|(flow, stats)| event(flow, stats)));
    }

    /// Ends a sending session without an event. Returns the flow and its statistics.
    fn close(&mut self, now: Time, key: SessionKey) -> Option<(FlowId, FlowStats)> {
        let sender = self.senders.get_mut(key).filter(|one| !one.is_closed())?;
        let (flow, stats) = (sender.flow(), sender.stats());
        sender.close();
        self.register.outgoing.remove(&flow);
        self.open -= 1;
        self.directory.wait(now, Side::Sender, key);
        Some((flow, stats))
    }

    /// Stops a flow that this host sends, and returns its statistics. The method searches all sessions.
    pub(crate) fn cancel(&mut self, now: Time, flow: FlowId) -> Option<(SessionKey, FlowStats)> {
        let is_it = |sender: &S| !sender.is_closed() && sender.flow() == flow;
        let key = self.senders.find(is_it)?;
        Some((key, self.close(now, key)?.1))
    }

    /// Stops a flow that this host sends, and returns its statistics. Only flows in the register are found.
    pub(crate) fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let key = *self.register.outgoing.get(&flow)?;
        Some(self.close(now, key)?.1)
    }

    /// Ends a flow that this host receives, and calls `stop` for its session. Only flows in the register are found.
    /// Returns `false` if the register does not contain the flow.
    pub(crate) fn refuse(&mut self, now: Time, flow: FlowId, stop: impl FnOnce(&mut R)) -> bool {
        let Some(key) = self.register.incoming.remove(&flow) else {
            return false;
        };
        let Some(receiver) = self.receivers.get_mut(key) else {
            return false;
        };
        stop(receiver);
        self.open -= 1;
        self.directory.wait(now, Side::Receiver, key);
        true
    }

    /// Returns the statistics of a flow so far. Only flows in the register are found.
    pub(crate) fn cost(&self, flow: FlowId) -> Option<FlowStats> {
        let key = *self.register.outgoing.get(&flow)?;
        self.senders.get(key).map(Sending::stats)
    }

    /// Reports that a flow has arrived completely. The time-wait of its receiver starts.
    pub(crate) fn complete(&mut self, now: Time, key: SessionKey, flow: FlowId) {
        self.open -= 1;
        self.register.incoming.remove(&flow);
        self.events.push_back(Event::Completed(flow));
        self.directory.wait(now, Side::Receiver, key);
    }

    /// Removes the receiver at `key` if a segment of another session with the same addresses may replace it.
    /// If the receiver must stay, the segment is counted as ignored. `opens`: the segment can open a session.
    pub(crate) fn make_way(&mut self, now: Time, key: SessionKey, opens: bool) -> bool {
        let old = self.receivers.get(key).filter(|old| {
            let (complete, heard_at) = (old.is_complete(), old.heard_at());
            opens && self.directory.may_be_replaced(now, complete, heard_at)
        });
        let Some(old) = old else {
            self.ignored += 1;
            return false;
        };
        // A complete receiver was already subtracted from the number of open sessions.
        if !old.is_complete() {
            self.open -= 1;
            self.register.incoming.remove(&old.flow());
        }
        self.remove_receiver(key, |_| {});
        true
    }

    /// Removes sessions whose time-wait has ended.
    /// Hosts remove ended sessions when a session opens, so no timer is needed.
    /// The time-wait of a receiver starts again with each segment that arrives.
    /// The function calls `left` for each removed receiver.
    pub(crate) fn forget(&mut self, now: Time, mut left: impl FnMut(&R)) {
        while let Some((side, key)) = self.directory.waited(now) {
            if side == Side::Sender {
                if let Some(sender) = self.senders.remove(key) {
                    for tuple in sender.tuples() {
                        self.directory.remove(&tuple);
                    }
                }
            } else if let Some(receiver) = self.receivers.get(key) {
                // A segment arrived during the time-wait, so more segments may still be in the network.
                if self.directory.is_waiting(now, receiver.heard_at()) {
                    self.directory.wait(now, side, key);
                } else {
                    self.remove_receiver(key, &mut left);
                }
            }
        }
    }

    /// Removes a receiver and its addresses, and calls `left` for the receiver.
    pub(crate) fn remove_receiver(&mut self, key: SessionKey, left: impl FnOnce(&R)) {
        if let Some(receiver) = self.receivers.remove(key) {
            left(&receiver);
            for tuple in receiver.tuples() {
                self.directory.remove(&tuple);
            }
        }
    }

    /// Returns the flows that this host still sends, with their statistics.
    pub(crate) fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.senders.iter().filter(|sender| !sender.is_closed());
        open.map(|sender| (sender.flow(), sender.stats())).collect()
    }
}

/// Adds a timer for a sender's deadline, unless the sender has an earlier timer.
/// If the deadline has moved to a later time, the sender is checked at its old deadline too.
#[inline]
pub(crate) fn arm<S: Sending>(
    timers: &mut Timers,
    key: SessionKey,
    sender: &mut S,
    deadline: Option<Time>,
) {
    if let Some(deadline) = deadline
        && deadline < *sender.timer_at()
    {
        *sender.timer_at() = deadline;
        timers.insert(deadline, key);
    }
}
