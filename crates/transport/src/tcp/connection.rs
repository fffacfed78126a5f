//! State of one connection: handshake, data in both directions, close, and the wait after the close (RFC 9293).

mod transmit;

use super::config::TcpConfig;
use super::congestion::{CongestionControl, EcnUse};
use super::endpoint::{ConnectionEvent, Shared};
use super::receiver::{Arrival, Receiver};
use super::sender::{AckInput, Sender};
use super::timers::TimerKey;
use crate::tcp::{TcpFlags, TcpHeader};
use crate::{Ecn, FlowStats, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, Time};

/// Identifier of a connection of one endpoint.
/// An identifier stays invalid after the connection has ended, even when another connection uses the same slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Role of this host in a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The host that sent the SYN.
    Opener,
    /// The host that answered the SYN.
    Acceptor,
}

/// Summary of a connection that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Flow that the connection transferred.
    pub flow: FlowId,
    /// Role of this host in the connection.
    pub role: Role,
    /// Cost of the connection at this end.
    pub stats: FlowStats,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The slot is not in use.
    Free,
    SynSent,
    SynReceived,
    /// The handshake is complete. This state lasts until both FINs are acknowledged.
    Established,
    /// The connection is closed, but still answers a peer that has not received the last ACK.
    Lingering,
}

/// ECN variant of this connection. The variant decides how the receiver echoes marks and how the sender reacts to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Negotiated {
    NoEcn,
    Classic,
    Accurate,
}

/// Whether a connection continues or ends after an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Lives,
    Ends,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Addresses and ports of the segments that this end sends.
    pub(crate) tuple: FiveTuple,
    pub(crate) flow: FlowId,
    pub(crate) generation: u32,
    /// Time of this connection's valid entry in the timer queue; `Time::MAX` without one.
    pub(crate) timer_at: Time,
    path: PathPin,
    pub(crate) state: State,
    pub(crate) role: Role,
    ecn: Negotiated,
    /// Class in which the slot waits to send; `None` if the slot does not wait.
    pub(crate) queued: Option<u8>,
    /// Whether a `Delivered` event waits in the event queue.
    pub(crate) delivery_queued: bool,
    /// Whether a SYN or SYN-ACK must be sent.
    syn_due: bool,
    /// Whether an ACK must be sent, with the next segment or alone.
    ack_due: bool,
    /// Number of timeouts of the SYN or SYN-ACK.
    syn_retries: u8,
    /// Whether a SYN or SYN-ACK was sent more than once.
    syn_resent: bool,
    syn_sent: bool,
}

impl Connection {
    /// Returns a new connection between the same ends for the same flow.
    pub(crate) fn anew(&self, config: &TcpConfig) -> Self {
        Self::new(config, self.role, self.tuple, self.flow, self.path)
    }

