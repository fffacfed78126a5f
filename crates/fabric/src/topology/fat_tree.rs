//! k-ary fat-trees of two and three tiers (Al-Fares et al., SIGCOMM 2008).

use super::builder::{Builder, Racks, sharing, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::leaf_spine::LeafSpine;
use super::node::{Node, TierName};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// A fat-tree of k-port switches.
///
/// Three tiers: k pods of k/2 edge and k/2 aggregation switches; aggregation switch j of every pod
/// is linked to the cores `j * c .. (j + 1) * c`, where c is k/2 unless the core is thinner. With m = k/2, a pinned path p between pods goes over aggregation switch
/// `p mod m`, then that switch's core number `p div m`, modulo c; within a pod over aggregation `p mod m`.
/// With several links a host, it comes down to edge `p div m` of those that the host is linked to, modulo
/// their number.
///
/// Two tiers: k leaves and k/2 spines, a [`LeafSpine`]. A pinned path p goes over spine p.
#[derive(Clone, Debug)]
pub struct FatTree {
    /// Ports a switch, even, 2 to 64; also the number of pods.
    pub k: u32,
    /// 2 or 3.
    pub tiers: u32,
    /// Links to hosts of an edge switch, 1 to 2,048: k/2, as many as it has uplinks, is not
    /// oversubscribed, four times as many is 4:1.
    pub edge_downlinks: u32,
    /// Uplinks per host, a divisor of k/2. With n above 1, n neighbouring edge switches form one rack and
    /// each of its hosts connects to all n. An edge switch keeps its downlinks, so there are fewer hosts.
    pub host_links: u32,
    /// How many cores an aggregation switch reaches. Three tiers only.
    pub core_oversubscription: CoreOversubscription,
    /// Each host's link.
    pub host_wire: Wire,
    /// Each link between an edge switch and one of the tier above.
    pub fabric_wire: Wire,
    /// Each link between an aggregation switch and a core. Three tiers only.
    pub core_wire: Wire,
    /// The queue of every switch port.
    pub queue: QueueConfig,
    /// Each switch's memory, when its ports share it.
    pub shared_buffer: Option<SharedBuffer>,
}

/// How thin the core is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreOversubscription {
    /// k/2 cores an aggregation switch.
    None,
    /// That many cores an aggregation switch, 1 to k/2.
    CoresPerAggregation(u32),
}

impl FatTree {
    /// The network, or what is wrong with the parameters.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("k", self.k, 64)?;
        if !self.k.is_multiple_of(2) {
            let found = alloc::format!("{}", self.k);
            return Err(TopologyError::new("k", found, "even numbers to 64"));
        }
        within("edge_downlinks", self.edge_downlinks, 2_048)?;
        sharing(self.host_links, self.k / 2, "half of k")?;
        if !self.edge_downlinks.is_multiple_of(self.host_links) {
            let found = alloc::format!("{}", self.edge_downlinks);
            let allowed = alloc::format!("multiples of host_links, {}", self.host_links);
            return Err(TopologyError::new("edge_downlinks", found, allowed));
        }
        match self.tiers {
            2 => self.leaf_spine().build(),
            3 => self.three_tiers(),
            found => {
                let found = alloc::format!("{found}");
                Err(TopologyError::new("tiers", found, "2 and 3"))
            }
        }
    }

    fn leaf_spine(&self) -> LeafSpine {
        LeafSpine {
            leaves: self.k,
            spines: self.k / 2,
            hosts_per_leaf: self.edge_downlinks / self.host_links,
            host_links: self.host_links,
            host_wire: self.host_wire,
            spine_wire: self.fabric_wire,
            queue: self.queue.clone(),
            shared_buffer: self.shared_buffer,
        }
    }

    fn three_tiers(&self) -> Result<Topology, TopologyError> {
        let m = self.k / 2;
        let cores_per_aggregation = match self.core_oversubscription {
            CoreOversubscription::None => m,
            CoreOversubscription::CoresPerAggregation(cores) => {
                within("cores_per_aggregation", cores, m)?;
                cores
            }
        };
        let together = self.host_links;
        let hosts_per_edge = self.edge_downlinks / together;
        let hosts_per_rack = hosts_per_edge * together;
        let hosts_per_pod = hosts_per_edge * m;
        let hosts = hosts_per_pod * self.k;
        if hosts > 1 << 20 {
            let found = "more than 1,048,576 hosts with this oversubscription";
            return Err(TopologyError::new("k", found, ""));
        }
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        // Numbered edges first, then aggregations, then cores.
        for edge in 0..self.k * m {
            let first_host = edge / together * hosts_per_rack;
            let down_and_up = Clos::new(first_host, hosts_per_rack, 1, m, 1);
            builder.switch(0, Forwarding::Clos(down_and_up));
        }
        for aggregation in 0..self.k * m {
            let racks = Racks {
                first_host: aggregation / m * hosts_per_pod,
                count: m / together,
                hosts: hosts_per_rack,
                switches: together,
            };
            let forwarding = racks.forwarding(cores_per_aggregation, hosts, m);
            builder.switch(1, forwarding);
        }
        for _ in 0..m * cores_per_aggregation {
            let down = Clos::new(0, hosts, hosts_per_pod, 0, 1);
            builder.switch(2, Forwarding::Clos(down));
        }
        let first_aggregation = self.k * m;
        let first_core = 2 * self.k * m;
        // A port's place follows from the order of these loops: down before up, children in order.
        for pod in 0..self.k {
            for edge in pod * m..(pod + 1) * m {
                if edge.is_multiple_of(together) {
                    builder.rack(edge, together, hosts_per_edge, self.host_wire);
                }
                for j in 0..m {
                    let aggregation = first_aggregation + pod * m + j;
                    builder.port(edge, Node::Switch(aggregation), self.fabric_wire);
                    builder.port(aggregation, Node::Switch(edge), self.fabric_wire);
                }
            }
            for j in 0..m {
                let aggregation = first_aggregation + pod * m + j;
                for i in 0..cores_per_aggregation {
                    let core = first_core + j * cores_per_aggregation + i;
                    builder.port(aggregation, Node::Switch(core), self.core_wire);
                    builder.port(core, Node::Switch(aggregation), self.core_wire);
                }
            }
        }
        // What is chosen on the way down follows from the same digit as the core.
        let mut upper = (1..).map(|n| n * cores_per_aggregation);
        let upper = upper.find(|n| n.is_multiple_of(together));
        let in_pods = |name| TierName { name, in_pod: m };
        Ok(Topology {
            tiers: [
                in_pods("edge"),
                in_pods("aggregation"),
                TierName::flat("core"),
            ]
            .to_vec(),
            ..builder.finish(m * upper.unwrap_or(cores_per_aggregation))
        })
    }
}
