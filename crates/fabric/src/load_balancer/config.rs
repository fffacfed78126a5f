//! Load balancer of switches, with its parameters.

use super::dre::DreConfig;
use super::expeditus::ExpeditusConfig;
use super::expeditus_deck::ExpeditusDeckConfig;
use super::flowlet::LetFlowConfig;
use super::own::BuildBalancer;
use tailcut_units::Duration;

/// Load balancer of the switches.
#[derive(Clone, Default, Debug)]
pub enum LoadBalancerConfig {
    /// Equal-cost multi-path: a hash of the five-tuple, mixed with a seed per switch.
    #[default]
    Ecmp,
    /// Equal-cost multi-path by the remainder of the flow's hash, which is the same at every switch. It
    /// models switches whose hash is not well mixed.
    Remainder,
    /// Every packet on a random port, with uniform draws from one stream per switch.
    Spray,
    /// Every flowlet on a random port, with uniform draws (LetFlow).
    LetFlow(LetFlowConfig),
    /// Every flowlet on the least congested path according to the reports to its leaf (CONGA).
    Conga(CongaConfig),
    /// Every flow on a path that is chosen in two stages during its handshake (Expeditus).
    Expeditus(ExpeditusConfig),
    /// First form of Expeditus.
    ExpeditusDeck(ExpeditusDeckConfig),
    /// Every flow on the path that is least congested when the flow begins: an upper bound.
    Omniscient(OmniscientConfig),
    /// A custom load balancer.
    Custom(BuildBalancer),
}

/// Treatment of packets between pods. CONGA's tables are designed for two tiers, so on three tiers they cover
/// only half of the path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum BetweenPods {
    /// Leaves choose as within a pod, and ECMP chooses the core (CONGA paper, section 7, "Larger
    /// topologies"). The reports to a leaf then concern whichever cores its packets have passed.
    #[default]
    Leaf,
    /// As `Leaf`, and aggregation switches also send each flowlet over the least loaded of their uplinks.
    LeafAndCore,
    /// Leaves send each flowlet over a random uplink, and ECMP chooses the core, as in the code of Expeditus'
    /// authors for their comparison.
    Random,
}

/// Parameters of CONGA (CONGA paper, sections 3.2 and 3.6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongaConfig {
    /// Rate estimators: tau 160 us and Q 3 (8 levels). The paper gives no alpha. Here it is 1/8, so that T is
    /// 20 us.
    pub dre: DreConfig,
    /// Idle time after which a flow begins a new flowlet: 500 us.
    pub gap: Duration,
    /// Age after which a metric counts as zero: 10 ms.
    pub metric_timeout: Duration,
    /// Treatment of packets between pods on three tiers.
    pub between_pods: BetweenPods,
}

/// Measure of the congestion of a link.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Load from the rate estimator, without levels.
    #[default]
    Load,
    /// Time that the waiting packets need for transmission.
    Queue,
}

/// Parameters of the omniscient chooser.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OmniscientConfig {
    /// Measure of congestion: loads.
    pub sight: Sight,
    /// Rate estimator, as in Expeditus.
    pub dre: DreConfig,
    /// Idle time after which a flow counts as new: 100 ms.
    pub entry_timeout: Duration,
}

/// Number of entries that a switch's load balancer stores.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalancerState {
    /// Number of congestion values: estimators, and reports from others.
    pub congestion: usize,
    /// Number of entries for single flows.
    pub flows: usize,
}
