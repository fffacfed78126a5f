//! Test of the report's intervals on stored runs of the demo: 40 sets of 20 seeds.
//! The intervals must contain the true value often enough. `make coverage` measures many more sets.

// The example uses all functions of this module, but this test uses only some.
#[allow(dead_code)]
#[path = "../examples/coverage/measure.rs"]
mod measure;
#[allow(dead_code)]
#[path = "../examples/coverage/summary.rs"]
mod summary;

use measure::{Cell, SET, SIZES, Seed, Truth, cells, figures};
use std::collections::BTreeMap;
use tailcut_report::{Sample, t_interval};

fn stored() -> (Vec<Seed>, BTreeMap<String, Truth>) {
    summary::read(include_str!("coverage/seeds.txt")).expect("the stored seeds are whole")
}

#[test]
fn intervals_of_the_demo_hold_about_as_often_as_they_say() {
    let (seeds, truths) = stored();
    let sets: Vec<&[Seed]> = seeds.chunks_exact(SET).collect();
    assert_eq!(sets.len(), 40);
    let mut measured: Vec<Cell> = Vec::new();
    for size in SIZES {
        let found: Vec<_> = sets.iter().map(|set| figures(&set[..size])).collect();
        measured.extend(cells(size, &found, &truths));
    }
    for cell in &measured {
        let what = format!(
            "{}, {} seeds: {} of {} hold",
            cell.figure, cell.seeds, cell.held, cell.sets
        );
        if cell.figure.contains(", p9") && cell.seeds < 6 {
            assert_eq!(cell.sets, 0, "{what}");
        } else if cell.sets > 0 {
            // If the coverage is 0.92, fewer than 33 of 40 intervals contain the true value only in 1 % of cases.
            assert!(cell.sets == 40 && cell.held >= 33, "{what}");
        }
    }
    // A quantile needs ten flows above it. For p99.9, only all 20 seeds have enough flows.
    let p999 = measured
        .iter()
        .filter(|cell| cell.figure.ends_with("p99.9"));
    assert!(p999.clone().count() > 0);
    assert!(
        p999.into_iter()
            .all(|cell| (cell.sets > 0) == (cell.seeds == SET))
    );
}

#[test]
fn an_average_of_the_seeds_percentiles_would_not_hold() {
    let (seeds, truths) = stored();
    let p99 = |seed: &Seed, design: usize| {
        let sample = Sample::new([seed[design].iter().copied()]);
        sample.quantile(0.99).expect("a seed has mice")
    };
    let truth = truths["repflow over tcp, p99"].value.ln();
    let held = seeds.chunks_exact(SET).filter(|set| {
        let ratios = set.iter().map(|seed| (p99(seed, 2) / p99(seed, 0)).ln());
        let interval = t_interval(&ratios.collect::<Vec<f64>>()).and_then(|(_, interval)| interval);
        let (low, high) = interval.expect("twenty seeds have an interval");
        (low..=high).contains(&truth)
    });
    assert!(held.count() < 30);
}
