//! How switches choose paths in a run: the parameters of each routing, and what it asks of the fabric.

use crate::config::RunConfig;
use crate::design::Routing;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LetFlowConfig, LoadBalancerConfig,
    OmniscientConfig,
};
use tailcut_units::FiveTuple;

/// What switches hash a flow's packets by.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EcmpHash {
    /// A well-mixed hash with a seed a switch.
    #[default]
    Mixed,
    /// CRC-32, the same at every switch, and the remainder of it.
    Crc32,
    /// The exclusive or of addresses and ports, the same at every switch, and the remainder of it.
    Xor,
}

impl EcmpHash {
    /// The hash of a flow.
    #[inline]
    pub(crate) const fn of(self, tuple: &FiveTuple) -> u32 {
        match self {
            Self::Mixed => tuple.hash(),
            Self::Crc32 => tuple.crc32(),
            Self::Xor => tuple.xor(),
        }
    }
}

/// Parameters of the routings that have some.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathParameters {
    /// What ECMP hashes by. Anything but the mixed hash only where ECMP is all that switches do: other
    /// routings tell flows apart by it.
    pub ecmp_hash: EcmpHash,
    /// LetFlow's.
    pub letflow: LetFlowConfig,
    /// CONGA's.
    pub conga: CongaConfig,
    /// Those of Expeditus.
    pub expeditus: ExpeditusConfig,
    /// Those of Expeditus in its first form.
    pub expeditus_deck: ExpeditusDeckConfig,
    /// The omniscient chooser's.
    pub omniscient: OmniscientConfig,
}

/// The load balancer of the run's switches.
pub(crate) fn load_balancer(config: &RunConfig) -> LoadBalancerConfig {
    if let Some(own) = config.design.own_balancer {
        return LoadBalancerConfig::Custom(own.build().clone());
    }
    let paths = &config.designs.paths;
    match config.design.routing {
        // A packet whose path its sender chose asks no switch.
        Routing::Ecmp | Routing::Permute => match paths.ecmp_hash {
            EcmpHash::Mixed => LoadBalancerConfig::Ecmp,
            EcmpHash::Crc32 | EcmpHash::Xor => LoadBalancerConfig::Remainder,
        },
        Routing::Spray => LoadBalancerConfig::Spray,
        Routing::LetFlow => LoadBalancerConfig::LetFlow(paths.letflow),
        Routing::Conga => LoadBalancerConfig::Conga(paths.conga),
        Routing::Expeditus => LoadBalancerConfig::Expeditus(paths.expeditus),
        Routing::ExpeditusDeck => LoadBalancerConfig::ExpeditusDeck(paths.expeditus_deck),
        Routing::Omniscient => LoadBalancerConfig::Omniscient(paths.omniscient),
    }
}

/// How hosts with several links use them: packet by packet where packets may overtake each other anyway.
pub(crate) const fn bonding(config: &RunConfig) -> Bonding {
    match config.design.routing {
        Routing::Spray | Routing::Permute => Bonding::FreeFirst,
        Routing::Ecmp
        | Routing::LetFlow
        | Routing::Conga
        | Routing::Expeditus
        | Routing::ExpeditusDeck
        | Routing::Omniscient => Bonding::ByFlow,
    }
}
