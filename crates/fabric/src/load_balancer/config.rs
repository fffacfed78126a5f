//! Which load balancer switches use, and with what parameters.

use super::balancer::LoadBalancer;
use super::conga::CongaConfig;
use super::expeditus::ExpeditusConfig;
use super::expeditus_deck::ExpeditusDeckConfig;
use super::flowlet::LetFlowConfig;
use super::omniscient::OmniscientConfig;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// Which load balancer the switches use.
#[derive(Clone, Default, Debug)]
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
    /// A user's own.
    Custom(BuildBalancer),
}

/// Builds a user's own load balancer for each switch.
#[derive(Clone)]
pub struct BuildBalancer(Arc<dyn Fn(u32) -> Box<dyn LoadBalancer> + Send + Sync>);

impl BuildBalancer {
    /// Calls `build` for each switch, with its number. The closure carries what parameters there are.
    pub fn new<L: LoadBalancer + 'static>(
        build: impl Fn(u32) -> L + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |switch| Box::new(build(switch))))
    }

    pub(crate) fn build(&self, switch: u32) -> Box<dyn LoadBalancer> {
        (self.0)(switch)
    }
}

impl core::fmt::Debug for BuildBalancer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildBalancer")
    }
}

/// How much a switch's load balancer remembers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalancerState {
    /// Values that tell of congestion: estimators, and what was heard from others.
    pub congestion: usize,
    /// Entries for single flows.
    pub flows: usize,
}
