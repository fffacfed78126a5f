//! Graph of a network for a drawing: nodes and links. In a large network, one node represents several hosts.

use std::collections::BTreeMap;
use tailcut_record::TopologyLink;
use tailcut_units::Rate;

/// Maximum number of hosts for which each host is drawn as a node.
/// With more hosts, all hosts on the same switches share one node.
const MOST_HOSTS: usize = 64;

/// Maximum numbers of links, and of nodes in a tier, that are still distinguishable in a drawing.
const MOST_LINKS: usize = 6_000;
const MOST_NODES: usize = 300;

/// Node of the drawing: a switch, a host, or several hosts on the same switches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    /// Name of the node, such as `s3`, `h17` or `8 hosts of s3`.
    pub name: String,
    /// Number of links from the node to the nearest host.
    pub tier: u8,
    /// Number of hosts that the node represents, or 0 for a switch.
    pub hosts: usize,
}

/// Edge between two nodes: both directions of one link or of several links.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Edge {
    /// Index of the node that is nearer to the hosts.
    pub low: usize,
    /// Index of the node that is farther from the hosts.
    pub high: usize,
    /// Ports that feed the links from `low` to `high`.
    pub up: Vec<u32>,
    /// Ports that feed the links from `high` to `low`.
    pub down: Vec<u32>,
    /// Rate of the fastest link of the edge.
    pub rate: Rate,
}

/// Nodes and edges of a drawing. Nodes are ordered by tier, and within a tier by their first link.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

impl Graph {
    /// Returns the graph of the network with the given links. Returns `None` if there are no links.
    pub fn of(links: &[TopologyLink]) -> Option<Self> {
        let mut names: BTreeMap<&str, u8> = BTreeMap::new();
        let mut order: Vec<&str> = Vec::new();
        let froms = links.iter().map(|link| (&link.from, link.from_tier));
        let tos = links.iter().map(|link| (&link.to, link.to_tier));
        for (name, tier) in froms.chain(tos) {
            if names.insert(name, tier).is_none() {
                order.push(name);
            }
        }
        let drawn = drawn_nodes(links, &names);
        let mut nodes: Vec<Node> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for name in order {
            let (tier, shown) = (names[name], &drawn[name]);
            let place = *known.entry(shown).or_insert(nodes.len());
            if place == nodes.len() {
                nodes.push(Node {
                    name: shown.clone(),
                    tier,
                    hosts: 0,
                });
            }
            nodes[place].hosts += usize::from(tier == 0);
        }
        nodes.sort_by_key(|node| node.tier);
        let place: BTreeMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .map(|(place, node)| (node.name.as_str(), place))
            .collect();
        let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
        for link in links {
            let (from, to) = (place[&*drawn[&*link.from]], place[&*drawn[&*link.to]]);
            let (low, high) = (from.min(to), from.max(to));
            let edge = edges.entry((low, high)).or_insert(Edge {
                low,
                high,
                up: Vec::new(),
                down: Vec::new(),
                rate: link.rate,
            });
            edge.rate = edge.rate.max(link.rate);
            match from == low {
                true => edge.up.push(link.port),
                false => edge.down.push(link.port),
            }
        }
        let edges = edges.into_values().collect();
        (!links.is_empty()).then_some(Self { nodes, edges })
    }

    /// Returns whether links and nodes are distinguishable in a drawing.
    pub fn can_be_drawn(&self) -> bool {
        let widest = (0..=self.top()).map(|tier| self.tier(tier).count()).max();
        self.edges.len() <= MOST_LINKS && widest <= Some(MOST_NODES)
    }

    /// Returns the number of the highest tier.
    pub fn top(&self) -> u8 {
        self.nodes.iter().map(|node| node.tier).max().unwrap_or(0)
    }

    /// Returns the nodes of a tier.
    pub fn tier(&self, tier: u8) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.nodes.iter().enumerate();
        numbered.filter_map(move |(index, node)| (node.tier == tier).then_some(index))
    }

    /// Returns whether a node represents several hosts.
    pub fn is_folded(&self) -> bool {
        self.nodes.iter().any(|node| node.hosts > 1)
    }

    /// Returns the number of directed links: each edge has two, in the order of the edges.
    pub fn directions(&self) -> usize {
        2 * self.edges.len()
    }

    /// Returns the ports of the directed link `index`.
    /// `2 * edge` is the direction up, and `2 * edge + 1` is the direction down.
    pub fn ports(&self, index: usize) -> &[u32] {
        let edge = &self.edges[index / 2];
        match index.is_multiple_of(2) {
            true => &edge.up,
            false => &edge.down,
        }
    }

    /// Returns the names of the two ends of the directed link `index`. The first name is the sender.
    pub fn ends(&self, index: usize) -> (&str, &str) {
        let edge = &self.edges[index / 2];
        let (low, high) = (&self.nodes[edge.low].name, &self.nodes[edge.high].name);
        match index.is_multiple_of(2) {
            true => (low, high),
            false => (high, low),
        }
    }
}

/// Returns the name under which each node is drawn.
/// If there are many hosts, all hosts on the same switches get a common name. Otherwise each node has its own name.
fn drawn_nodes<'a>(
    links: &'a [TopologyLink],
    names: &BTreeMap<&'a str, u8>,
) -> BTreeMap<&'a str, String> {
    let itself = |name: &'a str| (name, name.to_owned());
    let mut drawn: BTreeMap<&str, String> = names.keys().map(|&name| itself(name)).collect();
    if names.values().filter(|tier| **tier == 0).count() <= MOST_HOSTS {
        return drawn;
    }
    let mut switches: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in links.iter().filter(|link| link.from_tier == 0) {
        switches.entry(&link.from).or_default().push(&link.to);
    }
    let mut groups: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for (host, mut its) in switches {
        its.sort_unstable();
        groups.entry(its).or_default().push(host);
    }
    for (switches, hosts) in groups {
        let name = match hosts.len() {
            1 => hosts[0].to_owned(),
            many => format!("{many} hosts of {}", switches.join(" and ")),
        };
        for host in hosts {
            drawn.insert(host, name.clone());
        }
    }
    drawn
}
