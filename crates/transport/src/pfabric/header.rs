//! What pFabric endpoints tell each other.

/// The kind of a pFabric packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PFabricKind {
    /// Data.
    #[default]
    Data,
    /// Packet `index` has arrived.
    Ack,
    /// Asks for an ACK of nothing but what has arrived so far.
    Probe,
    /// The answer to a probe.
    ProbeAck,
}

/// A pFabric header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PFabricHeader {
    /// What it is.
    pub kind: PFabricKind,
    /// The packet's number in its flow, from 0.
    pub index: u64,
    /// Data, probe: packets of the flow, at least one.
    pub packets: u64,
    /// ACKs: every packet with a lower number has arrived.
    pub cumulative: u64,
}
