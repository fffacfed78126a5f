//! Identifiers of hosts and flows, and the five-tuple that ECMP hashes.

use crate::mix64;
use core::fmt;

/// Host number, from zero, in the order of the topology. The number is also the host's address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HostId(pub u32);

/// Bit that distinguishes the address of a multicast group from the address of a host.
const GROUP: u32 = 1 << 31;

impl HostId {
    /// Returns the address of multicast group `number`, which must be below 2^31.
    pub const fn group(number: u32) -> Self {
        Self(GROUP | number)
    }

    /// Returns whether this is the address of a multicast group.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0 & GROUP != 0
    }

    /// Returns the number of the multicast group with this address, or `None` for a host.
    #[inline]
    pub const fn group_number(self) -> Option<u32> {
        if self.is_group() {
            Some(self.0 ^ GROUP)
        } else {
            None
        }
    }
}

/// Flow number, from zero, in the order in which the workload starts the flows.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(pub u32);

/// Transport protocol, with its number from IANA.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp = 6,
    /// UDP.
    Udp = 17,
}

/// Five-tuple, the input of ECMP hashes: addresses, ports and protocol.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FiveTuple {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Port of the sender.
    pub src_port: u16,
    /// Port of the receiver.
    pub dst_port: u16,
    /// Transport protocol.
    pub protocol: Protocol,
}

impl FiveTuple {
    /// Returns the five-tuple of the opposite direction.
    pub const fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }

    /// Returns a well-mixed hash: if one bit of a port changes, about half of the hash's bits change.
    /// RFC 2992 prescribes no hash.
    ///
    /// Each switch must mix its own seed into this hash.
    /// Without a seed in each switch, all tiers of a Clos network choose the same path number (hash polarisation).
    pub const fn hash(self) -> u32 {
        let hosts = ((self.src.0 as u64) << 32) | self.dst.0 as u64;
        let ports =
            ((self.src_port as u64) << 24) | ((self.dst_port as u64) << 8) | self.protocol as u64;
        (mix64(mix64(hosts) ^ ports) >> 32) as u32
    }

    /// Returns the CRC-32 of IEEE 802.3 over addresses, protocol and ports, in the order of the headers.
    /// Many switches use this hash.
    /// The hash is linear: the bits that differ between two tuples determine the bits that differ between their hashes.
    pub const fn crc32(self) -> u32 {
        let hosts = ((self.src.0 as u128) << 32) | self.dst.0 as u128;
        let ports = ((self.src_port as u128) << 16) | self.dst_port as u128;
        let bits = (hosts << 40) | ((self.protocol as u128) << 32) | ports;
        let mut crc = u32::MAX;
        let mut byte = 13;
        while byte > 0 {
            byte -= 1;
            crc ^= (bits >> (8 * byte)) as u32 & 0xff;
            let mut bit = 0;
            while bit < 8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
                bit += 1;
            }
        }
        !crc
    }

    /// Returns the exclusive or (XOR) of both addresses and both ports. The simplest switches use this hash.
    pub const fn xor(self) -> u32 {
        self.src.0 ^ self.dst.0 ^ self.src_port as u32 ^ self.dst_port as u32
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(src: u32, src_port: u16, dst_port: u16) -> FiveTuple {
        FiveTuple {
            src: HostId(src),
            dst: HostId(9),
            src_port,
            dst_port,
            protocol: Protocol::Tcp,
        }
    }

    #[test]
    fn crc32_is_that_of_ieee_802_3() {
        // Python gives the same value: `zlib.crc32(bytes([0, 0, 0, 3, 0, 0, 0, 9, 6, 0x9c, 0x40, 0, 80]))`.
        assert_eq!(tuple(3, 40_000, 80).crc32(), 0xa06b_dbc1);
    }

    /// Returns the share of flows whose two copies take the same path. There are `paths` paths.
    /// The copies go to ports 80 and 81.
    fn same(hash: fn(FiveTuple) -> u32, paths: u32) -> f64 {
        let flows = (0..50u32).flat_map(|src| (0..400u16).map(move |port| (src, 32_768 + port)));
        let same = flows.filter(|&(src, port)| {
            let path = |dst_port| hash(tuple(src, port, dst_port)) % paths;
            path(80) == path(81)
        });
        same.count() as f64 / 20_000.0
    }

    #[test]
    fn with_weak_hashes_the_next_port_takes_always_or_never_the_same_of_a_power_of_two_of_paths() {
        for paths in [2, 4, 8, 16] {
            assert_eq!(same(FiveTuple::xor, paths), 0.0, "{paths}");
            let crc = same(FiveTuple::crc32, paths);
            assert!(crc == 0.0 || crc == 1.0, "{paths}: {crc}");
            let mixed = same(FiveTuple::hash, paths);
            assert!(
                (mixed - 1.0 / f64::from(paths)).abs() < 0.02,
                "{paths}: {mixed}"
            );
        }
    }
}
