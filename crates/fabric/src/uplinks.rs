//! Uplinks of hosts: the choice among several uplinks, and the time at which a host may send its next packet.

use crate::load_balancer::balancer::ecmp;
use crate::network::Network;
use crate::packet::Packet;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use tailcut_units::{mix64, stream_seed};

/// Number of full packets that a NIC accepts in advance for a busy uplink while another uplink is free.
/// The packets are accepted because the next flow may use the free uplink.
/// If the number of accepted packets is too small, a busy uplink often keeps a free uplink idle.
/// If the number of accepted packets is too large, many packets wait where their transport can no longer reorder them.
const AHEAD: u64 = 4;

/// Name of the hash that chooses among several uplinks, for [`stream_seed`].
const BOND_SEED: u64 = 0x626f_6e64;

/// Uplinks of a host. They are consecutive ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uplinks {
    pub first: u32,
    pub others: u32,
}

impl Uplinks {
    pub fn of(ports: core::ops::Range<u32>) -> Self {
        Self {
            first: ports.start,
            others: ports.len() as u32 - 1,
        }
    }

    pub const fn all(self) -> RangeInclusive<u32> {
        self.first..=self.first + self.others
    }
}

/// Rule by which a host chooses among its uplinks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Bonding {
    /// The hash of the flow chooses the uplink, so that packets of a flow do not overtake each other.
    #[default]
    ByFlow,
    /// The uplink that becomes free first is chosen. Only for transports that accept packets in any order.
    FreeFirst,
}

/// State of hosts with several uplinks.
#[derive(Debug)]
pub(crate) struct Bonds {
    bonding: Bonding,
    seed: u64,
    /// Size of the largest packet so far, in bytes.
    full_packet: u32,
    /// Uplinks that routing has reported as down.
    pub down: Vec<u32>,
}

impl Bonds {
    pub fn new(bonding: Bonding, seed: u64) -> Self {
        Self {
            bonding,
            seed: stream_seed(seed, BOND_SEED, 0),
            full_packet: 0,
            down: Vec::new(),
        }
    }

    /// Returns the uplinks that are not reported as down. If all uplinks are down, returns all uplinks.
    fn up(&self, uplinks: Uplinks) -> impl Iterator<Item = u32> + Clone {
        let up = |port: &u32| !self.down.contains(port);
        let any = uplinks.all().any(|port| up(&port));
        uplinks.all().filter(move |port| !any || up(port))
    }

    /// Returns the earliest time at which a host with several uplinks may inject its next packet.
    /// One uplink is idle at the returned time, and no other uplink has more than [`AHEAD`] full packets left to send.
    #[cold]
    #[inline(never)]
    pub fn free_at_ps(&self, uplinks: Uplinks, network: &Network, headers: &[Packet]) -> u64 {
        let mut earliest = u64::MAX;
        let mut not_too_much = 0;
        for number in self.up(uplinks) {
            let port = &network.ports[number as usize];
            let ahead = AHEAD * network.class(port).serialisation_ps(self.full_packet);
            let all_sent = network.all_sent_at_ps(number, headers);
            earliest = earliest.min(all_sent);
            not_too_much = not_too_much.max(all_sent.saturating_sub(ahead));
        }
        // One uplink must be free, and no uplink may have too many packets left.
        earliest.max(not_too_much)
    }

    /// Returns the uplink through which a packet leaves its host.
    #[cold]
    #[inline(never)]
    pub fn choose(
        &mut self,
        uplinks: Uplinks,
        packet: &Packet,
        network: &Network,
        headers: &[Packet],
    ) -> u32 {
        self.full_packet = self.full_packet.max(packet.size);
        let mut up = self.up(uplinks);
        let chosen = match self.bonding {
            Bonding::ByFlow => {
                let count = up.clone().count() as u32;
                up.nth(ecmp(packet.flow_hash, self.seed, count) as usize)
            }
            Bonding::FreeFirst => up.min_by_key(|&port| {
                // The hash decides among equally good uplinks, so that the first uplink has no advantage.
                let draw = u64::from(packet.flow_hash) << 32 | u64::from(port);
                (
                    network.all_sent_at_ps(port, headers),
                    mix64(self.seed ^ draw),
                )
            }),
        };
        // If all uplinks are down, the packet is lost on the first uplink.
        chosen.unwrap_or(uplinks.first)
    }
}
