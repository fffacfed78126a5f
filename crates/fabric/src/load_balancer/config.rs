//! Which load balancer switches use, and with what parameters.

use super::dre::DreConfig;
use super::expeditus::ExpeditusConfig;
use super::expeditus_deck::ExpeditusDeckConfig;
use super::flowlet::LetFlowConfig;
use super::own::BuildBalancer;
use tailcut_units::Duration;

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

/// What is done with packets between pods. CONGA's tables are made for two tiers, so that on three they know
/// half of the path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum BetweenPods {
    /// Leaves choose as they do within a pod, and ECMP chooses the core (CONGA paper, section 7, "Larger
    /// topologies"). What a leaf is told is then of whichever cores its packets have met.
    #[default]
    Leaf,
    /// The same, and aggregation switches send each flowlet over the least loaded of their own uplinks.
    LeafAndCore,
    /// Leaves send each flowlet over any of their uplinks, all as likely, and ECMP chooses the core: what
    /// the code of Expeditus' authors does, who compare with it.
    Random,
}

/// CONGA's parameters (CONGA paper, sections 3.2 and 3.6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongaConfig {
    /// tau 160 us and Q 3 (8 levels). The paper gives no alpha: 1/8, so that T is 20 us.
    pub dre: DreConfig,
    /// A flow that has sent nothing for longer than this begins a new flowlet: 500 us.
    pub gap: Duration,
    /// A metric that is older than this counts as zero: 10 ms.
    pub metric_timeout: Duration,
    /// What is done on three tiers.
    pub between_pods: BetweenPods,
}

/// What the congestion of a link is.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Its load as the estimator has it, without levels.
    #[default]
    Load,
    /// How long what waits before it takes to send.
    Queue,
}

/// The omniscient chooser's parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OmniscientConfig {
    /// What it sees: loads.
    pub sight: Sight,
    /// The estimator: that of Expeditus.
    pub dre: DreConfig,
    /// A flow that sends nothing for longer than this is new when it goes on: 100 ms.
    pub entry_timeout: Duration,
}

/// How much a switch's load balancer remembers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalancerState {
    /// Values that tell of congestion: estimators, and what was heard from others.
    pub congestion: usize,
    /// Entries for single flows.
    pub flows: usize,
}
