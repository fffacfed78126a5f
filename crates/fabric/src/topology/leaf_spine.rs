//! Leaf-spine: two tiers, every leaf linked to every spine.

use super::builder::{Builder, within};
use super::{Node, Topology, TopologyError, Wire};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// A leaf-spine network. A pinned path p goes over spine p.
///
/// It is oversubscribed by `hosts_per_leaf * host_wire.rate / (spines * spine_wire.rate)`.
#[derive(Clone, Debug)]
pub struct LeafSpine {
    /// Leaf switches (racks), 1 to 4,096.
    pub leaves: u32,
    /// Spine switches, 1 to 4,096; as many equal-cost paths between racks.
    pub spines: u32,
    /// Hosts a leaf, 1 to 4,096.
    pub hosts_per_leaf: u32,
    /// Each host's link.
    pub host_wire: Wire,
    /// Each link between a leaf and a spine.
    pub spine_wire: Wire,
    /// The queue of every switch port.
    pub queue: QueueConfig,
    /// Each switch's memory, when its ports share it.
    pub shared_buffer: Option<SharedBuffer>,
}

impl LeafSpine {
    /// The network, or what is wrong with the parameters.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("leaves", self.leaves, 4_096)?;
        within("spines", self.spines, 4_096)?;
        within("hosts_per_leaf", self.hosts_per_leaf, 4_096)?;
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        for leaf in 0..self.leaves {
            builder.switch(
                0,
                Forwarding::Clos(Clos::new(
                    leaf * self.hosts_per_leaf,
                    self.hosts_per_leaf,
                    1,
                    self.spines,
                    1,
                )),
            );
        }
        for _ in 0..self.spines {
            builder.switch(
                1,
                Forwarding::Clos(Clos::new(
                    0,
                    self.leaves * self.hosts_per_leaf,
                    self.hosts_per_leaf,
                    0,
                    1,
                )),
            );
        }
        for leaf in 0..self.leaves {
            for _ in 0..self.hosts_per_leaf {
                builder.host(leaf, self.host_wire);
            }
            for spine in self.leaves..self.leaves + self.spines {
                builder.port(leaf, Node::Switch(spine), self.spine_wire);
                builder.port(spine, Node::Switch(leaf), self.spine_wire);
            }
        }
        Ok(builder.finish(if self.leaves > 1 { self.spines } else { 1 }))
    }
}
