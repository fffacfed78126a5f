//! One connection: handshake, data both ways, close, and a wait after it (RFC 9293).

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

/// Names a connection of one endpoint. One whose connection has ended names nothing, even when its
/// slot is in use again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Which end of a connection this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It sent the SYN.
    Opener,
    /// It answered the SYN.
    Acceptor,
}

/// A connection that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The flow that the connection carried.
    pub flow: FlowId,
    /// Which end this is.
    pub role: Role,
    /// What the connection cost this end.
    pub stats: FlowStats,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The slot is not in use.
    Free,
    SynSent,
    SynReceived,
    /// From the handshake until both FINs are acknowledged.
    Established,
    /// Closed; answers a peer that missed the last ACK.
    Lingering,
}

/// How marks are echoed and answered on this connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Negotiated {
    NoEcn,
    Classic,
    Accurate,
}

/// What is left of a connection after an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Lives,
    Ends,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// As this end sends.
    pub(crate) tuple: FiveTuple,
    pub(crate) flow: FlowId,
    pub(crate) generation: u32,
    /// When this connection's live entry in the timer queue fires; `Time::MAX` without one.
    pub(crate) timer_at: Time,
    path: PathPin,
    pub(crate) state: State,
    pub(crate) role: Role,
    ecn: Negotiated,
    /// The class in which the slot waits for its turn to send, if it does.
    pub(crate) queued: Option<u8>,
    /// A `Delivered` event waits to be polled.
    pub(crate) delivery_queued: bool,
    /// A SYN or SYN-ACK is to be sent.
    syn_due: bool,
    /// An ACK is to be sent with the next segment, or alone.
    ack_due: bool,
    /// How often the SYN or SYN-ACK timed out.
    syn_retries: u8,
    /// Whether a SYN or SYN-ACK was sent more than once.
    syn_resent: bool,
    syn_sent: bool,
}

impl Connection {
    /// One between the same ends for the same flow, of which nothing has happened.
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

    /// The ECN that this end is willing to use.
    fn ecn_offer(&self, config: &TcpConfig) -> Negotiated {
        match self.sender.controller().ecn_use() {
            EcnUse::Accurate => Negotiated::Accurate,
            EcnUse::Classic if config.classic_ecn => Negotiated::Classic,
            EcnUse::Classic => Negotiated::NoEcn,
        }
    }

    // Input from the network.

