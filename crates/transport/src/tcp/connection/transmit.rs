//! Segments that a connection sends: data, ACKs, SYNs and resets.
//!
//! Without `control_ect` only data is ECN-capable, also under DCTCP (RFC 3168, 6.1.1 and 6.1.4).
//! Resets are never ECN-capable.

use super::{Connection, Negotiated, Role, State};
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Plan;
use crate::tcp::{Stamp, Stamps, TcpFlags, TcpHeader};
use crate::{Condition, Ecn, Header, Segment};
use tailcut_units::Time;

impl Connection {
    /// Returns the next segment to send, if any.
    /// The caller first updates the connection and then calls [`build`](Self::build).
    /// So the segment is written only once, directly to its destination in memory.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, config: &TcpConfig) -> Option<Outgoing> {
        if self.state == State::Established {
            if let Some(plan) = self.sender.plan(config) {
                return Some(self.send_data(now, &plan, config));
            }
            self.sender.on_blocked();
        }
        if self.ack_due {
            return Some(self.send_ack(now, config));
        }
        self.syn_due.then(|| self.send_syn(now, config))
    }

    #[inline]
    fn send_data(&mut self, now: Time, plan: &Plan, config: &TcpConfig) -> Outgoing {
        let again = self.sender.on_sent(now, plan, config);
        self.receiver.on_data_sent(now, config);
        // Each data segment contains the newest ACK, so a delayed ACK need not leave separately.
        let mut outgoing = self.send_ack(now, config);
        outgoing.offset = plan.offset;
        outgoing.payload = plan.payload;
        if plan.fin {
            outgoing.flags = outgoing.flags.with(TcpFlags::FIN);
        }
        // RFC 3168, 6.1.5: retransmissions are not ECN-capable.
        // But switches for DCTCP may drop segments that are not ECN-capable.
        // All data of DCTCP is therefore ECN-capable (as in Linux).
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
    pub(super) fn send_ack(&mut self, now: Time, config: &TcpConfig) -> Outgoing {
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
            ecn: control_ecn(self.ecn, config),
            stamps: self.stamps(now, config),
        }
    }

    fn send_syn(&mut self, now: Time, config: &TcpConfig) -> Outgoing {
        self.syn_due = false;
        self.sender.on_syn_sent(now, self.syn_sent);
        // A SYN that was sent twice gives no round-trip sample (Karn's algorithm).
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
        let ecn = match self.role {
            Role::Opener => self.ecn_offer(config),
            Role::Acceptor => self.ecn,
        };
        Outgoing {
            offset: 0,
            payload: 0,
            flags,
            ecn: control_ecn(ecn, config),
            stamps: self.stamps(now, config),
        }
    }

    #[inline]
    fn stamps(&self, now: Time, config: &TcpConfig) -> Stamps {
        if config.timestamps {
            Stamps::new(Stamp::at(now), self.receiver.stamp())
        } else {
            Stamps::default()
        }
    }

    /// Returns a reset, which reports to the peer that this connection has ended.
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
                stamps: Stamps::default(),
            },
            config,
        )
    }

    /// Returns the segment for `outgoing`, with an acknowledgment of all data that has arrived.
    #[inline]
    pub(crate) fn build(&self, outgoing: &Outgoing, config: &TcpConfig) -> Segment {
        let acknowledges = outgoing.flags.has(TcpFlags::ACK);
        Segment {
            tuple: self.tuple,
            flow: self.flow,
            payload: outgoing.payload,
            ecn: outgoing.ecn,
            // The class depends on the bytes sent before this segment, and `payload_sent` already includes the segment.
            priority: config.tags.as_ref().map_or(0, |tags| {
                let sent = self.sender.stats().payload_sent;
                let sent = sent - u64::from(outgoing.payload);
                self.sender.class(tags, outgoing.offset, sent)
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
                    self.receiver.sack_blocks(config.detects_by_time())
                } else {
                    Default::default()
                },
                stamps: outgoing.stamps,
                ..TcpHeader::default()
            }),
        }
    }
}

/// Returns the ECN field of segments without data.
#[inline]
fn control_ecn(ecn: Negotiated, config: &TcpConfig) -> Ecn {
    if config.control_ect && ecn == Negotiated::Accurate {
        Ecn::Capable
    } else {
        Ecn::NotCapable
    }
}

/// Fields of a segment that is about to be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outgoing {
    offset: u64,
    payload: u32,
    flags: TcpFlags,
    ecn: Ecn,
    stamps: Stamps,
}
