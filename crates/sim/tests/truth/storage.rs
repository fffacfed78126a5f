//! Storage sessions: receivers, links and bytes, for all transfer methods.

use crate::conservation::audit;
use crate::support::{
    Run, config, fat_tree, leaf_spine, packets_by_port, queue_of, simulate, storage, workload,
};
use std::collections::BTreeSet;
use tailcut_record::{
    RunRecord, SessionEnd, SessionOperation, SessionOutcome, SessionRecord, Straggling,
};
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::fabric::topology::{LinkFault, Node, SingleSwitch, Trouble, Wire};
use tailcut_sim::{FlowsSpec, ReadBy, RunConfig, Shape, StoragePart, WriteBy};
use tailcut_units::{Bytes, Duration, HostId, Rate, Time};

/// Returns a run with one session on an idle fat-tree of 16 hosts at 10 Gb/s.
fn alone(design: &str, part: StoragePart) -> RunConfig {
    let part = StoragePart {
        max_sessions: Some(1),
        ..part
    };
    let traffic = workload("storage", vec![FlowsSpec::Storage(part)]);
    config(design, "fat-tree", fat_tree(queue_of(100)), traffic)
}

fn a_megabyte(reads: f64) -> StoragePart {
    storage(1_000_000, reads, 10_000.0, Duration::from_ms(100))
}

fn goodput_gbps(record: &RunRecord) -> f64 {
    let outcomes = SessionOutcome::of(&record.sessions);
    let goodputs: Vec<f64> = outcomes.iter().filter_map(|s| s.goodput_bps()).collect();
    assert_eq!(goodputs.len(), outcomes.len(), "some session did not end");
    goodputs.iter().sum::<f64>() / goodputs.len() as f64 / 1e9
}

#[test]
fn a_lone_write_by_multicast_crosses_each_link_of_its_tree_once_a_symbol() {
    let record = simulate(&alone("scdp", a_megabyte(0.0)));
    assert_eq!(record.sessions.len(), 3);
    assert!(record.sessions.iter().all(|row| row.completion.is_some()));
    let receivers: BTreeSet<_> = record.sessions.iter().map(|row| row.receiver).collect();
    assert_eq!(receivers.len(), 3);
    // 1 MB are 685 symbols of at most 1,460 B, in 7 blocks.
    let run = Run::of(&alone("scdp", a_megabyte(0.0)));
    let links = || run.topology.links.iter().zip(&record.ports);
    let to = |host| {
        let link = links().find(|(link, _)| link.to == Node::Host(host));
        link.map(|(_, port)| port.packets).expect("a link")
    };
    for row in &record.sessions {
        assert_eq!((row.symbols, row.in_vain), (685, 0), "{row:?}");
        assert_eq!(to(row.receiver), 685, "the receiver's link");
        // Each symbol beyond the window needs a pull, and each receiver sends one final message.
        assert_eq!(to(row.client), 3 * (685 - 32 + 1));
    }
    let client = Node::Host(record.sessions[0].client);
    for (link, port) in links() {
        let pulls = (to(record.sessions[0].client) * 78) / 1_538;
        let symbols = port.bytes.0 / 1_538;
        assert!(symbols <= 685 + pulls, "some symbols twice: {port:?}");
        assert!(link.from != client || port.packets == 685, "{port:?}");
    }
    // The tree has two branches, to the second and third receiver. Each symbol is copied at both branches.
    assert_eq!(record.totals.copied.packets, 2 * 685);
    assert_eq!(record.totals.trimmed.packets, 0);
    // The goodput is close to the goodput with a single receiver.
    assert!(goodput_gbps(&record) > 8.5, "{}", goodput_gbps(&record));
}

#[test]
fn the_address_of_a_group_takes_its_bytes_on_every_link_of_the_tree() {
    let mut config = alone("scdp", a_megabyte(0.0));
    let plain = simulate(&config);
    config.settings.designs.scdp.group_header = Bytes(325);
    let with_header = simulate(&config);
    let bytes = |record: &RunRecord, client| {
        let run = Run::of(&config);
        let links = run.topology.links.iter().zip(&record.ports);
        let sent = links.filter(|(link, _)| link.from == Node::Host(client));
        sent.map(|(_, port)| port.bytes.0).sum::<u64>()
    };
    let client = plain.sessions[0].client;
    assert_eq!(
        bytes(&with_header, client) - bytes(&plain, client),
        685 * 325,
        "the client sends each symbol once"
    );
    assert!(goodput_gbps(&with_header) < 0.9 * goodput_gbps(&plain));
}

