//! How switches choose paths in a run: what a routing asks of the fabric.

use crate::config::RunConfig;
use crate::design::Routing;
use crate::parameters::EcmpHash;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::LoadBalancerConfig;

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
