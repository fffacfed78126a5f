//! Groups of hosts that send or receive more than others.

use super::names::NamedNodes;
use super::topology::Network;
use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use crate::value::{Value, shortened};
use tailcut_sim::fabric::topology::Node;
use tailcut_sim::workload::HostWeights;
use tailcut_sim::{FlowsSpec, MatrixSpec, WorkloadPart};

const AS_SOURCE: &str = "source_weight";
const AS_DESTINATION: &str = "destination_weight";

/// Returns the weights of the hosts, from the groups of a scenario. Each group is checked against the network.
pub fn weights(scenario: &Scenario, network: &Network) -> Outcome<HostWeights> {
    let tables = scenario.tables("groups");
    if tables.is_empty() {
        return Ok(HostWeights::default());
    }
    let names = NamedNodes::of(scenario, &network.built)?;
    let all = network.built.hosts() as usize;
    let mut weights = [vec![1.0; all], vec![1.0; all]];
    let mut taken = vec![false; all];
    for table in tables {
        if [AS_SOURCE, AS_DESTINATION].map(|key| table.given(key)) == [None, None] {
            let allowed = format!("{AS_SOURCE}, {AS_DESTINATION} or both");
            return Err(table.error("hosts", "a group without a weight", allowed));
        }
        for host in hosts(&names, table, network)? {
            if std::mem::replace(&mut taken[host], true) {
                let found = format!("{} in two groups", network.built.name_of(node(host)));
                return Err(table.error("hosts", found, "each host once"));
            }
            for (weights, key) in weights.iter_mut().zip([AS_SOURCE, AS_DESTINATION]) {
                weights[host] = table.get_or(key, 1.0);
            }
        }
    }
    let [sources, destinations] = weights;
    HostWeights::new(sources, destinations).map_err(|wrong| {
        let table = scenario.table("groups");
        table.error("hosts", wrong.to_string(), "weights above 0")
    })
}

const fn node(host: usize) -> Node {
    Node::Host(tailcut_units::HostId(host as u32))
}

/// Returns the numbers of the hosts in a group.
fn hosts(names: &NamedNodes, table: &Table, network: &Network) -> Outcome<Vec<usize>> {
    const ALLOWED: &str = "names of hosts, such as [\"h0\", \"h[4..8]\"]";
    let Some(Value::Texts(texts)) = table.value("hosts") else {
        return Err(table.error("hosts", "nothing", ALLOWED));
    };
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Err(table.error("hosts", "an empty group", ALLOWED));
    }
    let mut hosts = Vec::new();
    for text in texts {
        let found = || format!("\"{}\"", shortened(&text));
        let nodes = names.look_up(&text).map_err(|unknown| {
            let last = network.built.hosts() as usize - 1;
            let ends = [0, last].map(|host| network.built.name_of(node(host)));
            let allowed = format!("the name of a host, from {} to {}", ends[0], ends[1]);
            table
                .error("hosts", found(), allowed)
                .meaning(unknown.meant)
        })?;
        for node in nodes {
            let Node::Host(host) = node else {
                let found = format!("{}, which is a switch", found());
                return Err(table.error("hosts", found, ALLOWED));
            };
            hosts.push(host.0 as usize);
        }
    }
    Ok(hosts)
}

