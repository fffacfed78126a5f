//! Configuration of load balancers: the kinds, and their parameters.

use super::dre::DreConfig;
use super::expeditus::ExpeditusConfig;
use super::expeditus_deck::ExpeditusDeckConfig;
use super::flowlet::LetFlowConfig;
use super::own::BuildBalancer;
use tailcut_units::Duration;

/// Load balancer of the switches.
#[derive(Clone, Default, Debug)]
pub enum LoadBalancerConfig {
    /// Equal-cost multi-path (ECMP): a hash of the five-tuple, mixed with the seed of the switch, chooses the port.
    #[default]
    Ecmp,
    /// Equal-cost multi-path by the remainder of the flow's hash, without a seed. All switches make the same choice.
    /// The remainder of the hash models switches whose hash is not well mixed.
    Remainder,
    /// Random port for every packet. All ports have the same probability. Each switch has its own random stream.
    Spray,
    /// Random port for every flowlet, with the same probability for all ports (LetFlow).
    LetFlow(LetFlowConfig),
    /// Each flowlet uses the least congested path, according to the reports that its leaf has received (CONGA).
    Conga(CongaConfig),
    /// Each flow uses a path that is chosen in two stages during its handshake (Expeditus).
    Expeditus(ExpeditusConfig),
    /// First form of Expeditus, as in the slides of 2015.
    ExpeditusDeck(ExpeditusDeckConfig),
    /// Each flow uses the path that is least congested when the flow begins. This design is an upper bound.
    Omniscient(OmniscientConfig),
    /// Load balancer of the user.
    Custom(BuildBalancer),
}

/// Rule for packets between pods in a network with three tiers.
/// CONGA's tables are designed for two tiers, so on three tiers they cover only half of the path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum BetweenPods {
    /// Leaves choose as within a pod, and ECMP chooses the core (CONGA paper, section 7, "Larger topologies").
    /// With ECMP to the core, each report to a leaf covers all cores that the packets of the leaf have passed.
    #[default]
    Leaf,
    /// Leaves choose paths as with the variant `Leaf`.
    /// Aggregation switches also send each flowlet over the least loaded of their uplinks.
    LeafAndCore,
    /// Leaves send each flowlet over a random uplink, and ECMP chooses the core.
    /// For the comparison with CONGA, the authors of Expeditus forward packets in this way in their code.
    Random,
}

/// Parameters of CONGA (CONGA paper, sections 3.2 and 3.6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongaConfig {
    /// Parameters of the rate estimators. In the paper, the time constant tau is 160 us, and a level has Q = 3 bits.
    /// The paper does not give alpha. With the default of 1/8, the interval T is 20 us.
    pub dre: DreConfig,
    /// Idle time after which the next packet of a flow begins a new flowlet: 500 us.
    pub gap: Duration,
    /// Age after which a congestion metric is ignored (treated as zero): 10 ms.
    pub metric_timeout: Duration,
    /// Rule for packets between pods in a network with three tiers.
    pub between_pods: BetweenPods,
}

/// Measure of the congestion of a link.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Load of the link, measured by the rate estimator, without levels.
    #[default]
    Load,
    /// Time in which the link can send all waiting packets.
    Queue,
}

/// Parameters of the omniscient chooser, which is an upper bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OmniscientConfig {
    /// Measure of congestion. The default is the load.
    pub sight: Sight,
    /// Parameters of the rate estimator, as in Expeditus.
    pub dre: DreConfig,
    /// Idle time after which the chooser treats the next packet of a flow as a new flow: 100 ms.
    pub entry_timeout: Duration,
}

/// Number of entries that the load balancer of a switch stores.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalancerState {
    /// Number of congestion values: estimators of the switch, and values that other switches have reported.
    pub congestion: usize,
    /// Number of entries for individual flows.
    pub flows: usize,
}
