//! Storage workload, from the table of a workload.

use super::matrix::hosts_of;
use super::topology::Network;
use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use std::sync::Arc;
use tailcut_sim::transport::StragglerPolicy;
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{FlowsSpec, ReadBy, StoragePart, WorkloadSpec, WriteBy};
use tailcut_units::Duration;

/// Keys of a storage workload.
pub const KEYS: &[&str] = &[
    "sizes",
    "table_unit",
    "leave_out",
    "sessions_per_second",
    "replicas",
    "read_share",
    "write",
    "chunk",
    "read",
    "blocks",
    "arrivals",
    "from",
    "until",
    "flows",
];

/// Returns the storage workload of `table`, with the sizes and arrivals of `open`.
pub fn part(table: &Table, network: &Network, open: Open) -> Outcome<StoragePart> {
    let hosts = network.built.hosts();
    let left_out = match (
        table.word("leave_out"),
        table.get::<Option<f64>>("leave_out"),
    ) {
        (Some("off"), _) | (None, None) => None,
        // In a sweep, the value is replaced later by a load of the study, so any number is valid here.
        (_, share) => Some(hosts_of(share.unwrap_or(f64::MIN_POSITIVE), hosts)),
    };
    let replicas: u32 = table.get("replicas");
    let there = hosts - left_out.unwrap_or(0);
    if replicas >= there {
        let allowed = format!("fewer than the {there} hosts, because the client has no replica");
        return Err(table.error("replicas", replicas.to_string(), allowed));
    }
    let Some(per_second) = table.get("sessions_per_second") else {
        let allowed = "session rate of all clients together, per second";
        return Err(table.error("sessions_per_second", "nothing", allowed));
    };
    let write = match table.word("write") {
        Some("multi-unicast") => WriteBy::MultiUnicast,
        Some("daisy-chain") => WriteBy::DaisyChain(table.get("chunk")),
        _ => WriteBy::Multicast,
    };
    if table.given("chunk").is_some() && !matches!(write, WriteBy::DaisyChain(_)) {
        return Err(table.error(
            "chunk",
            "another value of write",
            "only with write daisy-chain",
        ));
    }
    let read = match table.word("read") {
        Some("one-replica") => ReadBy::OneReplica,
        _ => ReadBy::AllReplicas,
    };
    let blocks: u32 = table.get("blocks");
    if blocks > 1 && read != ReadBy::OneReplica {
        let allowed = "1, or read one-replica";
        return Err(table.error("blocks", blocks.to_string(), allowed));
    }
    Ok(StoragePart {
        sizes: open.sizes,
        left_out,
        replicas,
        reads: table.get("read_share"),
        blocks,
        arrivals: open.arrivals,
        per_second,
        from: open.from,
        until: open.until,
        max_sessions: open.at_most,
        write,
        read,
    })
}

/// Checks that a quorum of the straggler policy is at most the number of replicas, if there is a storage workload.
pub fn check(scenario: &Scenario, policy: StragglerPolicy, workload: &WorkloadSpec) -> Outcome<()> {
    let StragglerPolicy::Quorum(quorum) = policy else {
        return Ok(());
    };
    let replicas = workload.parts.iter().filter_map(|part| match &part.flows {
        FlowsSpec::Storage(part) => Some(part.replicas),
        _ => None,
    });
    match replicas.min() {
        Some(replicas) if u32::from(quorum) > replicas => {
            let allowed = format!("at most the {replicas} replicas of a block");
            Err(scenario
                .table("scdp")
                .error("quorum", quorum.to_string(), allowed))
        }
        _ => Ok(()),
    }
}

/// Properties that every open loop has.
pub struct Open {
    pub sizes: Arc<SizeDistribution>,
    pub arrivals: Arrivals,
    pub from: Duration,
    pub until: Duration,
    pub at_most: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::Study;
    use super::super::topology::network;
    use super::super::workload::workloads;
    use crate::scenario::Scenario;
    use tailcut_sim::{FlowsSpec, ReadBy, StoragePart, WriteBy};
    use tailcut_units::Bytes;

    fn of(keys: &str) -> Result<StoragePart, String> {
        let text = format!("[workload]\nkind = \"storage\"\n{keys}");
        let scenario = Scenario::parse("s.toml", "", &text).map_err(|error| error.to_string())?;
        let network = network(&scenario).expect("a network");
        let all = workloads(&scenario, &network).map_err(|error| error.to_string())?;
        match &all[0].parts[0].flows {
            FlowsSpec::Storage(part) => Ok(part.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clients_write_three_replicas_by_multicast_unless_they_are_told_otherwise() {
        let part = of("sessions_per_second = 2000\n").expect("sound");
        assert_eq!((part.replicas, part.reads, part.left_out), (3, 0.0, None));
        assert_eq!(
            (part.write, part.read),
            (WriteBy::Multicast, ReadBy::AllReplicas)
        );
        let part = of(
            "sessions_per_second = 2000\nwrite = \"daisy-chain\"\nchunk = \"1KB\"\n\
                       read = \"one-replica\"\nblocks = 3\nread_share = 0.5\nleave_out = 0.25\n",
        )
        .expect("sound");
        assert_eq!(part.write, WriteBy::DaisyChain(Bytes(1_000)));
        assert_eq!((part.read, part.blocks), (ReadBy::OneReplica, 3));
        assert_eq!((part.reads, part.left_out), (0.5, Some(8)));
    }

    #[test]
    fn a_quorum_is_not_more_than_the_replicas() {
        let of = |quorum| {
            let text = format!(
                "designs = [\"scdp\"]\n[scdp]\nstragglers = \"quorum\"\nquorum = {quorum}\n\
                 [workload]\nkind = \"storage\"\nsessions_per_second = 9\n"
            );
            let scenario = Scenario::parse("s.toml", "", &text).expect("a scenario");
            Study::of(&scenario).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(of(3), Ok(()));
        let error = of(4).expect_err("refused");
        assert!(error.starts_with("s.toml:4: scdp.quorum"), "{error}");
    }

    #[test]
    fn what_does_not_go_together_is_refused_where_it_stands() {
        for (keys, said) in [
            ("", "sessions_per_second"),
            (
                "sessions_per_second = 9\nreplicas = 32\n",
                "s.toml:4: workload.replicas",
            ),
            (
                "sessions_per_second = 9\nchunk = \"1KB\"\n",
                "s.toml:4: workload.chunk",
            ),
            (
                "sessions_per_second = 9\nblocks = 3\n",
                "s.toml:4: workload.blocks",
            ),
            (
                "sessions_per_second = 9\nload = 0.5\n",
                "s.toml:4: workload.load",
            ),
        ] {
            let error = of(keys).expect_err("refused");
            assert!(error.contains(said), "{error}");
        }
    }
}
