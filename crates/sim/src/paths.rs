//! How switches choose paths in a run: the parameters of each routing, and what it asks of the fabric.

use crate::config::RunConfig;
use crate::design::Routing;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LetFlowConfig, LoadBalancerConfig,
    OmniscientConfig,
};

/// Parameters of the routings that have some.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathParameters {
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
pub(crate) const fn load_balancer(config: &RunConfig) -> LoadBalancerConfig {
    let paths = &config.designs.paths;
    match config.design.routing {
        // A packet whose path its sender chose asks no switch.
        Routing::Ecmp | Routing::Permute => LoadBalancerConfig::Ecmp,
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
