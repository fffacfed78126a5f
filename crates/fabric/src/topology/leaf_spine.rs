//! Leaf-spine network: two tiers, with a link from every leaf to every spine.

use super::builder::{Builder, Racks, sharing, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::node::{Node, TierName};
use super::size::{Part, Size};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// Leaf-spine network. A pinned path p uses spine `p mod spines`.
/// If hosts have several links, the path comes down through leaf `p div spines` of the host's leaves.
///
/// The oversubscription is `hosts_per_leaf * host_links * host_wire.rate / (spines * spine_wire.rate)`.
#[derive(Clone, Debug)]
pub struct LeafSpine {
    /// Number of leaf switches (racks), 1 to 4,096.
    pub leaves: u32,
    /// Number of spine switches, 1 to 4,096. This is also the number of paths between racks.
    pub spines: u32,
    /// Number of hosts per leaf, 1 to 4,096. A host belongs to the leaf to which its first link leads.
    pub hosts_per_leaf: u32,
    /// Number of links per host, a divisor of `leaves`.
    /// With n links, n neighbouring leaves form one rack, and each host of the rack has a link to all of them.
    pub host_links: u32,
    /// Rate and delay of the link between a host and a leaf.
    pub host_wire: Wire,
    /// Rate and delay of the link between a leaf and a spine.
    pub spine_wire: Wire,
    /// Queue of every switch port.
    pub queue: QueueConfig,
    /// Shared packet memory of each switch, or `None` if ports do not share memory.
    pub shared_buffer: Option<SharedBuffer>,
}

impl LeafSpine {
    /// Builds the network. Returns an error if a parameter is wrong.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("leaves", self.leaves, 4_096)?;
        within("spines", self.spines, 4_096)?;
        within("hosts_per_leaf", self.hosts_per_leaf, 4_096)?;
        let together = self.host_links;
        sharing(together, self.leaves, "the number of leaves")?;
        self.size().check()?;
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
        // A spine with one link to each rack has no choice, unless routing avoids a failed link.
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
        // In a network with only one rack, every leaf reaches every host directly, so no switch has a choice.
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

    fn size(&self) -> Size {
        let [leaves, spines, hosts] =
            [self.leaves, self.spines, self.hosts_per_leaf].map(u64::from);
        let downlinks = hosts * u64::from(self.host_links);
        let most_links = if downlinks > spines {
            "hosts_per_leaf"
        } else {
            "spines"
        };
        Size {
            hosts: Part::new("hosts_per_leaf", leaves * hosts),
            links: Part::new(most_links, leaves * (downlinks + spines)),
            ports: Part::new(most_links, leaves.max(downlinks + spines)),
        }
    }
}
