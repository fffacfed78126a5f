//! Small tables of results. Each change of a protocol appears as a diff of a table.
//! `UPDATE_GOLDEN=1 cargo test -p tailcut-sim --test truth golden` updates the tables.

use crate::support::{config, fat_tree, leaf_spine, queue_of, simulate, web_search};
use std::fmt::Write;
use std::path::Path;
use tailcut_record::FctStats;
use tailcut_sim::Shape;
use tailcut_units::Duration;

const DESIGNS: [&str; 15] = [
    "tcp",
    "cubic",
    "dctcp",
    "dctcp@spray",
    "repflow",
    "repsyn",
    "repflow+cubic",
    "repflow+dctcp",
    "repsyn+dctcp",
    "pfabric",
    "pias",
    "hull",
    "ndp",
    "ndp-plus",
    "scdp",
];

fn row(design: &str, name: &str, shape: &Shape, load: f64) -> String {
    let workload = web_search(load, Duration::from_ms(12));
    let record = simulate(&config(design, name, shape.clone(), workload));
    let mice = FctStats::of(record.flows.iter().filter(|flow| flow.bytes.0 < 100_000));
    let summary = record.summary();
    let us = |figure: Option<f64>| figure.map_or("-".to_owned(), |us| format!("{us:.1}"));
    format!(
        "{design:<14} {load:>4} {:>6} {:>5} {:>10} {:>10} {:>9} {:>8}  {}\n",
        summary.flows,
        mice.n,
        us(mice.mean_us),
        us(mice.p99_us),
        summary.retransmissions,
        summary.timeouts,
        record.hash(),
    )
}

fn table(name: &str, shape: &Shape) -> String {
    let mut table =
        format!("Web search on a {name}, 10 Gb/s, 12 ms of arrivals, queues of 100.\n\n");
    writeln!(
        table,
        "{:<14} {:>4} {:>6} {:>5} {:>10} {:>10} {:>9} {:>8}  record",
        "design", "load", "flows", "mice", "mean us", "p99 us", "resent", "timeouts"
    )
    .expect("memory");
    for design in DESIGNS {
        for load in [0.2, 0.5, 0.8] {
            table.push_str(&row(design, name, shape, load));
        }
    }
    table
}

fn holds(name: &str, shape: &Shape) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("{name}.txt"));
    let now = table(name, shape);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &now).expect("the table can be written");
        return;
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    let changed = golden
        .lines()
        .zip(now.lines())
        .filter(|(before, after)| before != after)
        .fold(String::new(), |text, (before, after)| {
            text + &format!("- {before}\n+ {after}\n")
        });
    assert!(
        golden == now,
        "{} no longer holds. If the change is intended, update the table with UPDATE_GOLDEN=1 and commit the \
         difference with the reason.\n{changed}",
        file.display()
    );
}

#[test]
fn the_golden_table_of_the_leaf_spine_holds() {
    holds("leaf-spine", &leaf_spine(queue_of(100), None));
}

#[test]
fn the_golden_table_of_the_fat_tree_holds() {
    holds("fat-tree", &fat_tree(queue_of(100)));
}
