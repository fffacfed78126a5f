//! How switches choose paths: what a routing asks of the fabric.

use crate::kinds::Routing;
use crate::parameters::{EcmpHash, PathParameters};
use crate::stack::Stack;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::LoadBalancerConfig;

/// The load balancer of a design's switches.
pub(super) fn load_balancer(design: Stack, paths: &PathParameters) -> LoadBalancerConfig {
    if let Some(own) = design.own_balancer {
        return LoadBalancerConfig::Custom(own.build().clone());
    }
    match design.routing {
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
pub(super) const fn bonding(routing: Routing) -> Bonding {
    match routing {
        Routing::Spray | Routing::Permute => Bonding::FreeFirst,
        Routing::Ecmp
        | Routing::LetFlow
        | Routing::Conga
        | Routing::Expeditus
        | Routing::ExpeditusDeck
        | Routing::Omniscient => Bonding::ByFlow,
    }
}
