//! Names of the nodes of a network.

use super::custom::named_nodes;
use crate::error::{Outcome, did_you_mean};
use crate::scenario::Scenario;
use crate::value::shortened;
use std::ops::Range;
use tailcut_sim::fabric::topology::{Node, NodeNames, Topology};
use tailcut_units::HostId;

/// Names of all nodes of a network: `leaf[0]`, `edge[1.0]`, `h3`, or the names from a scenario.
#[derive(Clone, Debug)]
pub struct NamedNodes(Vec<Named>);

/// Nodes that share a name.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    nodes: Vec<Node>,
    /// Number of nodes with this name in each pod. 0 if the nodes are not in pods.
    in_pod: u32,
    /// Whether the name without an index means all nodes with this name.
    together: bool,
}

impl NamedNodes {
    /// Returns the names of a scenario's network.
    ///
    /// # Errors
    /// A section of the network is invalid.
    pub fn of(scenario: &Scenario, built: &Topology) -> Outcome<Self> {
        let switches = |range: Range<u32>| range.map(Node::Switch).collect();
        let by_number = |name: &str, nodes| Named {
            name: name.to_owned(),
            nodes,
            in_pod: 0,
            together: false,
        };
        let hosts = (0..built.hosts()).map(|host| Node::Host(HostId(host)));
        let by_number = [
            by_number("h", hosts.collect()),
            by_number("s", switches(0..built.switches.len() as u32)),
        ];
        let by_place = (0..).zip(&built.tiers).map(|(tier, called)| Named {
            name: called.name.to_owned(),
            nodes: switches(built.tier(tier)),
            in_pod: called.in_pod,
            together: true,
        });
        // Custom names are searched first.
        // A node can have the name `s1`, which is also the usual name of the second switch.
        let own = match built.names == NodeNames::default() {
            true => Vec::new(),
            false => named_nodes(scenario)?,
        };
        let own = own.into_iter().map(|(name, nodes)| Named {
            name,
            nodes,
            in_pod: 0,
            together: true,
        });
        Ok(Self(own.chain(by_number).chain(by_place).collect()))
    }

    /// Returns the nodes that a text names.
    ///
    /// # Errors
    /// An error text, if the text names no node.
    pub fn find(&self, text: &str) -> Result<Vec<Node>, String> {
        self.look_up(text).map_err(|unknown| {
            let meant = unknown
                .meant
                .map(|meant| format!("; did you mean '{meant}'?"));
            let (found, allowed) = (shortened(text), unknown.allowed);
            format!(
                "node: found {found}; allowed: {allowed}{}",
                meant.unwrap_or_default()
            )
        })
    }

    pub(super) fn look_up(&self, text: &str) -> Result<Vec<Node>, UnknownName> {
        let text = text.trim();
        let found = self.0.iter().find_map(|named| named.find(text));
        found.ok_or_else(|| {
            let names = self.0.iter().map(|named| named.name.as_str());
            let letters = text.trim_end_matches(|c: char| !c.is_alphabetic());
            let meant = did_you_mean(letters, names);
            let meant = meant.map(|near| text.replacen(letters, near, 1));
            let examples: Vec<String> = self.0.iter().map(Named::example).collect();
            UnknownName {
                allowed: format!("the name of a node, such as {}", examples.join(", ")),
                meant: meant.filter(|meant| meant != text),
            }
        })
    }
}

/// Error for a text that names no nodes.
#[derive(Debug)]
pub(super) struct UnknownName {
    pub allowed: String,
    pub meant: Option<String>,
}

/// Parses an index such as `2`, or a range.
/// `0..2` means the first two elements, `2..` and `..` end at the last element.
/// If the elements are in pods, the text can also be `1.0`, or `1.0..2` for the first two elements of pod 1.
/// Returns `None` if an element of the text does not exist. `of` is the number of elements.
pub(super) fn index_range(text: &str, of: usize, in_pod: usize) -> Option<Range<usize>> {
    let (first, after) = match text.split_once("..") {
        Some((first, after)) => (first.trim(), Some(after.trim())),
        None => (text.trim(), None),
    };
    let number = |text: &str| text.parse::<usize>().ok();
    let (base, of, first) = match first.split_once('.') {
        Some((pod, first)) if in_pod > 0 => {
            let base = number(pod)?.checked_mul(in_pod)?;
            // Larger values could overflow in the sum below.
            (base.le(&of).then_some(base)?, in_pod, first)
        }
        _ => (0, of, first),
    };
    let (first, after) = match after {
        None => (number(first)?, number(first)?.checked_add(1)?),
        Some("") => (if first.is_empty() { 0 } else { number(first)? }, of),
        Some(after) => (
            if first.is_empty() { 0 } else { number(first)? },
            number(after)?,
        ),
    };
    (first < after && after <= of).then(|| base + first..base + after)
}

