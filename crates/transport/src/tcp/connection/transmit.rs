//! What a connection sends: data, ACKs, SYNs and resets as segments.

use super::{Connection, Negotiated, Role, State};
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Plan;
use crate::tcp::{TcpFlags, TcpHeader};
use crate::{Condition, Ecn, Header, Segment};
use tailcut_units::Time;

impl Connection {
    /// What leaves next, if anything. The caller settles the connection and only then lets it
    /// [`build`](Self::build) the segment, so that the segment is written once, where it goes.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, config: &TcpConfig) -> Option<Outgoing> {
        if self.state == State::Established {
            if let Some(plan) = self.sender.plan(config) {
                return Some(self.send_data(now, &plan, config));
            }
            self.sender.on_blocked();
        }
        if self.ack_due {
            return Some(self.send_ack());
        }
        self.syn_due.then(|| self.send_syn(now, config))
    }

    #[inline]
    fn send_data(&mut self, now: Time, plan: &Plan, config: &TcpConfig) -> Outgoing {
        let again = self.sender.on_sent(now, plan, config);
        let mut outgoing = self.send_ack();
        outgoing.offset = plan.offset;
        outgoing.payload = plan.payload;
        if plan.fin {
            outgoing.flags = outgoing.flags.with(TcpFlags::FIN);
        }
        // RFC 3168, 6.1.5: nothing that repeats bytes is ECN-capable. DCTCP's switches may drop what
        // is not, so that DCTCP makes all its data capable (as Linux does).
        let capable = match self.ecn {
            Negotiated::NoEcn => false,
            Negotiated::Classic => !again,
            Negotiated::Accurate => true,
        };
        if capable && plan.payload > 0 {
            outgoing.ecn = Ecn::Capable;
            if self.sender.take_reduced() {
                outgoing.flags = outgoing.flags.with(TcpFlags::CWR);
            }
        }
        outgoing
    }

    #[inline]
    pub(super) fn send_ack(&mut self) -> Outgoing {
        self.ack_due = false;
        self.receiver.on_ack_sent();
        let mut flags = TcpFlags::ACK;
        if self.receiver.echo {
            flags = flags.with(TcpFlags::ECE);
        }
        let offset = self.sender.next_offset();
        Outgoing {
            offset,
            payload: 0,
            flags,
            ecn: Ecn::NotCapable,
        }
    }

    fn send_syn(&mut self, now: Time, config: &TcpConfig) -> Outgoing {
        self.syn_due = false;
        self.sender.on_syn_sent(now, self.syn_sent);
        self.syn_resent |= self.syn_sent;
        self.syn_sent = true;
        let flags = match (self.role, self.ecn_offer(config)) {
            (Role::Opener, Negotiated::NoEcn) => TcpFlags::SYN,
            (Role::Opener, _) => TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR),
            (Role::Acceptor, _) if self.ecn == Negotiated::NoEcn => {
                TcpFlags::SYN.with(TcpFlags::ACK)
            }
            (Role::Acceptor, _) => TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE),
        };
        Outgoing {
            offset: 0,
            payload: 0,
            flags,
            ecn: Ecn::NotCapable,
        }
    }

    /// The segment that tells the peer that this connection is no more.
    pub(crate) fn reset_segment(&self, config: &TcpConfig) -> Segment {
        let offset = self.sender.next_offset();
        let flags = TcpFlags::RST;
        let ecn = Ecn::NotCapable;
        self.build(
            &Outgoing {
                offset,
                payload: 0,
                flags,
                ecn,
            },
            config,
        )
    }

    /// The segment for `outgoing`, with the acknowledgment of all that has arrived.
    #[inline]
    pub(crate) fn build(&self, outgoing: &Outgoing, config: &TcpConfig) -> Segment {
        let acknowledges = outgoing.flags.has(TcpFlags::ACK);
        Segment {
            tuple: self.tuple,
            flow: self.flow,
            payload: outgoing.payload,
            ecn: outgoing.ecn,
            priority: config.tags.as_ref().map_or(0, |tags| {
                let sent = self.sender.stats().payload_sent;
                tags.class(outgoing.offset, sent - u64::from(outgoing.payload))
            }),
            path: self.path,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header: Header::Tcp(TcpHeader {
                flags: outgoing.flags,
                offset: outgoing.offset,
                ack: if acknowledges {
                    self.receiver.next()
                } else {
                    0
                },
                sack: if config.sack {
                    self.receiver.sack_blocks()
                } else {
                    Default::default()
                },
                ..TcpHeader::default()
            }),
        }
    }
}

/// A segment about to be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outgoing {
    offset: u64,
    payload: u32,
    flags: TcpFlags,
    ecn: Ecn,
}