#[test]
fn three_unicast_copies_share_the_clients_link_and_a_chain_does_not() {
    let of = |write| {
        let part = StoragePart {
            write,
            ..a_megabyte(0.0)
        };
        goodput_gbps(&simulate(&alone("ndp", part)))
    };
    let [multi_unicast, chain] = [
        of(WriteBy::MultiUnicast),
        of(WriteBy::DaisyChain(Bytes::from_kb(64))),
    ];
    assert!((2.8..3.3).contains(&multi_unicast), "{multi_unicast}");
    assert!(chain > 7.5, "{chain}");
    // A design without multicast sends one copy to each server.
    assert_eq!(of(WriteBy::Multicast), multi_unicast);
}

#[test]
fn a_server_of_a_chain_is_done_after_those_before_it_and_begins_after_its_chunk() {
    let late = |chunk| {
        let part = StoragePart {
            write: WriteBy::DaisyChain(Bytes(chunk)),
            ..a_megabyte(0.0)
        };
        let record = simulate(&alone("ndp", part));
        let ends: Vec<_> = record.sessions.iter().map(|row| row.completion).collect();
        assert!(ends.is_sorted(), "{ends:?}");
        assert_eq!(record.flows.len(), 3);
        assert!(
            record
                .flows
                .windows(2)
                .all(|pair| pair[0].dst == pair[1].src)
        );
        assert!(
            record
                .flows
                .windows(2)
                .all(|pair| pair[0].start < pair[1].start)
        );
        ends.last().copied().flatten().expect("an end")
    };
    // With the whole block as chunk, each server stores and forwards the block. This takes three times as long.
    assert!(late(1_000_000) > late(64_000) * 2);
}

#[test]
fn a_read_from_all_replicas_takes_symbols_of_each_and_ends_as_fast_as_the_clients_link() {
    let record = simulate(&alone("scdp", a_megabyte(1.0)));
    let [row] = &*record.sessions else {
        panic!("{:?}", record.sessions)
    };
    assert_eq!(row.operation, SessionOperation::Read);
    assert_eq!(row.client, row.receiver);
    let ports = packets_by_port(&record);
    let senders = ports
        .iter()
        .filter(|(name, packets)| name.starts_with('h') && **packets > 200);
    assert_eq!(
        senders.count(),
        3 + 1,
        "three senders, and the client's pulls"
    );
    assert!(goodput_gbps(&record) > 4.5, "{}", goodput_gbps(&record));
    let [flow] = &*record.flows else {
        panic!("{:?}", record.flows)
    };
    assert!(flow.payload_sent >= flow.bytes, "{flow:?}");
}

#[test]
fn a_read_that_no_server_can_answer_has_failed_and_misses_everything() {
    let mut config = alone("scdp", a_megabyte(1.0));
    let client = simulate(&config).sessions[0].client;
    let edge = Run::of(&config).topology.links.iter().find_map(|link| {
        let from_client = link.from == Node::Host(client);
        from_client.then_some(link.to)
    });
    config.faults = vec![LinkFault {
        a: Node::Host(client),
        b: edge.expect("a link"),
        number: None,
        trouble: Trouble::Down,
        from: Time::ZERO,
        until: Time::MAX,
        reconvergence: Duration::ZERO,
    }];
    // The three timeouts are 20, 40 and 80 ms.
    config.settings.designs.scdp.max_timeouts = 2;
    let row = simulate(&config).sessions[0];
    assert_eq!((row.end, row.completion), (SessionEnd::Failed, None));
    assert_eq!(row.missing, Some(Bytes(1_000_000)));
}

#[test]
fn a_read_of_three_blocks_at_once_is_three_flows() {
    let part = StoragePart {
        blocks: 3,
        read: ReadBy::OneReplica,
        ..a_megabyte(1.0)
    };
    let record = simulate(&alone("dctcp", part));
    assert_eq!(record.flows.len(), 3);
    let sum: u64 = record.flows.iter().map(|flow| flow.bytes.0).sum();
    assert_eq!(sum, 1_000_000);
    assert_eq!(record.sessions.len(), 1);
    let last = record.flows.iter().filter_map(|flow| flow.fct).max();
    assert_eq!(record.sessions[0].completion, last);
}

