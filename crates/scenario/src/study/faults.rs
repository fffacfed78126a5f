//! Failures of links: slow, lossy or down, from the `[[failures]]` sections.

use super::names::NamedNodes;
use super::topology::Network;
use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use crate::value::shortened;
use tailcut_sim::fabric::LossRate;
use tailcut_sim::fabric::topology::{LinkFault, Node, Trouble};
use tailcut_units::{Duration, Time};

/// Returns the faults of a scenario. Each fault is checked against the network.
pub fn faults(scenario: &Scenario, network: &Network) -> Outcome<Vec<LinkFault>> {
    let names = NamedNodes::of(scenario, &network.built)?;
    let mut faults = Vec::new();
    for table in scenario.tables("failures") {
        let impairments = impairments(table);
        if !impairments.contains(&Trouble::Down) && table.given("reconvergence").is_some() {
            let allowed = "only where the link is down: routing does not avoid slow or lossy ones";
            return Err(table.error("reconvergence", "a rate or a loss", allowed));
        }
        let before = faults.len();
        let number = table.get::<Option<u32>>("link");
        for &a in &nodes(&names, table, "a")? {
            for &b in &nodes(&names, table, "b")? {
                let links = network.built.links.iter();
                let about = links.filter(|link| (link.from, link.to) == (a, b)).count();
                if number.is_some_and(|number| (1..=number as usize).contains(&about)) {
                    let found = format!("link {} of {about}", number.unwrap_or_default());
                    let allowed = format!("0 to {}, or \"all\"", about - 1);
                    return Err(table.error("link", found, allowed));
                }
                if about > 0 {
                    faults.extend(
                        impairments
                            .iter()
                            .map(|&trouble| fault(table, a, b, trouble)),
                    );
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
        // The check runs on a copy, because the network itself stays without faults.
        let mut built = network.built.clone();
        if let Err(wrong) = built.add_faults(&faults[before..]) {
            return error(wrong.parameter, &wrong.found, &wrong.allowed);
        }
    }
    Ok(faults)
}

/// Returns the impairments of a fault: one impairment, or a lower rate together with a loss.
fn impairments(table: &Table) -> Vec<Trouble> {
    let loss = table
        .get::<Option<f64>>("loss")
        .and_then(LossRate::from_share);
    let slow = table.get::<Option<_>>("rate").map(Trouble::Slow);
    let is_down = slow.is_none() && (loss.is_none() || table.given("rate").is_some());
    let down = is_down.then_some(Trouble::Down);
    let all = [down, slow, loss.map(Trouble::Lossy)];
    all.into_iter().flatten().collect()
}

fn fault(table: &Table, a: Node, b: Node, trouble: Trouble) -> LinkFault {
    let (from, until): (Duration, Option<Duration>) = (table.get("from"), table.get("until"));
    let at = |after| Time::ZERO.saturating_add(after);
    LinkFault {
        a,
        b,
        number: table.get("link"),
        trouble,
        from: at(from),
        until: until.map_or(Time::MAX, at),
        reconvergence: table.get("reconvergence"),
    }
}

/// Returns the nodes that a key names.
fn nodes(names: &NamedNodes, table: &Table, key: &str) -> Outcome<Vec<Node>> {
    let Some(text) = table.text(key) else {
        return Err(table.error(key, "nothing", "the name of a node"));
    };
    names.look_up(&text).map_err(|unknown| {
        table
            .error(key, format!("\"{}\"", shortened(&text)), unknown.allowed)
            .meaning(unknown.meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::topology::network;
    use tailcut_units::HostId;

    fn read(text: &str) -> Outcome<Vec<LinkFault>> {
        let scenario = Scenario::parse("s.toml", "", text).expect("keys and values are valid");
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
            "one fault per leaf"
        );
        assert_eq!(ends(failure(SPINES, "leaf[1]", "spine[2]", "")), both(1, 4));
        let cores = ends(failure(TREE, "aggregation[0.1]", "core[..]", ""));
        assert_eq!(
            cores,
            [both(9, 18), both(9, 19)].concat(),
            "only the cores that have a link"
        );
        let host = vec![(Node::Host(HostId(9)), Node::Switch(1))];
        assert_eq!(ends(failure(SPINES, "h9", "leaf1", "")), host);
        let own = "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"tor\"\n\
                   kind = \"switch\"\n[[links]]\na = \"h\"\nb = \"tor\"\n[[failures]]\na = \"h[1]\"\n\
                   b = \"tor\"\n";
        assert_eq!(ends(read(own)), [(Node::Host(HostId(1)), Node::Switch(0))]);
    }

    #[test]
    fn one_of_several_parallel_links_fails_by_its_number() {
        let parallel = |link: &str| {
            read(&format!(
                "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"t\"\n\
                 kind = \"switch\"\n[[nodes]]\nname = \"u\"\nkind = \"switch\"\n[[links]]\na = \"h\"\n\
                 b = \"t\"\n[[links]]\na = \"t\"\nb = \"u\"\n[[links]]\na = \"t\"\nb = \"u\"\n\
                 [[failures]]\na = \"t\"\nb = \"u\"\n{link}"
            ))
        };
        let numbers = |link| {
            let faults = parallel(link).expect("a link").into_iter();
            faults.map(|fault| fault.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers("link = 1\n"), [Some(1)]);
        assert_eq!(numbers(""), [None]);
        assert_eq!(numbers("link = \"all\"\n"), [None]);
        let error = parallel("link = 2\n").expect_err("two links").to_string();
        assert_eq!(
            error,
            "s.toml:23: failures.link: found link 2 of 2; allowed: 0 to 1, or \"all\""
        );
    }

    #[test]
    fn a_failure_says_what_and_from_when_until_when() {
        let more = "rate = \"1Gbps\"\nfrom = \"2ms\"\nuntil = \"3ms\"\n";
        let faults = failure(SPINES, "leaf0", "spine0", more).expect("sound");
        let gigabit = tailcut_units::Rate::from_gbps(1);
        assert_eq!(faults[0].trouble, Trouble::Slow(gigabit));
        assert_eq!(faults[0].from, Time::from_ns(2_000_000));
        assert_eq!(faults[0].until, Time::from_ns(3_000_000));
        let of = |more| {
            let faults = failure(SPINES, "leaf0", "spine0", more).expect("sound");
            faults.iter().map(|fault| fault.trouble).collect::<Vec<_>>()
        };
        let lossy = Trouble::Lossy(LossRate::from_share(0.015).expect("a share"));
        assert_eq!(of("loss = 0.015"), [lossy]);
        assert_eq!(
            of("loss = 0.015\nrate = \"1Gbps\""),
            [Trouble::Slow(gigabit), lossy]
        );
        assert_eq!(of("loss = 0.015\nrate = \"down\""), [Trouble::Down, lossy]);
        let faults = failure(SPINES, "leaf0", "spine0", "").expect("sound");
        assert_eq!(
            (faults[0].trouble, faults[0].until),
            (Trouble::Down, Time::MAX)
        );
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        for (faults, expected) in [
            (
                failure(SPINES, "leaf0", "spime0", ""),
                "s.toml:6: failures.b: found \"spime0\"; allowed: the name of a node, such as h0, s0, \
                 leaf[0], spine[0]; did you mean 'spine0'?",
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
                "s.toml:8: failures.reconvergence: found a rate or a loss; allowed: only where the link is down: \
                 routing does not avoid slow or lossy ones",
            ),
            (
                failure(SPINES, "leaf0", "spine0", "from = \"3ms\"\nuntil = \"2ms\""),
                "s.toml:8: failures.until: found 2 ms; allowed: times after 3 ms",
            ),
        ] {
            assert_eq!(faults.expect_err("wrong").to_string(), expected);
        }
    }
}