    pub(crate) fn new(
        config: &TcpConfig,
        role: Role,
        tuple: FiveTuple,
        flow: FlowId,
        path: PathPin,
    ) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(),
            tuple,
            flow,
            generation: 0,
            timer_at: Time::MAX,
            path,
            state: match role {
                Role::Opener => State::SynSent,
                Role::Acceptor => State::SynReceived,
            },
            role,
            ecn: Negotiated::NoEcn,
            queued: None,
            delivery_queued: false,
            syn_due: true,
            ack_due: false,
            syn_retries: 0,
            syn_resent: false,
            syn_sent: false,
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            flow: self.flow,
            role: self.role,
            stats: self.sender.stats(),
        }
    }

    fn id(&self, slot: u32) -> ConnectionId {
        ConnectionId {
            slot,
            generation: self.generation,
        }
    }

    /// Returns the ECN variant that this end supports.
    fn ecn_offer(&self, config: &TcpConfig) -> Negotiated {
        match self.sender.controller().ecn_use() {
            EcnUse::Accurate => Negotiated::Accurate,
            EcnUse::Classic if config.classic_ecn => Negotiated::Classic,
            EcnUse::Classic => Negotiated::NoEcn,
        }
    }

    // Input from the network.

    /// Handles the SYN that created this passive connection.
    pub(crate) fn on_first_syn(&mut self, flags: TcpFlags, config: &TcpConfig) {
        // A SYN offers ECN with both flags (RFC 3168, 6.1.1). DCTCP uses the same handshake.
        if flags.has(TcpFlags::ECE.with(TcpFlags::CWR)) {
            self.ecn = self.ecn_offer(config);
        }
    }

    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        now: Time,
        slot: u32,
        segment: &Segment,
        header: &TcpHeader,
        shared: &mut Shared,
    ) -> Fate {
        // All other segments of an established connection skip the state machine, because this path must be fast.
        let unusual = TcpFlags::SYN.with(TcpFlags::RST);
        if self.state != State::Established || header.flags.overlaps(unusual) {
            match self.on_unusual_segment(now, slot, segment.payload, header, shared) {
                Proceed::WithData => {}
                Proceed::No(fate) => return fate,
            }
        }
        let flags = header.flags;
        if flags.has(TcpFlags::ACK) {
            if !self.sender.accepts(header.ack) {
                // RFC 9293 (3.10.7.4) answers an ACK of data that was never sent with an ACK.
                // This implementation only counts a segment that acknowledges data that was never sent.
                shared.ignore();
                return Fate::Lives;
            }
            let input = AckInput {
                now,
                ack: header.ack,
                pure: segment.payload == 0 && !flags.has(TcpFlags::FIN),
                marked: self.ecn != Negotiated::NoEcn && flags.has(TcpFlags::ECE),
                blocks: &header.sack,
                echo: header.stamps.echo(),
            };
            self.sender.on_ack(&input, &shared.config);
        }
        if shared.config.timestamps {
            self.receiver.on_stamp(header.offset, header.stamps.stamp());
        }
        if segment.payload > 0 || flags.has(TcpFlags::FIN) {
            self.on_data(now, slot, segment, header, shared);
        }
        self.close_if_done(now, slot, shared);
        Fate::Lives
    }

    #[cold]
    fn on_unusual_segment(
        &mut self,
        now: Time,
        slot: u32,
        payload: u32,
        header: &TcpHeader,
        shared: &mut Shared,
    ) -> Proceed {
        let flags = header.flags;
        if flags.has(TcpFlags::RST) {
            // A reset causes an event only in SYN-SENT and ESTABLISHED.
            // In all other states the layer above does not know the connection yet, or has already received `Closed`.
            if matches!(self.state, State::SynSent | State::Established) {
                let event = ConnectionEvent::Reset {
                    id: self.id(slot),
                    summary: self.summary(),
                };
                shared.events.push_back(event);
            }
            return Proceed::No(Fate::Ends);
        }
        let (syn, ack) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK));
        match self.state {
            State::SynSent if syn && ack => {
                // A SYN-ACK accepts ECN with ECE alone, without CWR (RFC 3168, 6.1.1).
                if flags.has(TcpFlags::ECE) {
                    self.ecn = self.ecn_offer(&shared.config);
                }
                self.establish(now, shared);
                self.ack_due = true;
                shared
                    .events
                    .push_back(ConnectionEvent::Established { id: self.id(slot) });
                Proceed::No(Fate::Lives)
            }
            State::SynSent => {
                // The peer still has an older connection with the same addresses and ports.
                // The reset ends that connection, and the next SYN succeeds (RFC 9293, 3.5.1).
                if ack && !syn {
                    shared.control.push_back(self.reset_segment(&shared.config));
                }
                shared.ignore();
                Proceed::No(Fate::Lives)
            }
            // The peer has repeated its SYN, so the SYN-ACK may be lost.
            State::SynReceived if syn && !ack => {
                self.syn_due = true;
                Proceed::No(Fate::Lives)
            }
            // The SYN has no sequence number here, so the ACK of a SYN-ACK is 0.
            State::SynReceived if ack && header.ack == 0 && !syn => {
                self.establish(now, shared);
                shared.events.push_back(ConnectionEvent::Accepted {
                    id: self.id(slot),
                    tuple: self.tuple.reversed(),
                    flow: self.flow,
                    path: self.path,
                });
                Proceed::WithData
            }
            // The segment acknowledges data that was never sent, so the SYN was an old duplicate.
            State::SynReceived => {
                shared.ignore();
                Proceed::No(Fate::Ends)
            }
            // The peer has not received our last ACK, or this SYN is an old duplicate.
            State::Established | State::Lingering if syn => {
                self.push_ack(now, shared);
                Proceed::No(Fate::Lives)
            }
            State::Lingering if payload > 0 || flags.has(TcpFlags::FIN) => {
                self.push_ack(now, shared);
                Proceed::No(Fate::Lives)
            }
            State::Established => Proceed::WithData,
            State::Lingering | State::Free => Proceed::No(Fate::Lives),
        }
    }

    fn establish(&mut self, now: Time, shared: &Shared) {
        self.state = State::Established;
        self.syn_due = false;
        self.sender
            .on_established(now, self.syn_resent, &shared.config);
    }

    #[inline]
    fn on_data(
        &mut self,
        now: Time,
        slot: u32,
        segment: &Segment,
        header: &TcpHeader,
        shared: &mut Shared,
    ) {
        let marked = segment.ecn == Ecn::Marked;
        let mut at_once = false;
        if self.ecn != Negotiated::NoEcn {
            at_once = self.on_mark_bits(now, marked, header.flags, shared);
        }
        let finished = self.receiver.finished();
        let fin = header.flags.has(TcpFlags::FIN);
        let arrival = self.receiver.on_data(header.offset, segment.payload, fin);
        match arrival {
            Arrival::InOrder => {
                let config = &shared.config;
                let rto = self.sender.rtt().rto();
                if self.receiver.delay_ack(now, segment.payload, rto, config) || at_once {
                    self.ack_in_order(now, shared);
                }
            }
            Arrival::FilledHole if self.receiver.reports_twice() => {
                self.push_ack(now, shared);
                self.receiver.on_twice_reported();
            }
            Arrival::FilledHole => self.ack_in_order(now, shared),
            // Repeated or out-of-order segments get an immediate ACK, for the duplicate ACKs of RFC 5681, 4.2.
            Arrival::OutOfOrder | Arrival::Duplicate => {
                self.push_ack(now, shared);
                self.receiver.on_twice_reported();
                if arrival == Arrival::Duplicate {
                    self.receiver.on_duplicate(&shared.config);
                }
            }
        }
        if matches!(arrival, Arrival::InOrder | Arrival::FilledHole) {
            if shared.report_delivered && !self.delivery_queued && segment.payload > 0 {
                self.delivery_queued = true;
                // `poll_event` sets the total.
                let id = self.id(slot);
                shared
                    .events
                    .push_back(ConnectionEvent::Delivered { id, total: 0 });
            }
            if self.receiver.finished() && !finished {
                // The application may finish its own direction immediately.
                // If the application finishes immediately, one segment carries both the ACK and the FIN.
                self.ack_due = true;
                let total = self.receiver.delivered();
                shared.events.push_back(ConnectionEvent::PeerFinished {
                    id: self.id(slot),
                    total,
                });
            }
        }
    }

    /// Updates the ECN echo from the mark of a data segment. Returns whether the ACK must leave now.
    #[inline]
    fn on_mark_bits(
        &mut self,
        now: Time,
        marked: bool,
        flags: TcpFlags,
        shared: &mut Shared,
    ) -> bool {
        if self.ecn == Negotiated::Classic {
            if flags.has(TcpFlags::CWR) {
                self.receiver.echo = false;
            }
            // Classic ECN echoes a mark on every ACK until CWR arrives (RFC 3168, 6.1.3).
            // With classic ECN, a change of the mark needs no immediate ACK.
            if marked {
                self.receiver.on_classic_mark(&shared.config);
            }
            return false;
        }
        if marked == self.receiver.echo {
            return false;
        }
        // RFC 8257, 3.2: data that arrived before the change is acknowledged with the old ECN state.
        if self.receiver.holds_ack() {
            self.push_ack(now, shared);
        }
        self.receiver.echo = marked;
        true
    }

    /// Sends an ACK for data in order.
    /// The ACK is part of the next data segment or of the answer to a FIN, if one can leave now.
    #[inline]
    fn ack_in_order(&mut self, now: Time, shared: &mut Shared) {
        if self.receiver.finished() || self.sender.plan(&shared.config).is_some() {
            self.ack_due = true;
        } else {
            self.push_ack(now, shared);
        }
    }

    #[inline]
    fn push_ack(&mut self, now: Time, shared: &mut Shared) {
        let ack = self.send_ack(now, &shared.config);
        shared.control.push_back(self.build(&ack, &shared.config));
    }

    fn close_if_done(&mut self, now: Time, slot: u32, shared: &mut Shared) {
        if self.state == State::Established
            && self.receiver.finished()
            && self.sender.fin_acknowledged()
        {
            self.state = State::Lingering;
            self.sender.release();
            self.receiver.ack_deadline = Time::MAX;
            // RFC 9293 waits for two maximum segment lifetimes. See the deviations in the module `tcp`.
            let wait = self.sender.rtt().rto().saturating_mul(2);
            self.sender.rto_deadline = now.saturating_add(wait);
            let event = ConnectionEvent::Closed {
                id: self.id(slot),
                summary: self.summary(),
            };
            shared.events.push_back(event);
        }
    }

    // Input from the clock.

    /// Returns the expiry of the next timer; `Time::MAX` if no timer is set.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.sender.rto_deadline.min(self.receiver.ack_deadline)
    }

    /// Adds an entry to the timer queue, unless the queue has an early enough entry for this connection.
    #[inline]
    pub(crate) fn arm(&mut self, slot: u32, shared: &mut Shared) {
        let deadline = self.deadline();
        if deadline < self.timer_at {
            self.timer_at = deadline;
            let key = TimerKey {
                slot,
                generation: self.generation,
            };
            shared.timers.insert(deadline, key);
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Time, slot: u32, shared: &mut Shared) -> Fate {
        // Both timers share one entry in the queue, so one timer or both may be due.
        if self.receiver.ack_deadline <= now {
            self.receiver.on_ack_timer();
            self.push_ack(now, shared);
        }
        if self.sender.rto_deadline > now {
            return Fate::Lives;
        }
        match self.state {
            State::Free | State::Lingering => Fate::Ends,
            State::SynSent | State::SynReceived => {
                let linear = match self.role {
                    Role::Opener => shared.config.linear_syn_timeouts,
                    Role::Acceptor => 0,
                };
                self.sender.on_syn_timeout(linear, &shared.config);
                self.syn_retries = self.syn_retries.saturating_add(1);
                if self.syn_retries <= shared.config.max_syn_retries {
                    self.syn_due = true;
                    return Fate::Lives;
                }
                // The layer above is not notified of a passive connection before the end of its handshake.
                if self.role == Role::Opener {
                    self.fail(slot, shared);
                }
                Fate::Ends
            }
            State::Established => {
                if self.sender.on_timeout(now, &shared.config) {
                    // The peer may still exist. A reset (RFC 9293, 3.10.5) also ends the peer's side of the connection.
                    shared.control.push_back(self.reset_segment(&shared.config));
                    self.fail(slot, shared);
                    return Fate::Ends;
                }
                Fate::Lives
            }
        }
    }

    fn fail(&self, slot: u32, shared: &mut Shared) {
        let event = ConnectionEvent::Failed {
            id: self.id(slot),
            summary: self.summary(),
        };
        shared.events.push_back(event);
    }

    // Output.

    /// Returns whether `transmit` would return a segment.
    #[inline]
    pub(crate) fn wants_transmit(&self, config: &TcpConfig) -> bool {
        match self.state {
            State::Established => self.ack_due || self.sender.plan(config).is_some(),
            State::SynSent | State::SynReceived => self.syn_due,
            State::Lingering => self.ack_due,
            State::Free => false,
        }
    }

    /// Returns the class in which the connection waits to send: the class of its next segment.
    #[inline]
    pub(crate) fn turn(&self, config: &TcpConfig) -> u8 {
        let Some(tags) = config.tags.as_ref().filter(|tags| tags.in_order) else {
            return 0;
        };
        let plan = match self.state {
            State::Established => self.sender.plan(config),
            _ => None,
        };
        let sent = self.sender.stats().payload_sent;
        // Segments without data have the highest class.
        plan.map_or(0, |plan| self.sender.class(tags, plan.offset, sent))
    }
}

/// Decision after an unusual segment: whether its data is processed as usual.
enum Proceed {
    WithData,
    No(Fate),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With this limit a host with a thousand flows fits into the cache.
    #[test]
    fn a_connection_has_at_most_344_bytes() {
        let size = size_of::<Connection>();
        assert!(size <= 344, "{size} bytes");
    }
}
