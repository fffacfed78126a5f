//! Network as it is drawn: nodes and links. In a large network, several hosts become one node.

use std::collections::BTreeMap;
use tailcut_record::TopologyLink;
use tailcut_units::Rate;

/// Hosts, at most, that are each drawn as a node. With more, all hosts on the same switches are one node.
const MOST_HOSTS: usize = 64;

/// Largest numbers of links, and of nodes in a tier, that a drawing can still show apart.
const MOST_LINKS: usize = 6_000;
const MOST_NODES: usize = 300;

/// Node, or several hosts on the same switches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    /// Name, such as `s3`, `h17` or `8 hosts of s3`.
    pub name: String,
    /// Number of links to the nearest host.
    pub tier: u8,
    /// Number of hosts in the node, or 0 for a switch.
    pub hosts: usize,
}

/// Both directions between two nodes, for one link or for several.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Edge {
    /// End nearer to the hosts.
    pub low: usize,
    /// Other end.
    pub high: usize,
    /// Ports that feed the links from `low` to `high`.
    pub up: Vec<u32>,
    /// Ports that feed the links from `high` to `low`.
    pub down: Vec<u32>,
    /// Rate of the fastest link.
    pub rate: Rate,
}

/// Nodes and edges. Nodes are ordered by tier, then by their first link.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

impl Graph {
    /// Returns the network of `links`, or `None` without links.
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

    /// Returns whether a drawing can show the links apart.
    pub fn can_be_drawn(&self) -> bool {
        let widest = (0..=self.top()).map(|tier| self.tier(tier).count()).max();
        self.edges.len() <= MOST_LINKS && widest <= Some(MOST_NODES)
    }

    /// Returns the highest tier.
    pub fn top(&self) -> u8 {
        self.nodes.iter().map(|node| node.tier).max().unwrap_or(0)
    }

    /// Returns the nodes of a tier.
    pub fn tier(&self, tier: u8) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.nodes.iter().enumerate();
        numbered.filter_map(move |(index, node)| (node.tier == tier).then_some(index))
    }

    /// Returns whether any node stands for several hosts.
    pub fn is_folded(&self) -> bool {
        self.nodes.iter().any(|node| node.hosts > 1)
    }

    /// Returns the number of directed links: up and down of each edge, in the order of the edges.
    pub fn directions(&self) -> usize {
        2 * self.edges.len()
    }

    /// Returns the ports of direction `index`: `2 * edge` is up, `2 * edge + 1` is down.
    pub fn ports(&self, index: usize) -> &[u32] {
        let edge = &self.edges[index / 2];
        match index.is_multiple_of(2) {
            true => &edge.up,
            false => &edge.down,
        }
    }

    /// Returns the names of the ends of direction `index`, the sender first.
    pub fn ends(&self, index: usize) -> (&str, &str) {
        let edge = &self.edges[index / 2];
        let (low, high) = (&self.nodes[edge.low].name, &self.nodes[edge.high].name);
        match index.is_multiple_of(2) {
            true => (low, high),
            false => (high, low),
        }
    }
}

/// Returns the name under which each node is drawn: its own, or with many hosts a common one for all hosts on the same
/// switches.
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
