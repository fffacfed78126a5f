//! Load balancer of one switch. It uses only the state of this switch.

use super::config::{BalancerState, LoadBalancerConfig};
use super::flowlet::LetFlow;
use super::own::{LoadBalancer, PortView};
use crate::forwarding::Choices;
use crate::packet::Packet;
use alloc::boxed::Box;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::{Time, mix64, reduce, stream_seed};

/// Load balancer of one switch.
#[derive(Debug)]
pub(crate) enum Balancer {
    Ecmp { seed: u64 },
    Remainder,
    Spray(Box<Xoshiro256PlusPlus>),
    LetFlow(Box<LetFlow>),
    Custom(Box<dyn LoadBalancer>),
}

/// Name of the random streams of ECMP's seeds, for [`stream_seed`].
const ECMP_SEEDS: u64 = 0x6563_6d70;
const SPRAY_DRAWS: u64 = 0x7370_7261;
const FLOWLET_DRAWS: u64 = 0x666c_6f77;

impl Balancer {
    pub fn new(config: &LoadBalancerConfig, seed: u64, switch: u32) -> Self {
        let switch_id = u64::from(switch);
        match config {
            // In designs with a path chooser, ECMP makes only the choices that the chooser leaves open.
            LoadBalancerConfig::Ecmp
            | LoadBalancerConfig::Conga(_)
            | LoadBalancerConfig::Expeditus(_)
            | LoadBalancerConfig::ExpeditusDeck(_)
            | LoadBalancerConfig::Omniscient(_) => Self::Ecmp {
                seed: stream_seed(seed, ECMP_SEEDS, switch_id),
            },
            LoadBalancerConfig::Remainder => Self::Remainder,
            LoadBalancerConfig::Spray => Self::Spray(Box::new(Xoshiro256PlusPlus::seed_from_u64(
                stream_seed(seed, SPRAY_DRAWS, switch_id),
            ))),
            LoadBalancerConfig::LetFlow(config) => {
                let seed = stream_seed(seed, FLOWLET_DRAWS, switch_id);
                Self::LetFlow(Box::new(LetFlow::new(*config, seed)))
            }
            LoadBalancerConfig::Custom(build) => Self::Custom(build.build(switch)),
        }
    }

    /// Returns the index of one of the ports.
    /// Returns `None` for a custom load balancer, because it needs the state of the ports.
    #[inline]
    pub fn select(&mut self, now: Time, packet: &Packet, ports: &Choices<'_>) -> Option<u32> {
        let count = ports.count();
        Some(match self {
            Self::Ecmp { seed } => ecmp(packet.flow_hash, *seed, count),
            Self::Remainder => packet.flow_hash % count,
            Self::Spray(rng) => reduce(rng.next_u32(), count),
            Self::LetFlow(flowlets) => flowlets.select(now, packet, ports),
            Self::Custom(_) => return None,
        })
    }

    /// Returns the index of the port that a custom load balancer chooses.
    pub fn ask(&mut self, now: Time, packet: &Packet, views: &[PortView]) -> usize {
        match self {
            Self::Custom(balancer) => balancer.select(now, packet, views),
            // Other balancers have already chosen in `select`, so this value is never used.
            _ => 0,
        }
    }

    /// Returns the port index that ECMP chooses, if this balancer is ECMP.
    pub fn ecmp(&self, packet: &Packet, count: u32) -> u32 {
        match self {
            Self::Ecmp { seed } => ecmp(packet.flow_hash, *seed, count),
            Self::Remainder => packet.flow_hash % count,
            // In a network with a path chooser, this balancer is always ECMP, so this value is never used.
            Self::Spray(_) | Self::LetFlow(_) | Self::Custom(_) => 0,
        }
    }

    /// Returns the number of entries that the load balancer stores at `now`.
    pub fn state(&self, now: Time) -> BalancerState {
        BalancerState {
            congestion: 0,
            flows: match self {
                Self::LetFlow(flowlets) => flowlets.flowlets(now),
                Self::Ecmp { .. } | Self::Remainder | Self::Spray(_) | Self::Custom(_) => 0,
            },
        }
    }
}

/// Returns the port index that ECMP chooses at a switch with the seed `seed`.
#[inline]
pub(crate) const fn ecmp(flow_hash: u32, seed: u64, count: u32) -> u32 {
    reduce((mix64(flow_hash as u64 ^ seed) >> 32) as u32, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{FiveTuple, HostId, Protocol};

    fn tuple(src_port: u16, dst_port: u16) -> FiveTuple {
        FiveTuple {
            src: HostId(3),
            dst: HostId(9),
            src_port,
            dst_port,
            protocol: Protocol::Tcp,
        }
    }

    /// Returns the chi-square statistic against a uniform distribution.
    fn chi_square(counts: &[u32]) -> f64 {
        let n: u32 = counts.iter().sum();
        let expected = f64::from(n) / counts.len() as f64;
        counts
            .iter()
            .map(|&c| (f64::from(c) - expected) * (f64::from(c) - expected) / expected)
            .sum()
    }

    #[test]
    fn a_flow_and_its_replica_on_the_next_port_choose_independently() {
        // The two copies have 3 x 3 combinations of choices. If all are equally frequent, the choices are independent.
        // With 8 degrees of freedom, the critical value at 0.1 % is 26.1.
        let mut joint = [0u32; 9];
        for src_port in 10_000..40_000 {
            let first = ecmp(tuple(src_port, 80).hash(), 7, 3);
            let second = ecmp(tuple(src_port, 81).hash(), 7, 3);
            joint[(first * 3 + second) as usize] += 1;
        }
        assert!(chi_square(&joint) < 26.1, "{joint:?}");
    }

    #[test]
    fn switches_with_their_own_seeds_are_not_polarised() {
        let mut joint = [0u32; 16];
        for src_port in 10_000..50_000 {
            let hash = tuple(src_port, 80).hash();
            let first_tier = ecmp(hash, stream_seed(1, ECMP_SEEDS, 0), 4);
            let second_tier = ecmp(hash, stream_seed(1, ECMP_SEEDS, 1), 4);
            joint[(first_tier * 4 + second_tier) as usize] += 1;
        }
        assert!(chi_square(&joint) < 37.7, "{joint:?}");
    }
}