impl Named {
    /// Returns the nodes that a text names. The text `name` means all nodes.
    /// `name[2]` or `name2` is one node, `name[1.2]` or `name1.2` is one node of a pod.
    /// `name[0..2]` means the first two nodes.
    fn find(&self, text: &str) -> Option<Vec<Node>> {
        let rest = text.strip_prefix(self.name.as_str())?;
        if rest.is_empty() {
            return self.together.then(|| self.nodes.clone());
        }
        let inner = match rest.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']')?,
            // A range without brackets is rejected, because readers can easily misread `leaf0..2`.
            None if rest.contains("..") => return None,
            None => rest,
        };
        let places = index_range(inner, self.nodes.len(), self.in_pod as usize)?;
        self.nodes.get(places).map(<[Node]>::to_vec)
    }

    /// Returns the name of the first node, as in outputs.
    fn example(&self) -> String {
        let name = &self.name;
        match (self.in_pod, self.nodes.len()) {
            (0, 1) if self.together => name.clone(),
            (0, _) if self.together => format!("{name}[0]"),
            (0, _) => format!("{name}0"),
            _ => format!("{name}[0.0]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::topology::network;

    #[test]
    fn every_node_is_found_by_the_name_that_outputs_give_it() {
        for topology in [
            "kind = \"fat-tree\"\nk = 4",
            "kind = \"fat-tree\"\nk = 4\ntiers = 2",
            "leaves = 3\nspines = 1",
            "kind = \"single-switch\"\nhosts = 3",
            "kind = \"custom\"\n[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 3\n[[nodes]]\n\
             name = \"s1\"\nkind = \"switch\"\n[[nodes]]\nname = \"tor\"\nkind = \"switch\"\ncount = 2\n\
             [[links]]\na = \"h[..]\"\nb = \"s1\"\n[[links]]\na = \"s1\"\nb = \"tor\"\n\
             [[nodes]]\nname = \"web\"\nkind = \"host\"\n[[links]]\na = \"web\"\nb = \"tor[1]\"\n",
        ] {
            let text = format!("[topology]\n{topology}\n");
            let scenario = Scenario::parse("s.toml", "", &text).expect("keys and values are valid");
            let built = network(&scenario).expect("a network").built;
            let names = NamedNodes::of(&scenario, &built).expect("names");
            let hosts = (0..built.hosts()).map(|host| Node::Host(HostId(host)));
            let switches = (0..built.switches.len() as u32).map(Node::Switch);
            for node in hosts.chain(switches) {
                let name = built.name_of(node);
                let found = names.find(&name);
                assert_eq!(found, Ok(vec![node]), "{name} of {topology}");
            }
        }
    }

    #[test]
    fn ranges_name_several_and_never_what_is_not_there() {
        for (text, of, in_pod, found) in [
            ("2", 4, 0, Some(2..3)),
            ("0..2", 4, 0, Some(0..2)),
            ("2..", 4, 0, Some(2..4)),
            ("..2", 4, 0, Some(0..2)),
            ("..", 4, 0, Some(0..4)),
            ("1.1", 8, 2, Some(3..4)),
            ("1.0..2", 8, 2, Some(2..4)),
            ("1.0..", 8, 2, Some(2..4)),
            ("4", 4, 0, None),
            ("3..5", 4, 0, None),
            ("2..2", 4, 0, None),
            ("2..1", 4, 0, None),
            ("1.2", 8, 2, None),
            ("1.0..3", 8, 2, None),
            ("1.1", 8, 0, None),
            ("", 8, 0, None),
            ("-1", 8, 0, None),
            ("99999999999999999999", 8, 0, None),
            ("9223372036854775807.1", 8, 2, None),
        ] {
            assert_eq!(index_range(text, of, in_pod), found, "{text} of {of}");
        }
    }
}
