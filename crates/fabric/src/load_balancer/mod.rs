//! Load balancers: they choose one of several equal-cost ports for a packet.

pub(crate) mod balancer;
mod built_in;
pub(crate) mod carried;
pub(crate) mod chooser;
pub(crate) mod config;
mod conga;
mod dre;
mod expeditus;
mod expeditus_deck;
mod flow_table;
mod flowlet;
mod omniscient;
pub(crate) mod own;
mod spec;
mod two_stage;
mod weighted;
mod wiring;

pub use built_in::built_in;
pub use config::{
    BalancerState, BetweenPods, CongaConfig, LoadBalancerConfig, OmniscientConfig, Sight,
};
pub use dre::DreConfig;
pub use expeditus::ExpeditusConfig;
pub use expeditus_deck::{Combination, ExpeditusDeckConfig};
pub use flowlet::LetFlowConfig;
pub use own::{BuildBalancer, LoadBalancer, PortView};
pub use spec::{BuildConfig, Choice, NamedBalancer};
