//! Header of pFabric packets.

/// Kind of a pFabric packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PFabricKind {
    /// Data packet.
    #[default]
    Data,
    /// Acknowledgement: packet `index` has arrived.
    Ack,
    /// Probe: a request for an ACK that reports only the packets that have arrived so far.
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
    /// Data, probe: number of packets of the flow, at least 1.
    pub packets: u64,
    /// ACKs: first missing packet. All packets with lower numbers have arrived.
    pub cumulative: u64,
}
