//! Designs whose own mechanism is off.
//! Without its mechanism, a design must have the same record as its base design, except for the name.

use crate::support::{config, fat_tree, leaf_spine, simulate, web_search};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::{HullParameters, RunConfig, Shape};
use tailcut_units::Duration;

fn unmarked(packets: u32) -> QueueConfig {
    QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(packets),
        mark_above: None,
    })
}

fn loaded(design: &str, name: &str, shape: Shape) -> RunConfig {
    let mut config = config(design, name, shape, web_search(0.8, Duration::from_ms(4)));
    config.sample_every = Some(Duration::from_us(50));
    config
}

fn run(config: &RunConfig) -> RunRecord {
    let record = simulate(config);
    let lost = record.totals.drops.total().packets + record.totals.trimmed.packets;
    assert!(lost > 0, "{}: a run without losses", config.stack);
    record
}

/// Checks that two records are equal, except for the name and the cost.
fn assert_one(mut a: RunRecord, b: &RunRecord) {
    let case = format!("{} and {}", a.key.design, b.key.design);
    assert_ne!(a.key.design, b.key.design);
    assert_eq!(a.hash(), b.hash(), "{case}");
    a.key = b.key.clone();
    a.cost = b.cost;
    assert!(a == *b, "{case}: records differ in fields outside the hash");
}

#[test]
fn dctcp_with_marking_off_is_newreno_to_the_byte() {
    for (dctcp, newreno) in [
        ("dctcp", "tcp"),
        ("dctcp@spray", "tcp@spray"),
        ("repflow+dctcp", "repflow"),
        ("repsyn+dctcp", "repsyn"),
    ] {
        for (name, shape) in [
            ("leaf-spine", leaf_spine(unmarked(20), None)),
            ("fat-tree", fat_tree(unmarked(20))),
        ] {
            let dctcp = run(&loaded(dctcp, name, shape.clone()));
            assert_eq!(dctcp.totals.marks, 0);
            assert_one(dctcp, &run(&loaded(newreno, name, shape)));
        }
    }
}

#[test]
fn hull_without_phantom_queues_and_pacers_is_dctcp_to_the_byte() {
    let marked = QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(30),
        mark_above: Some(Limit::Packets(20)),
    });
    let mut hull = loaded("hull", "fat-tree", fat_tree(marked.clone()));
    hull.settings.designs.hull = HullParameters {
        phantom: None,
        pacer: None,
    };
    let hull = run(&hull);
    assert!(hull.totals.marks > 0);
    assert_one(hull, &run(&loaded("dctcp", "fat-tree", fat_tree(marked))));
}

#[test]
fn ndp_plus_without_thresholds_is_ndp_to_the_byte() {
    let mut plus = loaded("ndp-plus", "fat-tree", fat_tree(unmarked(20)));
    plus.settings.designs.ndp.thresholds.clear();
    let ndp = loaded("ndp", "fat-tree", fat_tree(unmarked(20)));
    assert_one(run(&plus), &run(&ndp));
}