    /// The SYN that made this passive connection.
    pub(crate) fn on_first_syn(&mut self, flags: TcpFlags, config: &TcpConfig) {
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
                shared.ignored += 1;
                return Fate::Lives;
            }
            let input = AckInput {
                now,
                ack: header.ack,
                pure: segment.payload == 0 && !flags.has(TcpFlags::FIN),
                marked: self.ecn != Negotiated::NoEcn && flags.has(TcpFlags::ECE),
                blocks: &header.sack,
            };
            self.sender.on_ack(&input, &shared.config);
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
                // A peer that still holds an older connection of this name: let it go, and the next
                // SYN finds the way free (RFC 9293, 3.5.1).
                if ack && !syn {
                    shared.control.push_back(self.reset_segment(&shared.config));
                }
                shared.ignored += 1;
                Proceed::No(Fate::Lives)
            }
            State::SynReceived if syn && !ack => {
                self.syn_due = true;
                Proceed::No(Fate::Lives)
            }
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
            // An ACK of what was never sent: the SYN was an old duplicate.
            State::SynReceived => {
                shared.ignored += 1;
                Proceed::No(Fate::Ends)
            }
            // The peer has not seen our last ACK, or this is an old duplicate.
            State::Established | State::Lingering if syn => {
                self.push_ack(shared);
                Proceed::No(Fate::Lives)
            }
            State::Lingering if payload > 0 || flags.has(TcpFlags::FIN) => {
                self.push_ack(shared);
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
            at_once = self.on_mark_bits(marked, header.flags, shared);
        }
        let finished = self.receiver.finished();
        let fin = header.flags.has(TcpFlags::FIN);
        let arrival = self.receiver.on_data(header.offset, segment.payload, fin);
        match arrival {
            Arrival::InOrder => {
                let config = &shared.config;
                if self.receiver.delay_ack(now, segment.payload, config) || at_once {
                    self.ack_in_order(shared);
                }
            }
            Arrival::FilledHole => self.ack_in_order(shared),
            Arrival::OutOfOrder | Arrival::Duplicate => self.push_ack(shared),
        }
        if matches!(arrival, Arrival::InOrder | Arrival::FilledHole) {
            if shared.report_delivered && !self.delivery_queued && segment.payload > 0 {
                self.delivery_queued = true;
                let id = self.id(slot);
                shared
                    .events
                    .push_back(ConnectionEvent::Delivered { id, total: 0 });
            }
            if self.receiver.finished() && !finished {
                // The application may finish its own direction at once: then one segment does both.
                self.ack_due = true;
                let total = self.receiver.delivered();
                shared.events.push_back(ConnectionEvent::PeerFinished {
                    id: self.id(slot),
                    total,
                });
            }
        }
    }

    /// Follows the marks of data segments. Says whether the ACK must not be held back.
    #[inline]
    fn on_mark_bits(&mut self, marked: bool, flags: TcpFlags, shared: &mut Shared) -> bool {
        if self.ecn == Negotiated::Classic {
            if flags.has(TcpFlags::CWR) {
                self.receiver.echo = false;
            }
            self.receiver.echo |= marked;
            return false;
        }
        if marked == self.receiver.echo {
            return false;
        }
        // RFC 8257, 3.2: what came before the change is acknowledged with the state before it.
        if self.receiver.holds_ack() {
            self.push_ack(shared);
        }
        self.receiver.echo = marked;
        true
    }

    /// An ACK is due for data in order: it rides on data where there is some to send, or on the
    /// answer to a FIN.
    #[inline]
    fn ack_in_order(&mut self, shared: &mut Shared) {
        if self.receiver.finished() || self.sender.plan(&shared.config).is_some() {
            self.ack_due = true;
        } else {
            self.push_ack(shared);
        }
    }

    #[inline]
    fn push_ack(&mut self, shared: &mut Shared) {
        let ack = self.send_ack();
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

    /// When something is due next; `Time::MAX` for never.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.sender.rto_deadline.min(self.receiver.ack_deadline)
    }

    /// Puts an entry in the timer queue if the live one would come too late.
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
        if self.receiver.ack_deadline <= now {
            self.push_ack(shared);
        }
        if self.sender.rto_deadline > now {
            return Fate::Lives;
        }
        match self.state {
            State::Free | State::Lingering => Fate::Ends,
            State::SynSent | State::SynReceived => {
                self.sender.on_syn_timeout(&shared.config);
                self.syn_retries = self.syn_retries.saturating_add(1);
                if self.syn_retries <= shared.config.max_syn_retries {
                    self.syn_due = true;
                    return Fate::Lives;
                }
                if self.role == Role::Opener {
                    self.fail(slot, shared);
                }
                Fate::Ends
            }
            State::Established => {
                if self.sender.on_timeout(now, &shared.config) {
                    // The peer may still be there: an abort (RFC 9293, 3.10.5) lets it go too.
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

    /// Whether `transmit` would give a segment.
    #[inline]
    pub(crate) fn wants_transmit(&self, config: &TcpConfig) -> bool {
        match self.state {
            State::Established => self.ack_due || self.sender.plan(config).is_some(),
            State::SynSent | State::SynReceived => self.syn_due,
            State::Lingering => self.ack_due,
            State::Free => false,
        }
    }

    /// The class in which it waits for its turn: that of its next segment.
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
        plan.map_or(0, |plan| tags.class(plan.offset, sent))
    }
}

/// Whether a segment goes on to the common path.
enum Proceed {
    WithData,
    No(Fate),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with a thousand flows must not spill the cache: five lines a connection.
    #[test]
    fn connection_fits_five_cache_lines() {
        let size = size_of::<Connection>();
        assert!(size <= 320, "{size} bytes");
    }
}
