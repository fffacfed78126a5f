//! Segments as packets, and back.

use crate::layer::PurgeKeys;
use crate::paths::EcmpHash;
use tailcut_fabric::{Delivery, Handshake, Hints, Packet};
use tailcut_transport::{Condition, Header, Message, PathPin, Replication, Segment, TcpFlags};
use tailcut_units::Ecn;
use tailcut_workload::{Flow, Framing};

/// How segments become packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub framing: Framing,
    /// Bytes more on packets to a group.
    pub group_header: u32,
    /// What switches hash by.
    pub hash: EcmpHash,
}

/// A flow of the workload as its sender's host is told of it.
pub(crate) fn message(flow: &Flow, replication: Replication) -> Message {
    Message {
        flow: flow.id,
        dst: flow.dst,
        bytes: flow.bytes,
        path: flow.path.map_or(PathPin::NONE, PathPin::to),
        replication,
    }
}

/// The segment that a packet brings.
#[inline]
pub(crate) fn unpacked(delivery: &Delivery<Segment>) -> Segment {
    carried(&delivery.packet, &delivery.body)
}

/// The segment that a packet carries: as it was sent, but for what switches have done to it.
#[inline]
pub fn carried(packet: &Packet, sent: &Segment) -> Segment {
    let mut segment = *sent;
    if packet.ecn == Ecn::Marked {
        segment.ecn = Ecn::Marked;
    }
    if packet.trimmed {
        segment.condition = if packet.returned {
            Condition::Returned
        } else {
            Condition::Trimmed
        };
    }
    segment
}

/// What switches are told of a packet beside its header: of a handshake, how they know its answer, and what
/// it purges or is purged by.
#[inline]
pub(crate) fn hints(packet: &Packet, segment: &Segment, purge_keys: Option<PurgeKeys>) -> Hints {
    let mut hints = Hints::NONE;
    if packet.handshake != Handshake::None {
        hints.reverse_hash = segment.tuple.reversed().hash();
    }
    if let Some(PurgeKeys { of, purged_by }) = purge_keys {
        hints.purge_key = of(segment);
        hints.purges = purged_by(segment);
    }
    hints
}

impl Packing {
    /// The packet that carries a segment: the payload with its header bytes, padding, preamble and gap.
    #[inline]
    pub fn packet(&self, segment: &Segment) -> Packet {
        let framing = &self.framing;
        let group_header = if segment.tuple.dst.is_group() {
            self.group_header
        } else {
            0
        };
        Packet {
            src: segment.tuple.src,
            dst: segment.tuple.dst,
            flow_hash: self.hash.of(&segment.tuple),
            size: framing.wire_bytes(segment.payload) + group_header,
            priority: segment.priority,
            ecn: segment.ecn,
            path: segment.path.index().unwrap_or(Packet::ANY_PATH),
            rank: segment.rank,
            handshake: handshake(segment),
            trimmed_size: if segment.trimmable {
                (framing.wire_bytes(0) + group_header) as u16
            } else {
                0
            },
            ..Packet::default()
        }
    }
}

/// The segment's part in the handshake of a connection.
#[inline]
const fn handshake(segment: &Segment) -> Handshake {
    match &segment.header {
        Header::Tcp(header) if header.flags.has(TcpFlags::SYN) => {
            if header.flags.has(TcpFlags::ACK) {
                Handshake::Answer
            } else {
                Handshake::Open
            }
        }
        _ => Handshake::None,
    }
}
