//! Segments as packets, and back.

use tailcut_design::EcmpHash;
use tailcut_fabric::{Delivery, Handshake, Hints, Packet};
use tailcut_transport::tcp::TcpFlags;
use tailcut_transport::{Condition, Header, Segment};
use tailcut_units::Ecn;
use tailcut_workload::Framing;

/// How segments become packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub framing: Framing,
    /// Bytes more on packets to a group.
    pub group_header: u32,
    /// What switches hash by.
    pub hash: EcmpHash,
    /// Which packets take others with them at switches; `None` where none do.
    pub purge_keys: Option<PurgeKeys>,
}

/// Packets that take others along at switches: by keys, 0 for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PurgeKeys {
    /// The key of a segment.
    pub of: fn(&Segment) -> u64,
    /// The key of the segments that one takes along.
    pub purged_by: fn(&Segment) -> u64,
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

impl Packing {
    /// Whether switches are told more of a packet than its header.
    #[inline]
    pub fn has_hints(&self, packet: &Packet) -> bool {
        packet.handshake != Handshake::None || self.purge_keys.is_some()
    }

    /// What switches are told of a packet beside its header: of a handshake, how they know its answer, and
    /// what it purges or is purged by.
    #[inline]
    pub fn hints(&self, packet: &Packet, segment: &Segment) -> Hints {
        let mut hints = Hints::NONE;
        if packet.handshake != Handshake::None {
            hints.reverse_hash = segment.tuple.reversed().hash();
        }
        if let Some(PurgeKeys { of, purged_by }) = self.purge_keys {
            hints.purge_key = of(segment);
            hints.purges = purged_by(segment);
        }
        hints
    }

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
