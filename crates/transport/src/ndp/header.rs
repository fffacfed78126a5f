//! Header of NDP packets.

use crate::PathPin;
use tailcut_units::Time;

/// Kind of an NDP packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum NdpKind {
    /// Data packet, or its header after a switch trimmed the payload.
    #[default]
    Data,
    /// Acknowledgement: the packet with number `index` has arrived.
    Ack,
    /// Negative acknowledgement: only the header of the packet with number `index` has arrived.
    Nack,
    /// Pull: a packet that contains only the counts `cumulative` and `pull`.
    Pull,
}

/// NDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NdpHeader {
    /// Kind of the packet.
    pub kind: NdpKind,
    /// In a data packet: whether the packet belongs to the first window, so that it may open the session (SYN).
    pub first_window: bool,
    /// In a data packet: whether this is the last packet of the flow.
    pub last: bool,
    /// In a data packet: whether the flow must use `Segment::path`. If so, answers to the flow use the same path.
    pub pinned: bool,
    /// In an ACK or NACK: path of the packet that it answers.
    pub path: PathPin,
    /// Number of the packet in its flow, from 0.
    pub index: u64,
    /// In an ACK, NACK or pull: number of the first missing packet. All packets with lower numbers have arrived.
    pub cumulative: u64,
    /// In an ACK, NACK or pull: total number of packets that the receiver has pulled, without the first window.
    pub pull: u64,
    /// In a data packet: departure time. In an ACK or NACK: departure time of the packet that it answers.
    pub sent: Time,
}
