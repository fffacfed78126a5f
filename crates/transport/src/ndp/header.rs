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
    /// Acknowledgement: packet `index` has arrived.
    Ack,
    /// Negative acknowledgement: only the header of packet `index` has arrived.
    Nack,
    /// Pull: a packet that carries only the counts `cumulative` and `pull`.
    Pull,
}

/// NDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NdpHeader {
    /// Kind of the packet.
    pub kind: NdpKind,
    /// Data: whether the packet belongs to the first window, and so may open the session (SYN).
    pub first_window: bool,
    /// Data: whether this is the last packet of the flow.
    pub last: bool,
    /// Data: whether the flow must use `Segment::path`. Its answers then use this path too.
    pub pinned: bool,
    /// ACK, NACK: path of the answered packet.
    pub path: PathPin,
    /// Number of the packet in its flow, from 0.
    pub index: u64,
    /// ACK, NACK, pull: first missing packet. All packets with lower numbers have arrived.
    pub cumulative: u64,
    /// ACK, NACK, pull: total packets that the receiver has pulled, without the first window.
    pub pull: u64,
    /// Data: departure time. ACK, NACK: departure time of the answered packet.
    pub sent: Time,
}
