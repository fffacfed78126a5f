//! k-ary fat-trees with two or three tiers (Al-Fares et al., SIGCOMM 2008).

use super::builder::{Builder, Racks, sharing, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::leaf_spine::LeafSpine;
use super::node::{Node, TierName};
use super::size::{Part, Size};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// Fat-tree of switches with k ports each.
///
/// Three tiers: k pods, each with m = k/2 edge switches and m aggregation switches.
/// Each aggregation switch has links to c cores: m cores, or fewer if the core is oversubscribed.
/// Aggregation switch j of every pod has links to the cores `j * c .. (j + 1) * c`.
///
/// Between pods, a pinned path p uses aggregation switch `p mod m`.
/// At its aggregation switch, a pinned path p uses core number `p div m`, modulo the switch's number of cores c.
/// Within a pod, the path uses aggregation switch `p mod m`.
/// If hosts have several links, the path comes down through edge switch `p div m` of the host's edge switches.
/// The number `p div m` is taken modulo the number of edge switches of the host.
///
/// Two tiers: k leaves and k/2 spines, as in a [`LeafSpine`]. A pinned path p uses spine p.
#[derive(Clone, Debug)]
pub struct FatTree {
    /// Number of ports per switch, even, 2 to 64. It is also the number of pods.
    pub k: u32,
    /// Number of tiers, 2 or 3.
    pub tiers: u32,
    /// Number of links to hosts per edge switch, 1 to 2,048.
    /// With k/2 links to hosts, an edge switch has the same number of uplinks, so the network is not oversubscribed.
    /// With 2k links to hosts, the oversubscription is 4:1.
    pub edge_downlinks: u32,
    /// Number of uplinks per host, a divisor of k/2.
    /// With n uplinks, n neighbouring edge switches form one rack. Each host of the rack is connected to all of them.
    /// Edge switches keep their number of downlinks, so a larger n means fewer hosts.
    pub host_links: u32,
    /// Number of cores per aggregation switch. Used only with three tiers.
    pub core_oversubscription: CoreOversubscription,
    /// Rate and delay of the link between a host and an edge switch.
    pub host_wire: Wire,
    /// Rate and delay of the link between an edge switch and a switch of the tier above.
    pub fabric_wire: Wire,
    /// Rate and delay of the link between an aggregation switch and a core. Used only with three tiers.
    pub core_wire: Wire,
    /// Queue of every switch port.
    pub queue: QueueConfig,
    /// Shared packet memory of each switch, or `None` if ports do not share memory.
    pub shared_buffer: Option<SharedBuffer>,
}

/// Oversubscription between aggregation switches and cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreOversubscription {
    /// No oversubscription: k/2 cores per aggregation switch.
    None,
    /// Number of cores per aggregation switch, 1 to k/2.
    CoresPerAggregation(u32),
}

impl FatTree {
    /// Builds the network. Returns an error if a parameter is wrong.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("k", self.k, 64)?;
        if !self.k.is_multiple_of(2) {
            let found = alloc::format!("{}", self.k);
            return Err(TopologyError::new("k", found, "even numbers to 64"));
        }
        within("edge_downlinks", self.edge_downlinks, 2_048)?;
        sharing(self.host_links, self.k / 2, "half of k")?;
        // The number of links divided by `host_links` is the number of hosts per edge switch.
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
        let (edges, downlinks) = (u64::from(self.k * m), u64::from(self.edge_downlinks));
        let uplinks = u64::from(m + cores_per_aggregation);
        Size {
            hosts: Part::new("k", u64::from(hosts)),
            links: Part::new("k", edges * (downlinks + uplinks)),
            // Aggregation switches and cores have at most 64 ports. Only an edge switch can have too many ports.
            ports: Part::new("edge_downlinks", downlinks + u64::from(m)),
        }
        .check()?;
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        // Switches are numbered by tier: edge switches, then aggregation switches, then cores.
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
        // The order of these loops determines the numbers of ports: first down ports, then up ports.
        // Both kinds of ports are in the order of the switches.
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
        // On the way down, the choice uses the same digit of the path number as the choice of the core.
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
