//! Hosts' uplinks: which of several a packet takes, and when a NIC takes the next one.

use crate::load_balancer::balancer::ecmp;
use crate::network::Network;
use crate::packet::Packet;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use tailcut_units::stream_seed;

/// Full packets that a NIC takes ahead for a busy uplink while another one is free: the next flow may
/// have the free one.
const AHEAD: u64 = 4;

/// The stream of the hash over several uplinks, for [`stream_seed`].
const BOND_SEED: u64 = 0x626f_6e64;

/// A host's uplinks: ports in a row.
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

/// Which of its uplinks a packet of a host with several takes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Bonding {
    /// The one that the hash of its flow names, so that no packet of a flow overtakes another.
    #[default]
    ByFlow,
    /// The one that is free first: for transports that packets may reach in any order.
    FreeFirst,
}

/// How hosts use several uplinks.
#[derive(Debug)]
pub(crate) struct Bonds {
    bonding: Bonding,
    seed: u64,
    /// The largest packet so far.
    full_packet: u32,
    /// Uplinks that are known to be down.
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

    /// The uplinks that are not known to be down; all where all are.
    fn up(&self, uplinks: Uplinks) -> impl Iterator<Item = u32> + Clone {
        let up = |port: &u32| !self.down.contains(port);
        let any = uplinks.all().any(|port| up(&port));
        uplinks.all().filter(move |port| !any || up(port))
    }

    /// When a host with several uplinks may inject the next packet: when one of them has sent everything
    /// that was injected on it, unless too much waits for another one.
    #[cold]
    #[inline(never)]
    pub fn free_at_ps(&self, uplinks: Uplinks, network: &Network) -> u64 {
        let mut earliest = u64::MAX;
        let mut not_too_much = 0;
        for port in self.up(uplinks) {
            let port = &network.ports[port as usize];
            let ahead = AHEAD * network.class(port).serialisation_ps(self.full_packet);
            earliest = earliest.min(port.busy_until_ps);
            not_too_much = not_too_much.max(port.busy_until_ps.saturating_sub(ahead));
        }
        earliest.max(not_too_much)
    }

    /// The uplink that a packet takes of several.
    #[cold]
    #[inline(never)]
    pub fn choose(&mut self, uplinks: Uplinks, packet: &Packet, network: &Network) -> u32 {
        self.full_packet = self.full_packet.max(packet.size);
        let mut up = self.up(uplinks);
        let chosen = match self.bonding {
            Bonding::ByFlow => {
                let count = up.clone().count() as u32;
                up.nth(ecmp(packet.flow_hash, self.seed, count) as usize)
            }
            Bonding::FreeFirst => up.min_by_key(|&port| network.ports[port as usize].busy_until_ps),
        };
        chosen.unwrap_or(uplinks.first)
    }
}
