//! Topologies: the links between nodes, and the forwarding of switches.

mod builder;
mod custom;
mod error;
mod fat_tree;
mod fault;
mod graph;
mod leaf_spine;
mod node;
mod routes;
mod single_switch;
mod size;

pub use custom::{CustomLink, CustomTopology};
pub use error::TopologyError;
pub use fat_tree::{CoreOversubscription, FatTree};
pub use fault::{LinkFault, Trouble};
pub use graph::{Link, SwitchSpec, Topology, Wire};
pub use leaf_spine::LeafSpine;
pub use node::{Node, NodeNames, TierName};
pub use routes::Routes;
pub use single_switch::SingleSwitch;
pub use size::MOST_LINKS;
