//! What NDP endpoints tell each other.

use crate::PathPin;
use tailcut_units::Time;

/// The kind of an NDP packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum NdpKind {
    /// Data, or the header that is left of it.
    #[default]
    Data,
    /// Packet `index` has arrived.
    Ack,
    /// Of packet `index` only the header has arrived.
    Nack,
    /// Nothing but the count of pulls.
    Pull,
}

/// An NDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NdpHeader {
    /// What it is.
    pub kind: NdpKind,
    /// Data: the packet belongs to the first window and opens the session if there is none (SYN).
    pub first_window: bool,
    /// Data: no packet of the flow follows this one.
    pub last: bool,
    /// Data: the flow is pinned to `Segment::path`, and so are the answers.
    pub pinned: bool,
    /// ACK, NACK: the path of the packet that it answers.
    pub path: PathPin,
    /// The packet's number in its flow, from 0.
    pub index: u64,
    /// ACK, NACK, pull: every packet with a lower number has arrived.
    pub cumulative: u64,
    /// ACK, NACK, pull: packets that the receiver has asked for so far, the first window not counted.
    pub pull: u64,
    /// Data: when it was sent. ACK, NACK: the same of the packet that it answers.
    pub sent: Time,
}
