//! Links that are slow or down, from their sections.

use super::custom::named_nodes;
use super::topology::Network;
use crate::error::Outcome;
use crate::error::did_you_mean;
use crate::scenario::{Scenario, Table};
use crate::value::shortened;
use std::ops::Range;
use tailcut_sim::Shape;
use tailcut_sim::fabric::topology::{LinkFault, Node, Topology, Trouble};
use tailcut_units::{Duration, HostId, Rate, Time};

/// The faults of a scenario, each checked against its network.
pub fn faults(scenario: &Scenario, network: &Network) -> Outcome<Vec<LinkFault>> {
    let names = Names::of(scenario, network)?;
    let mut faults = Vec::new();
    for table in scenario.tables("failures") {
        if table.get::<Option<Rate>>("rate").is_some() && table.given("reconvergence").is_some() {
            let allowed = "only where the link is down: routing does not avoid slow ones";
            return Err(table.error("reconvergence", "a rate", allowed));
        }
        let before = faults.len();
        for &a in &names.nodes(table, "a")? {
            for &b in &names.nodes(table, "b")? {
                let links = network.built.links.iter();
                let mut about = links.filter(|link| (link.from, link.to) == (a, b));
                if about.next().is_some() {
                    faults.push(fault(table, a, b));
                }
            }
        }
        let error = |key: &str, found: &str, allowed: &str| Err(table.error(key, found, allowed));
        if faults.len() == before {
            return error(
                "b",
                "no link between the two",
                "the name of a node with a link to a",
            );
        }
        // In a copy, so that the network as designed stays.
        let mut built = network.built.clone();
        if let Err(wrong) = built.add_faults(&faults[before..]) {
            return error(wrong.parameter, &wrong.found, &wrong.allowed);
        }
    }
    Ok(faults)
}

fn fault(table: &Table, a: Node, b: Node) -> LinkFault {
    let (from, until): (Duration, Option<Duration>) = (table.get("from"), table.get("until"));
    let at = |after| Time::ZERO.saturating_add(after);
    LinkFault {
        a,
        b,
        trouble: table
            .get::<Option<_>>("rate")
            .map_or(Trouble::Down, Trouble::Slow),
        from: at(from),
        until: until.map_or(Time::MAX, at),
        reconvergence: table.get("reconvergence"),
    }
}

/// What the nodes of a network are called.
struct Names {
    kinds: Vec<Named>,
}

/// Nodes that share a name.
struct Named {
    name: String,
    nodes: Vec<Node>,
    /// How many of them a pod has; 0 where they are not in pods.
    in_pod: u32,
    /// Whether the name alone means all of them.
    together: bool,
}

impl Names {
    fn of(scenario: &Scenario, network: &Network) -> Outcome<Self> {
        let built = &network.built;
        let switches = |range: Range<u32>| range.map(Node::Switch).collect::<Vec<Node>>();
        let named = |name: &str, in_pod, nodes| Named {
            name: name.to_owned(),
            nodes,
            in_pod,
            together: name.len() > 1,
        };
        let mut kinds = vec![
            named(
                "h",
                0,
                (0..built.hosts()).map(|h| Node::Host(HostId(h))).collect(),
            ),
            named("s", 0, switches(0..built.switches.len() as u32)),
        ];
        let of_tier = |tier: u8| switches(tier_of(built, tier));
        match &network.spec.shape {
            Shape::FatTree(tree) if tree.tiers == 3 => {
                let in_pod = tree.k / 2;
                kinds.push(named("edge", in_pod, of_tier(0)));
                kinds.push(named("aggregation", in_pod, of_tier(1)));
                kinds.push(named("core", 0, of_tier(2)));
            }
            Shape::FatTree(_) | Shape::LeafSpine(_) => {
                kinds.push(named("leaf", 0, of_tier(0)));
                kinds.push(named("spine", 0, of_tier(1)));
            }
            Shape::SingleSwitch(_) => {}
            Shape::Custom(_) => {
                let own = named_nodes(scenario)?.into_iter();
                // A name of one's own goes before a number that looks like it.
                let own = own.map(|(name, nodes)| Named {
                    name,
                    nodes,
                    in_pod: 0,
                    together: true,
                });
                kinds.splice(0..0, own);
            }
        }
        Ok(Self { kinds })
    }

    /// The nodes that a key names.
    fn nodes(&self, table: &Table, key: &str) -> Outcome<Vec<Node>> {
        let Some(text) = table.text(key) else {
            return Err(table.error(key, "nothing", "the name of a node"));
        };
        let found = self.kinds.iter().find_map(|named| named.find(text.trim()));
        found.ok_or_else(|| {
            let names = self.kinds.iter().map(|named| named.name.as_str());
            let letters = text.trim_end_matches(|c: char| !c.is_alphabetic());
            let meant = did_you_mean(letters, names);
            let meant = meant.map(|near| text.replacen(letters, near, 1));
            let examples: Vec<String> = self.kinds.iter().map(Named::example).collect();
            let allowed = format!("the name of a node, such as {}", examples.join(", "));
            table
                .error(key, format!("\"{}\"", shortened(&text)), allowed)
                .meaning(meant.filter(|meant| *meant != text))
        })
    }
}

/// The switches of a tier, which follow each other.
fn tier_of(built: &Topology, tier: u8) -> Range<u32> {
    let place = |tier| built.switches.partition_point(|spec| spec.tier < tier) as u32;
    place(tier)..place(tier + 1)
}

