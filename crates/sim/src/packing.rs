//! Conversion of segments to packets, and back.

use tailcut_design::EcmpHash;
use tailcut_fabric::{Delivery, Handshake, Hints, Packet};
use tailcut_transport::tcp::TcpFlags;
use tailcut_transport::{Condition, Header, Segment};
use tailcut_units::Ecn;
use tailcut_workload::Framing;

/// Rules for the conversion of segments to packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub framing: Framing,
    /// Additional bytes of a packet to a multicast group.
    pub group_header: u32,
    /// Hash by which switches select paths.
    pub hash: EcmpHash,
    /// Keys of packets that purge other packets at switches. `None` if no packet of this run purges others.
    pub purge_keys: Option<PurgeKeys>,
}

/// Keys of packets that purge other packets at switches. Key 0 means none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PurgeKeys {
    /// Function that returns the key of a segment.
    pub of: fn(&Segment) -> u64,
    /// Function that returns the key of the segments that a segment purges.
    pub purged_by: fn(&Segment) -> u64,
}

/// Returns the segment in a packet that was delivered to a host.
#[inline]
pub(crate) fn unpacked(delivery: &Delivery<Segment>) -> Segment {
    carried(&delivery.packet, &delivery.body)
}

/// Returns the segment in a packet. The segment equals the sent segment, except for changes by switches.
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
    /// Returns whether switches need more information about a packet than its header.
    #[inline]
    pub fn has_hints(&self, packet: &Packet) -> bool {
        packet.handshake != Handshake::None || self.purge_keys.is_some()
    }

    /// Returns information about a packet for switches, in addition to its header.
    /// For a handshake, the information is the hash of the answer.
    /// For a copy of a request, the information is the keys for purging.
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

    /// Returns the packet that carries a segment. Its size includes header, padding, preamble and gap.
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

/// Returns the role of a segment in the handshake of a connection.
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
