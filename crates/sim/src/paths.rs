//! How switches choose paths in a run: the parameters of each routing, and what it asks of the fabric.

use crate::config::RunConfig;
use crate::design::Routing;
use tailcut_fabric::load_balancer::{LetFlowConfig, LoadBalancerConfig};

/// Parameters of the routings that have some.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathParameters {
    /// LetFlow's.
    pub letflow: LetFlowConfig,
}

/// The load balancer of the run's switches.
pub(crate) const fn load_balancer(config: &RunConfig) -> LoadBalancerConfig {
    let paths = &config.designs.paths;
    match config.design.routing {
        // A packet whose path its sender chose asks no switch.
        Routing::Ecmp | Routing::Permute => LoadBalancerConfig::Ecmp,
        Routing::Spray => LoadBalancerConfig::Spray,
        Routing::LetFlow => LoadBalancerConfig::LetFlow(paths.letflow),
    }
}