impl Named {
    /// `name` for all, `name[2]` or `name2` for one, `name1.2` for one of a pod.
    fn find(&self, text: &str) -> Option<Vec<Node>> {
        let rest = text.strip_prefix(self.name.as_str())?;
        if rest.is_empty() {
            return self.together.then(|| self.nodes.clone());
        }
        let rest = rest
            .strip_prefix('[')
            .map_or(Some(rest), |inner| inner.strip_suffix(']'))?;
        let index = match rest.split_once('.') {
            Some((pod, place)) if self.in_pod > 0 => {
                let place: u32 = place.parse().ok().filter(|place| *place < self.in_pod)?;
                let before = pod.parse::<u32>().ok()?.checked_mul(self.in_pod)?;
                before.checked_add(place)?
            }
            _ => rest.parse().ok()?,
        };
        self.nodes.get(index as usize).map(|node| vec![*node])
    }

    fn example(&self) -> String {
        let name = &self.name;
        match (self.in_pod, self.nodes.len()) {
            (0, 1) if self.together => name.clone(),
            (0, _) => format!("{name}0"),
            _ => format!("{name}0.0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::topology::network;

    fn read(text: &str) -> Outcome<Vec<LinkFault>> {
        let scenario = Scenario::parse("s.toml", "", text).expect("keys and values are sound");
        let network = network(&scenario).expect("a network");
        faults(&scenario, &network)
    }

    fn failure(topology: &str, a: &str, b: &str, more: &str) -> Outcome<Vec<LinkFault>> {
        read(&format!(
            "[topology]\n{topology}\n[[failures]]\na = \"{a}\"\nb = \"{b}\"\n{more}\n"
        ))
    }

    const TREE: &str = "kind = \"fat-tree\"\nk = 4";
    const SPINES: &str = "leaves = 2\nspines = 3";

    #[test]
    fn nodes_go_by_their_place_in_the_network_or_by_their_number() {
        let ends = |faults: Outcome<Vec<LinkFault>>| {
            let faults = faults.expect("a link").into_iter();
            faults.map(|fault| (fault.a, fault.b)).collect::<Vec<_>>()
        };
        let both = |a, b| vec![(Node::Switch(a), Node::Switch(b))];
        assert_eq!(
            ends(failure(TREE, "edge1.0", "aggregation1.1", "")),
            both(2, 11)
        );
        assert_eq!(ends(failure(TREE, "s2", "s11", "")), both(2, 11));
        assert_eq!(
            ends(failure(TREE, "core3", "aggregation1", "")),
            both(19, 9)
        );
        assert_eq!(ends(failure(SPINES, "leaf1", "spine2", "")), both(1, 4));
        assert_eq!(
            ends(failure(SPINES, "leaf", "spine2", "")).len(),
            2,
            "every leaf's"
        );
        let host = vec![(Node::Host(HostId(9)), Node::Switch(1))];
        assert_eq!(ends(failure(SPINES, "h9", "leaf1", "")), host);
        let own = "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"tor\"\n\
                   kind = \"switch\"\n[[links]]\na = \"h\"\nb = \"tor\"\n[[failures]]\na = \"h[1]\"\n\
                   b = \"tor\"\n";
        assert_eq!(ends(read(own)), [(Node::Host(HostId(1)), Node::Switch(0))]);
    }

    #[test]
    fn a_failure_says_what_and_from_when_until_when() {
        let more = "rate = \"1Gbps\"\nfrom = \"2ms\"\nuntil = \"3ms\"\n";
        let faults = failure(SPINES, "leaf0", "spine0", more).expect("sound");
        let gigabit = tailcut_units::Rate::from_gbps(1);
        assert_eq!(faults[0].trouble, Trouble::Slow(gigabit));
        assert_eq!(faults[0].from, Time::from_ns(2_000_000));
        assert_eq!(faults[0].until, Time::from_ns(3_000_000));
        let faults = failure(SPINES, "leaf0", "spine0", "").expect("sound");
        assert_eq!(
            (faults[0].trouble, faults[0].until),
            (Trouble::Down, Time::MAX)
        );
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        for (faults, told) in [
            (
                failure(SPINES, "leaf0", "spime0", ""),
                "s.toml:6: failures.b: found \"spime0\"; allowed: the name of a node, such as h0, s0, \
                 leaf0, spine0; did you mean 'spine0'?",
            ),
            (
                failure(SPINES, "leaf0", "leaf1", ""),
                "s.toml:6: failures.b: found no link between the two; allowed: the name of a node with a \
                 link to a",
            ),
            (
                failure(SPINES, "leaf0", "spine0", "rate = \"11Gbps\""),
                "s.toml:7: failures.rate: found 11 Gb/s; allowed: 10 Gb/s at most",
            ),
            (
                failure(
                    SPINES,
                    "leaf0",
                    "spine0",
                    "rate = \"1Gbps\"\nreconvergence = \"1ms\"",
                ),
                "s.toml:8: failures.reconvergence: found a rate; allowed: only where the link is down: \
                 routing does not avoid slow ones",
            ),
            (
                failure(SPINES, "leaf0", "spine0", "from = \"3ms\"\nuntil = \"2ms\""),
                "s.toml:8: failures.until: found 2 ms; allowed: times after 3 ms",
            ),
        ] {
            assert_eq!(faults.expect_err("wrong").to_string(), told);
        }
    }
}
