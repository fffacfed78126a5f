//! Load balancers: which of several equal-cost ports a packet takes.

pub(crate) mod balancer;
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
mod two_stage;
mod wiring;

pub use balancer::{LoadBalancer, PortView};
pub use config::{BalancerState, BuildBalancer, LoadBalancerConfig};
pub use conga::{BetweenPods, CongaConfig};
pub use dre::DreConfig;
pub use expeditus::ExpeditusConfig;
pub use expeditus_deck::{Combination, ExpeditusDeckConfig};
pub use flowlet::LetFlowConfig;
pub use omniscient::{OmniscientConfig, Sight};
