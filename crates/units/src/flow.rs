//! Identifiers of hosts and flows, and the five-tuple that ECMP hashes.

use crate::mix64;
use core::fmt;

/// A host, numbered from zero in the order of the topology.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// The bit that tells the address of a multicast group from that of a host.
const GROUP: u32 = 1 << 31;

impl HostId {
    /// The address of multicast group `number`, below 2^31.
    pub const fn group(number: u32) -> Self {
        Self(GROUP | number)
    }

    /// Whether this is the address of a multicast group.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0 & GROUP != 0
    }

    /// The number of the multicast group that this is the address of.
    #[inline]
    pub const fn group_number(self) -> Option<u32> {
        if self.is_group() {
            Some(self.0 ^ GROUP)
        } else {
            None
        }
    }
}

/// A flow, numbered from zero in the order in which the workload starts them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// The transport protocol's number in the five-tuple (IANA).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp = 6,
    /// UDP.
    Udp = 17,
}

/// What ECMP hashes: addresses, ports and protocol.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FiveTuple {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// The transport protocol.
    pub protocol: Protocol,
}

impl FiveTuple {
    /// The five-tuple of the opposite direction.
    pub const fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }

    /// A well-mixed hash: tuples that differ in one bit of one port are as far apart as any others.
    /// Switches mix their own seed into it (RFC 2992 leaves the hash open; without a seed a switch,
    /// the tiers of a Clos choose alike, known as hash polarisation).
    pub const fn hash(self) -> u32 {
        let hosts = ((self.src.0 as u64) << 32) | self.dst.0 as u64;
        let ports =
            ((self.src_port as u64) << 24) | ((self.dst_port as u64) << 8) | self.protocol as u64;
        (mix64(mix64(hosts) ^ ports) >> 32) as u32
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}", self.0)
    }
}