/// Returns a run on a busy fat-tree in which symbols are trimmed.
pub fn busy(design: &str, write: WriteBy, read: ReadBy) -> RunConfig {
    let part = StoragePart {
        write,
        read,
        ..storage(300_000, 0.5, 20_000.0, Duration::from_ms(3))
    };
    let traffic = workload("storage", vec![FlowsSpec::Storage(part)]);
    let mut config = config(design, "fat-tree", fat_tree(queue_of(40)), traffic);
    config.settings.designs.scdp.queue = Limit::Bytes(30_760);
    config.sample_every = Some(Duration::from_us(20));
    config.measures.goodput = true;
    config
}

#[test]
fn every_way_to_carry_sessions_balances_and_every_receiver_gets_every_byte() {
    let chain = WriteBy::DaisyChain(Bytes::from_kb(64));
    for (design, write, read) in [
        ("scdp", WriteBy::Multicast, ReadBy::AllReplicas),
        ("scdp@ecmp", WriteBy::Multicast, ReadBy::AllReplicas),
        ("scdp", WriteBy::MultiUnicast, ReadBy::OneReplica),
        ("scdp", chain, ReadBy::OneReplica),
        ("ndp", WriteBy::Multicast, ReadBy::AllReplicas),
        ("ndp-plus", chain, ReadBy::OneReplica),
        ("pias", WriteBy::MultiUnicast, ReadBy::OneReplica),
        ("pias", chain, ReadBy::OneReplica),
        ("tcp", chain, ReadBy::OneReplica),
        ("repflow", WriteBy::MultiUnicast, ReadBy::OneReplica),
    ] {
        let record = audit(busy(design, write, read));
        assert!(record.sessions.len() > 100);
        assert!(
            record.sessions.iter().all(|row| row.completion.is_some()),
            "{design} by {write:?}"
        );
        assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
        let span = record.arrived.as_ref().expect("measured");
        let wanted: u64 = record.sessions.iter().map(|row| row.bytes.0).sum();
        let (arrived, held) = (span.bytes["foreground"], wanted * 11 / 10);
        assert!(
            arrived > wanted / 3 && arrived < held,
            "{design}: {arrived} of {wanted}"
        );
        let multicast = design.starts_with("scdp") && write == WriteBy::Multicast;
        assert_eq!(record.totals.copied.packets > 0, multicast, "{design}");
        if multicast {
            assert!(
                record.totals.trimmed.packets > 0,
                "{design}: nothing was trimmed"
            );
            let symbols: u64 = record
                .sessions
                .iter()
                .map(|row| u64::from(row.symbols))
                .sum();
            let in_vain: u64 = record
                .sessions
                .iter()
                .map(|row| u64::from(row.in_vain))
                .sum();
            assert!(
                in_vain > 0 && in_vain < symbols / 10,
                "{in_vain} of {symbols}"
            );
        }
        assert!(
            record
                .sessions
                .iter()
                .all(|row| row.straggling != Straggling::LeftOut)
        );
    }
}

#[test]
fn sessions_repeat_themselves_on_either_engine_and_on_either_kind_of_port() {
    let reference = busy("scdp", WriteBy::Multicast, ReadBy::AllReplicas);
    let first = simulate(&reference);
    for engine in [EngineKind::Calendar, EngineKind::Heap] {
        for port_events in [PortEvents::OneWherePossible, PortEvents::Two] {
            let mut again = reference.clone();
            (again.engine, again.port_events) = (engine, port_events);
            let again = simulate(&again);
            assert_eq!(first.hash(), again.hash(), "{engine:?}, {port_events:?}");
            assert_eq!(
                first.sessions, again.sessions,
                "{engine:?}, {port_events:?}"
            );
        }
    }
}

#[test]
fn other_flows_keep_their_numbers_beside_sessions() {
    let closed = crate::support::poisson(
        tailcut_sim::workload::SizeDistribution::fixed(20_000),
        0.1,
        Duration::from_ms(1),
    );
    let part = storage(100_000, 0.0, 10_000.0, Duration::from_ms(1));
    let shape = || leaf_spine(queue_of(40), None);
    let traffic = workload("both", vec![closed.clone(), FlowsSpec::Storage(part)]);
    let both = simulate(&config("scdp", "leaf-spine", shape(), traffic));
    let only = simulate(&config(
        "scdp",
        "leaf-spine",
        shape(),
        workload("one", vec![closed]),
    ));
    let others = only.flows.len();
    let key = |record: &RunRecord| -> Vec<_> {
        let flows = record.flows[..others].iter();
        flows.map(|f| (f.flow, f.src, f.dst, f.start)).collect()
    };
    assert_eq!(key(&both), key(&only));
    assert_eq!(both.flows.len(), others + both.sessions.len());
    assert!(
        (0..)
            .zip(&both.flows)
            .all(|(number, flow)| flow.flow.0 == number)
    );
}

