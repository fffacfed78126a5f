//! Header of pFabric packets.

/// Kind of a pFabric packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PFabricKind {
    /// Data packet.
    #[default]
    Data,
    /// Acknowledgement: the packet with number `index` has arrived.
    Ack,
    /// Probe: requests an ACK that reports the packets that have arrived so far.
    Probe,
    /// Answer to a probe.
    ProbeAck,
}

/// pFabric header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PFabricHeader {
    /// Kind of the packet.
    pub kind: PFabricKind,
    /// Number of the packet in its flow, from 0.
    pub index: u64,
    /// Number of packets of the flow, at least 1. Valid in data packets and probes.
    pub packets: u64,
    /// Number of the first missing packet. All packets with lower numbers have arrived. Valid in ACKs.
    pub cumulative: u64,
}
