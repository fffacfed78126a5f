//! Leaf-spine: two tiers, every leaf linked to every spine.

use super::builder::{Builder, Racks, sharing, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::node::{Node, TierName};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// A leaf-spine network. A pinned path p goes over spine `p mod spines`, and with several links a host
/// from there to leaf `p div spines` of those that the host is linked to.
///
/// It is oversubscribed by `hosts_per_leaf * host_links * host_wire.rate / (spines * spine_wire.rate)`.
#[derive(Clone, Debug)]
pub struct LeafSpine {
    /// Leaf switches (racks), 1 to 4,096.
    pub leaves: u32,
    /// Spine switches, 1 to 4,096; as many equal-cost paths between racks.
    pub spines: u32,
    /// Hosts a leaf, 1 to 4,096: those whose first link leads to it.
    pub hosts_per_leaf: u32,
    /// Links a host, a divisor of `leaves`: so many leaves in a row are one rack, and each of its hosts is
    /// linked to all of them.
    pub host_links: u32,
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
        let together = self.host_links;
        sharing(together, self.leaves, "the number of leaves")?;
        let hosts_per_rack = together * self.hosts_per_leaf;
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        for leaf in 0..self.leaves {
            builder.switch(
                0,
                Forwarding::Clos(Clos::new(
                    leaf / together * hosts_per_rack,
                    hosts_per_rack,
                    1,
                    self.spines,
                    1,
                )),
            );
        }
        let racks = Racks {
            first_host: 0,
            count: self.leaves / together,
            hosts: hosts_per_rack,
            switches: together,
        };
        let hosts = self.leaves * self.hosts_per_leaf;
        // Of one link to each rack there is no choice, but for detours around failures.
        let pin_divisor = if together > 1 { self.spines } else { 1 };
        for _ in 0..self.spines {
            builder.switch(1, racks.forwarding(0, hosts, pin_divisor));
        }
        for leaf in 0..self.leaves {
            if leaf.is_multiple_of(together) {
                builder.rack(leaf, together, self.hosts_per_leaf, self.host_wire);
            }
            for spine in self.leaves..self.leaves + self.spines {
                builder.port(leaf, Node::Switch(spine), self.spine_wire);
                builder.port(spine, Node::Switch(leaf), self.spine_wire);
            }
        }
        let several_racks = self.leaves > together;
        let paths = if several_racks {
            self.spines * together
        } else {
            1
        };
        Ok(Topology {
            tiers: ["leaf", "spine"].map(TierName::flat).to_vec(),
            ..builder.finish(paths)
        })
    }
}