/// Rejects weights of hosts if no part of the workload uses weights.
pub fn check(scenario: &Scenario, parts: &[WorkloadPart]) -> Outcome<()> {
    let is_drawn = |matrix: &MatrixSpec| {
        matches!(
            matrix,
            MatrixSpec::Anywhere | MatrixSpec::AnywhereBeside { .. } | MatrixSpec::BetweenRacks
        )
    };
    let takes = |part: &WorkloadPart, key: &str| match &part.flows {
        FlowsSpec::Open(spec) => is_drawn(&spec.matrix),
        FlowsSpec::Closed(spec) => key == AS_DESTINATION && is_drawn(&spec.matrix),
        FlowsSpec::Burst(spec) => key == AS_DESTINATION && is_drawn(&spec.matrix),
        _ => false,
    };
    for (key, kinds) in [
        (AS_SOURCE, "an open loop"),
        (AS_DESTINATION, "an open or closed loop, or a burst"),
    ] {
        let tables = scenario.tables("groups");
        let given = tables.iter().find(|table| table.given(key).is_some());
        if let Some(table) = given.filter(|_| !parts.iter().any(|part| takes(part, key))) {
            let allowed = format!("only with {kinds} whose matrix is anywhere or between-racks");
            return Err(table.error(key, "a workload that does not use it", allowed));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;
    use tailcut_units::HostId;

    fn read(text: &str) -> Outcome<Study> {
        let text = format!("designs = [\"tcp\"]\nloads = 0.3\n{text}");
        Study::of(&Scenario::parse("s.toml", "", &text)?)
    }

    fn group(hosts: &str, more: &str) -> Outcome<Study> {
        read(&format!(
            "[topology]\nleaves = 2\nspines = 1\nhosts = 4\n[[groups]]\nhosts = {hosts}\n{more}\n"
        ))
    }

    fn error_of(read: Outcome<Study>) -> String {
        read.expect_err("wrong").to_string()
    }

    #[test]
    fn hosts_go_by_names_or_ranges_and_all_others_have_a_weight_of_one() {
        let study = group(
            "[\"h1\", \"h[4..6]\"]",
            "source_weight = 2.5\n[[groups]]\nhosts = [\"h[7]\"]\ndestination_weight = 4",
        );
        let study = study.expect("sound");
        let weights = &study.runs[0].workload.weights;
        let sources = (0..8).map(|host| weights.as_source(HostId(host)));
        let expected = [1.0, 2.5, 1.0, 1.0, 2.5, 2.5, 1.0, 1.0];
        assert_eq!(sources.collect::<Vec<_>>(), expected);
        let destinations = (0..8).map(|host| weights.as_destination(HostId(host)));
        let expected = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0];
        assert_eq!(destinations.collect::<Vec<_>>(), expected);
        let own = "[[nodes]]\nname = \"web\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"store\"\n\
                   kind = \"host\"\n[[nodes]]\nname = \"tor\"\nkind = \"switch\"\n[[links]]\na = \"web\"\n\
                   b = \"tor\"\n[[links]]\na = \"store\"\nb = \"tor\"\n[[groups]]\nhosts = [\"store\"]\n\
                   destination_weight = 8\n";
        let study = read(own).expect("sound");
        let weights = &study.runs[0].workload.weights;
        let destinations = [0, 1, 2].map(|host| weights.as_destination(HostId(host)));
        assert_eq!(destinations, [1.0, 1.0, 8.0]);
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        let weight = "source_weight = 2";
        for (read, expected) in [
            (
                group("[\"hh1\"]", weight),
                "s.toml:8: groups.hosts: found \"hh1\"; allowed: the name of a host, from h0 to h7; did you \
                 mean 'h1'?",
            ),
            (
                group("[\"h8\"]", weight),
                "s.toml:8: groups.hosts: found \"h8\"; allowed: the name of a host, from h0 to h7",
            ),
            (
                group("[\"leaf[0]\"]", weight),
                "s.toml:8: groups.hosts: found \"leaf[0]\", which is a switch; allowed: names of hosts, \
                 such as [\"h0\", \"h[4..8]\"]",
            ),
            (
                group("[\"\"]", weight),
                "s.toml:8: groups.hosts: found an empty group; allowed: names of hosts, such as [\"h0\", \
                 \"h[4..8]\"]",
            ),
            (
                group("[\"h1\"]", ""),
                "s.toml:8: groups.hosts: found a group without a weight; allowed: source_weight, \
                 destination_weight or both",
            ),
            (
                group("[\"h[..]\", \"h3\"]", weight),
                "s.toml:8: groups.hosts: found h3 in two groups; allowed: each host once",
            ),
            (
                group("[\"h1\"]", "source_weight = 0"),
                "s.toml:9: groups.source_weight: found 0; allowed: a number above 0, at most 1000000",
            ),
            (
                group("[\"h1\"]", "destination_weight = -2"),
                "s.toml:9: groups.destination_weight: found -2; allowed: a number above 0, at most 1000000",
            ),
            (
                group(
                    "[\"h1\"]",
                    "source_weight = 2\n[[workload]]\nmatrix = \"permutation\"",
                ),
                "s.toml:9: groups.source_weight: found a workload that does not use it; allowed: only with \
                 an open loop whose matrix is anywhere or between-racks",
            ),
        ] {
            assert_eq!(error_of(read), expected);
        }
        assert!(
            error_of(group("[]", weight))
                .starts_with("s.toml:8: groups.hosts: found []; allowed: ")
        );
        let closed = "[[workload]]\nkind = \"closed\"\nflows = 9\nmatrix = \"anywhere\"\n";
        let of_closed = |key: &str| {
            read(&format!(
                "{closed}[[groups]]\nhosts = [\"h1\"]\n{key} = 2\n"
            ))
        };
        assert!(
            error_of(of_closed(AS_SOURCE))
                .contains("only with an open loop whose matrix is anywhere")
        );
    }
}
