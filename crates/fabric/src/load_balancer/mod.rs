//! Load balancers: which of several equal-cost ports a packet takes.

mod chooser;
mod conga;
mod dre;
mod expeditus;
mod expeditus_deck;
mod flow_table;
mod flowlet;
mod omniscient;
mod two_stage;
mod wiring;

use alloc::boxed::Box;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::{Time, mix64, reduce, stream_seed};

use crate::packet::Packet;
pub(crate) use chooser::{Network, Passage, PathChooser};
pub use conga::{BetweenPods, CongaConfig};
pub use dre::DreConfig;
pub use expeditus::ExpeditusConfig;
pub use expeditus_deck::{Combination, ExpeditusDeckConfig};
use flowlet::LetFlow;
pub use flowlet::LetFlowConfig;
pub use omniscient::{OmniscientConfig, Sight};

/// What a load balancer sees of an equal-cost port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortView {
    /// The port's number within the switch.
    pub port: u32,
    /// Bytes that wait at it.
    pub backlog_bytes: u64,
}

/// A user's own choice among equal-cost ports.
pub trait LoadBalancer: core::fmt::Debug + Send {
    /// The index into `ports` (never empty) that `packet` takes.
    fn select(&mut self, now: Time, packet: &Packet, ports: &[PortView]) -> usize;
}

/// Which load balancer the switches use.
#[derive(Clone, Copy, Default, Debug)]
pub enum LoadBalancerConfig {
    /// Equal-cost multi-path: a hash of the five-tuple, mixed with a seed a switch.
    #[default]
    Ecmp,
    /// Equal-cost multi-path by the remainder of the flow's hash, the same at every switch: with a hash
    /// that is not well mixed, what switches with such hashes do.
    Remainder,
    /// Every packet on a port drawn uniformly at random, from one stream a switch.
    Spray,
    /// Every flowlet on a port drawn uniformly at random (LetFlow).
    LetFlow(LetFlowConfig),
    /// Every flowlet on the path that its leaf has heard to be the least congested (CONGA).
    Conga(CongaConfig),
    /// Every flow on a path that is chosen in two stages on its handshake (Expeditus).
    Expeditus(ExpeditusConfig),
    /// Expeditus in its first form.
    ExpeditusDeck(ExpeditusDeckConfig),
    /// Every flow on the path that is the least congested when it begins: a bound.
    Omniscient(OmniscientConfig),
    /// A user's own; called with the switch's number.
    Custom(fn(switch: u32) -> Box<dyn LoadBalancer>),
}

/// How much a switch's load balancer remembers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalancerState {
    /// Values that tell of congestion: estimators, and what was heard from others.
    pub congestion: usize,
    /// Entries for single flows.
    pub flows: usize,
}

/// The load balancer of one switch.
#[derive(Debug)]
pub(crate) enum Balancer {
    Ecmp { seed: u64 },
    Remainder,
    Spray(Box<Xoshiro256PlusPlus>),
    LetFlow(Box<LetFlow>),
    Custom(Box<dyn LoadBalancer>),
}

/// Streams of the fabric, for [`stream_seed`].
const ECMP_SEEDS: u64 = 0x6563_6d70;
const SPRAY_DRAWS: u64 = 0x7370_7261;
const FLOWLET_DRAWS: u64 = 0x666c_6f77;

impl Balancer {
    pub fn new(config: LoadBalancerConfig, seed: u64, switch: u32) -> Self {
        let switch_id = u64::from(switch);
        match config {
            // What chooses paths leaves the rest to ECMP.
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
                Self::LetFlow(Box::new(LetFlow::new(config, seed)))
            }
            LoadBalancerConfig::Custom(build) => Self::Custom(build(switch)),
        }
    }

    /// An index below `count`; `views` gives a custom balancer what it may see of port `index`.
    #[inline]
    pub fn select(
        &mut self,
        now: Time,
        packet: &Packet,
        count: u32,
        views: impl FnMut(u32) -> PortView,
    ) -> u32 {
        match self {
            Self::Ecmp { seed } => ecmp(packet.flow_hash, *seed, count),
            Self::Remainder => packet.flow_hash % count,
            Self::Spray(rng) => reduce(rng.next_u32(), count),
            Self::LetFlow(flowlets) => flowlets.select(now, packet, count),
            Self::Custom(balancer) => {
                let views: alloc::vec::Vec<PortView> = (0..count).map(views).collect();
                let chosen = balancer.select(now, packet, &views);
                (chosen as u32).min(count - 1)
            }
        }
    }

    /// The choice of ECMP, for a balancer that is that.
    pub fn ecmp(&self, packet: &Packet, count: u32) -> u32 {
        match self {
            Self::Ecmp { seed } => ecmp(packet.flow_hash, *seed, count),
            Self::Remainder => packet.flow_hash % count,
            Self::Spray(_) | Self::LetFlow(_) | Self::Custom(_) => 0,
        }
    }

    /// How much it remembers now.
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

/// The choice of ECMP at a switch with this seed.
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

    /// Chi-square over a uniform expectation.
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
        // 3 x 3 joint choices of the two copies: uniform means independent. 8 degrees of freedom,
        // 0.1 % critical value 26.1.
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
