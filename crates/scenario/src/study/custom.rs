//! Custom network of nodes and links, from `[[nodes]]` and `[[links]]`.

use super::queue::queue;
use crate::error::{Outcome, did_you_mean};
use crate::scenario::Scenario;
use crate::value::shortened;
use std::collections::BTreeMap;
use std::ops::Range;
use tailcut_sim::fabric::SharedBuffer;
use tailcut_sim::fabric::topology::{
    CustomLink, CustomTopology, MOST_LINKS, Node, NodeNames, Wire,
};
use tailcut_units::HostId;

/// Nodes that share a name in a custom topology.
#[derive(Clone)]
enum Group {
    Hosts(Range<u32>),
    Switches(Range<u32>),
}

/// Returns the names of all nodes. A group of one node gives the node its name.
/// In a larger group, each node has the group's name with an index, as in `[[failures]]`.
fn node_names(groups: &BTreeMap<String, Group>, hosts: u32, switches: u32) -> NodeNames {
    let mut names = NodeNames {
        hosts: vec![String::new(); hosts as usize],
        switches: vec![String::new(); switches as usize],
    };
    for (name, group) in groups {
        let (range, its) = match group {
            Group::Hosts(range) => (range, &mut names.hosts),
            Group::Switches(range) => (range, &mut names.switches),
        };
        for (place, node) in range.clone().enumerate() {
            its[node as usize] = match range.len() {
                1 => name.clone(),
                _ => format!("{name}[{place}]"),
            };
        }
    }
    names
}

impl Group {
    fn nodes(&self) -> Vec<Node> {
        match self {
            Self::Hosts(range) => range.clone().map(|host| Node::Host(HostId(host))).collect(),
            Self::Switches(range) => range.clone().map(Node::Switch).collect(),
        }
    }
}

pub fn custom(
    scenario: &Scenario,
    usual: Wire,
    shared_buffer: Option<SharedBuffer>,
) -> Outcome<CustomTopology> {
    let (groups, hosts, switches) = groups(scenario)?;
    let mut links = Vec::new();
    let mut host_rates = Vec::new();
    for table in scenario.tables("links") {
        let end = |key: &str| -> Outcome<Vec<Node>> {
            let Some(name) = table.text(key) else {
                return Err(table.error(key, "nothing", "the name of a node"));
            };
            nodes_of(&groups, &name).map_err(|wrong| {
                let found = format!("\"{}\"", shortened(&name));
                table.error(key, found, wrong.allowed).meaning(wrong.meant)
            })
        };
        let wire = Wire {
            rate: table.get_or("rate", usual.rate),
            delay: table.get_or("delay", usual.delay),
        };
        let (a_ends, b_ends) = (end("a")?, end("b")?);
        let total = a_ends.len().saturating_mul(b_ends.len()) + links.len();
        if total as u64 > MOST_LINKS {
            let found = format!("{} times {} links", a_ends.len(), b_ends.len());
            return Err(table.error("a", found, format!("at most {MOST_LINKS} links in total")));
        }
        for &a in &a_ends {
            for &b in &b_ends {
                if matches!((a, b), (Node::Host(_), _) | (_, Node::Host(_))) {
                    host_rates.push(wire.rate);
                }
                links.push(CustomLink { a, b, wire });
            }
        }
    }
    Ok(CustomTopology {
        hosts,
        switches,
        links,
        queue: queue(scenario, host_rates.into_iter().min().unwrap_or(usual.rate)),
        shared_buffer,
        names: node_names(&groups, hosts, switches),
    })
}

/// Error for a text that names no nodes.
struct UnknownNodes {
    allowed: String,
    meant: Option<String>,
}

/// Returns the nodes that a text names: `leaf` means all leaves, `leaf[2]` the third, `leaf[0..2]` the first two.
fn nodes_of(groups: &BTreeMap<String, Group>, text: &str) -> Result<Vec<Node>, UnknownNodes> {
    let (name, places) = match text.split_once('[') {
        Some((name, places)) => (name, places.strip_suffix(']')),
        None => (text, Some("..")),
    };
    let Some(group) = groups.get(name) else {
        let near = did_you_mean(name, groups.keys().map(String::as_str));
        return Err(UnknownNodes {
            allowed: "the name of a node".to_owned(),
            meant: near.map(|near| text.replacen(name, near, 1)),
        });
    };
    let nodes = group.nodes();
    let range = places.and_then(|text| super::names::index_range(text, nodes.len(), 0));
    let named = range.and_then(|range| nodes.get(range).map(<[Node]>::to_vec));
    named.ok_or_else(|| UnknownNodes {
        allowed: format!(
            "{name}[0] to {name}[{}], or several of them, such as {name}[0..{}]",
            nodes.len() - 1,
            nodes.len()
        ),
        meant: None,
    })
}

/// Returns the names of a custom topology, each with its nodes.
pub fn named_nodes(scenario: &Scenario) -> Outcome<Vec<(String, Vec<Node>)>> {
    let (groups, ..) = groups(scenario)?;
    let named = groups.into_iter();
    Ok(named.map(|(name, group)| (name, group.nodes())).collect())
}

fn groups(scenario: &Scenario) -> Outcome<(BTreeMap<String, Group>, u32, u32)> {
    const MOST: u32 = 65_535;
    let mut groups = BTreeMap::new();
    let (mut hosts, mut switches) = (0u32, 0u32);
    for table in scenario.tables("nodes") {
        let Some(name) = table.text("name") else {
            return Err(table.error("name", "nothing", "a name that no other node has"));
        };
        if name.contains(['[', ']', '#']) {
            let found = format!("\"{}\"", shortened(&name));
            let allowed = "a name without [, ] and #, which mark the index of a node or of a link";
            return Err(table.error("name", found, allowed));
        }
        let count: u32 = table.get("count");
        let (group, total) = match table.word("kind") {
            Some("host") => {
                hosts += count;
                (Group::Hosts(hosts - count..hosts), hosts)
            }
            Some("switch") => {
                switches += count;
                (Group::Switches(switches - count..switches), switches)
            }
            _ => return Err(table.error("kind", "nothing", "\"host\" or \"switch\"")),
        };
        if total > MOST {
            return Err(table.error(
                "count",
                format!("{total} in total"),
                format!("at most {MOST}"),
            ));
        }
        if groups.insert(name.clone(), group).is_some() {
            let found = format!("\"{}\" again", shortened(&name));
            return Err(table.error("name", found, "a name that no other node has"));
        }
    }
    Ok((groups, hosts, switches))
}