/// Runs reads of 1 MB, one after another, on a switch with four hosts at 1 Gb/s.
/// All hosts except the last one read, so each read uses all other hosts. `trouble` affects the link of the last host.
/// Returns the completion times in ms, in ascending order, and the rows.
fn reads_beside(trouble: &[LinkFault]) -> (Vec<f64>, Vec<SessionRecord>) {
    let part = storage(1_000_000, 1.0, 4.0, Duration::from_ms(5_000));
    let traffic = workload("storage", vec![FlowsSpec::Storage(part)]);
    let gigabit = Shape::SingleSwitch(SingleSwitch {
        hosts: 4,
        host_wire: Wire {
            rate: Rate::from_gbps(1),
            delay: Duration::from_us(1),
        },
        queue: queue_of(100),
        shared_buffer: None,
    });
    let mut rows = Vec::new();
    for seed in 1..9 {
        let mut config = config("scdp", "four", gigabit.clone(), traffic.clone());
        config.seed = seed;
        config.faults = trouble.to_vec();
        config.drain = Duration::from_ms(2_000);
        let of_run = simulate(&config).sessions;
        // Only reads that overlap with no other read are kept.
        let end = |row: &SessionRecord| row.completion.map_or(Time::MAX, |took| row.start + took);
        let alone = |row: &&SessionRecord| {
            let mut others = of_run.iter().filter(|other| other.session != row.session);
            let before = Duration::from_ms(10);
            row.client.0 != 3
                && others.all(|other| {
                    other.start >= end(row) || end(other).saturating_add(before) <= row.start
                })
        };
        rows.extend(of_run.iter().filter(alone).cloned());
    }
    let took = |row: &SessionRecord| row.completion.expect("whole");
    let mut times: Vec<f64> = rows
        .iter()
        .map(|row| 1e3 * took(row).as_secs_f64())
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    (times, rows)
}

/// Returns a failure of the link of the last of four hosts.
fn last_link(trouble: Trouble, from: Time, until: Time) -> LinkFault {
    LinkFault {
        a: Node::Host(HostId(3)),
        b: Node::Switch(0),
        number: None,
        trouble,
        from,
        until,
        reconvergence: Duration::ZERO,
    }
}

#[test]
fn a_read_does_not_wait_for_a_slow_replica() {
    let (usual, rows) = reads_beside(&[]);
    let usual = usual[usual.len() / 2];
    assert!(rows.iter().all(|row| (row.in_vain, row.late) == (0, 0)));
    for mbps in [5, 10, 20, 50, 100] {
        let slow = Trouble::Slow(Rate::from_mbps(mbps));
        let (times, rows) = reads_beside(&[last_link(slow, Time::ZERO, Time::MAX)]);
        let median = times[times.len() / 2];
        assert!(
            median <= 1.15 * usual,
            "{mbps} Mb/s: {median} ms, without failure {usual}"
        );
        let symbols: u32 = rows.iter().map(|row| row.symbols).sum();
        let in_vain: u32 = rows.iter().map(|row| row.in_vain).sum();
        let share = f64::from(in_vain) / f64::from(symbols);
        assert!(share < 0.006, "{mbps} Mb/s: {share} of the symbols wasted");
        assert!(
            rows.iter().all(|row| row.late <= 8),
            "{mbps} Mb/s: more than a window"
        );
    }
}

#[test]
fn a_read_does_not_wait_for_a_replica_that_is_down_now_and_then() {
    let (usual, _) = reads_beside(&[]);
    let usual = usual[usual.len() * 9 / 10];
    let at = |ms: u64| Time::ZERO + Duration::from_ms(ms);
    let down = |time: u64| last_link(Trouble::Down, at(20 * time), at(20 * time + 5));
    let (times, _) = reads_beside(&(0..300).map(down).collect::<Vec<_>>());
    let p90 = times[times.len() * 9 / 10];
    assert!(p90 <= 1.25 * usual, "{p90} ms, without failure {usual}");
}
