//! A run with the same seed gives the same record, with any event queue, any kind of port and any number of threads.

use crate::support::{config, fat_tree, leaf_spine, queue_of, simulate, web_search};
use tailcut_record::{RunRecord, RunTotals};
use tailcut_sim::RunConfig;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::fabric::topology::{LinkFault, Node, Trouble};
use tailcut_units::{Duration, Rate, Time};

pub const DESIGNS: [&str; 19] = [
    "tcp",
    "cubic@spray",
    "dctcp",
    "repflow",
    "repsyn+dctcp@spray",
    "mixed+cubic",
    "ndp",
    "ndp-plus",
    "scdp",
    "scdp-plain",
    "pfabric",
    "pias",
    "repflow+pias",
    "hull",
    "dctcp@letflow",
    "tcp@conga",
    "tcp@expeditus",
    "repflow@expeditus-deck",
    "tcp@omniscient",
];

pub fn run_of(design: &str) -> RunConfig {
    let (name, shape) = match design {
        "tcp" | "repflow" => ("leaf-spine", leaf_spine(queue_of(20), None)),
        _ => ("fat-tree", fat_tree(queue_of(20))),
    };
    let mut config = config(design, name, shape, web_search(0.6, Duration::from_ms(2)));
    config.sample_every = Some(Duration::from_us(30));
    config.settings.designs.pias.limit = Limit::Packets(20);
    if design.contains('@') {
        config.faults = failing();
    }
    config
}

/// Returns two faults of links between aggregation switches and cores.
/// One link is down for some time, and the second link is slow for some time.
fn failing() -> Vec<LinkFault> {
    let fault = |a, b, trouble| LinkFault {
        a: Node::Switch(a),
        b: Node::Switch(b),
        number: None,
        trouble,
        from: Time::from_ns(500_000),
        until: Time::from_ns(1_500_000),
        reconvergence: Duration::from_us(100),
    };
    vec![
        fault(8, 16, Trouble::Down),
        fault(10, 17, Trouble::Slow(Rate::from_gbps(3))),
    ]
}

/// Compares all parts of two records, except the cost and the number of events.
fn assert_same(a: &RunRecord, b: &RunRecord, case: &str) {
    assert_eq!(a.hash(), b.hash(), "{case}");
    assert_eq!(a.flows, b.flows, "{case}");
    assert_eq!(a.ports, b.ports, "{case}");
    assert_eq!(a.queues, b.queues, "{case}");
    assert_eq!(a.links, b.links, "{case}");
    let totals = |record: &RunRecord| RunTotals {
        events: 0,
        ..record.totals.clone()
    };
    assert_eq!(totals(a), totals(b), "{case}");
}

#[test]
fn a_run_repeats_itself_on_either_engine_and_on_either_kind_of_port() {
    for design in DESIGNS {
        let reference = simulate(&run_of(design));
        let lost = reference.totals.drops.total().packets + reference.totals.trimmed.packets;
        assert!(lost > 0, "{design} loses nothing");
        for engine in [EngineKind::Calendar, EngineKind::Heap] {
            for port_events in [PortEvents::OneWherePossible, PortEvents::Two] {
                let again = simulate(&RunConfig {
                    engine,
                    port_events,
                    ..run_of(design)
                });
                let case = format!("{design} on {engine:?} with {port_events:?}");
                assert_same(&reference, &again, &case);
            }
        }
    }
}

#[test]
fn a_run_that_ends_in_full_flight_counts_alike_on_either_kind_of_port() {
    for design in DESIGNS {
        let cut_off = |port_events| {
            simulate(&RunConfig {
                port_events,
                drain: Duration::from_us(50),
                ..run_of(design)
            })
        };
        let reference = cut_off(PortEvents::Two);
        let unfinished = reference.flows.iter().filter(|flow| flow.fct.is_none());
        assert!(unfinished.count() > 0, "{design} is not cut off");
        assert_same(&reference, &cut_off(PortEvents::OneWherePossible), design);
    }
}

#[test]
fn runs_side_by_side_do_not_disturb_each_other() {
    let alone: Vec<RunRecord> = DESIGNS
        .iter()
        .map(|design| simulate(&run_of(design)))
        .collect();
    std::thread::scope(|scope| {
        let together: Vec<_> = DESIGNS
            .iter()
            .map(|design| scope.spawn(|| simulate(&run_of(design))))
            .collect();
        for (alone, run) in alone.iter().zip(together) {
            let record = run.join().expect("a run ends");
            assert_same(alone, &record, &alone.key.design);
        }
    });
}

#[test]
fn another_seed_is_another_run() {
    let run = |seed| {
        simulate(&RunConfig {
            seed,
            ..run_of("tcp")
        })
    };
    let (one, other) = (run(1), run(2));
    assert_ne!(one.hash(), other.hash());
    assert_ne!(one.flows, other.flows);
}

#[test]
fn sampling_changes_nothing_but_the_samples() {
    let sampled = simulate(&run_of("dctcp"));
    let unsampled = simulate(&RunConfig {
        sample_every: None,
        ..run_of("dctcp")
    });
    assert!(!sampled.links.is_empty() && unsampled.links.is_empty());
    let sampling = sampled.sampling.expect("it was sampled");
    let last = sampled.links.last().expect("it sent").time;
    assert_eq!(sampling.every_ns, 30_000);
    assert!(last.as_ns() <= sampling.every_ns * sampling.instants);
    assert_eq!(unsampled.sampling, None);
    assert_eq!(sampled.topology, unsampled.topology);
    assert_eq!(sampled.topology.len(), sampled.ports.len());
    assert_eq!(sampled.flows, unsampled.flows);
    assert_eq!(sampled.hash(), unsampled.hash());
}
