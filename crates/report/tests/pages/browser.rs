//! Tests of the page in a real browser. Labels do not overlap, and marks are within their axes.
//! Toggles, themes and tooltips work.

use crate::chromium::Chromium;
use crate::synthetic::{Behaviour, TCP, compare, run, study, swept};
use std::fs;
use std::path::Path;
use tailcut_report::{Comparison, ComparisonRow, Study, Verdict, html, plots};

pub const DESIGNS: [Behaviour; 6] = [
    TCP,
    Behaviour {
        name: "dctcp",
        mice_delay: 0.5,
        elephants: 0.95,
        ..TCP
    },
    Behaviour {
        name: "repflow",
        mice_delay: 0.6,
        bytes: 1.064,
        ..TCP
    },
    Behaviour {
        name: "repsyn",
        mice_delay: 0.7,
        bytes: 1.051,
        ..TCP
    },
    Behaviour {
        name: "repflow+dctcp",
        mice_delay: 0.4,
        bytes: 1.06,
        ..TCP
    },
    Behaviour {
        name: "repsyn+dctcp@spray",
        mice_delay: 1.3,
        tail: 3.0,
        unfinished_one_in: 4_000,
        ..TCP
    },
];

/// Checks `study`'s page in wide and narrow windows, with light and dark colours.
fn check(name: &str, study: &Study, least_plots: u64) {
    // Page and pictures stay after the test, so that a developer can look at them.
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let page = kept.join(format!("{name}.html"));
    fs::write(&page, html(study)).unwrap();
    let Some(mut browser) = Chromium::start() else {
        eprintln!(
            "SKIPPED {name}: no Chromium on this machine; the page is {}",
            page.display()
        );
        return;
    };
    for (width, dark) in [(1_280, false), (1_280, true), (760, false), (360, true)] {
        let theme = if dark { "dark" } else { "light" };
        let at = format!("{name} at {width} px, {theme}, {}", page.display());
        let mut tab = browser.open(&page, width, dark);
        tab.screenshot(&kept.join(format!("{name}-{width}-{theme}.png")));
        let seen = tab.evaluate(include_str!("self_check.js"));
        assert_eq!(seen["faults"], serde_json::json!([]), "{at}");
        assert_eq!(seen["width"], width, "{at}");
        assert_eq!(seen["theme"], theme, "{at}");
        assert!(seen["plots"].as_u64() >= Some(least_plots), "{at}: {seen}");
        assert!(seen["marks"].as_u64() >= Some(least_plots), "{at}: {seen}");
    }
}

#[test]
fn a_sweep_of_many_designs_over_loads_and_seeds_is_drawn_whole() {
    let mut study = compare(&DESIGNS, &[0.1, 0.3, 0.5, 0.7, 0.8], 6, 3_000);
    study.comparisons = vec![Comparison {
        name: "A paper's figure 9: mice on a testbed".to_owned(),
        rows: vec![
            ComparisonRow {
                metric: "p99 of mice, repflow over tcp".to_owned(),
                ours: Some(0.59),
                ours_ci: Some((0.54, 0.65)),
                seeds: 6,
                flows: Some(12_000),
                theirs: Some(0.7),
                band: Some((0.5, 0.8)),
                verdict: Verdict::Within,
                seeds_that_would_do: None,
                why: "The testbed's kernel adds tens of microseconds that no network removes."
                    .to_owned(),
            },
            ComparisonRow {
                metric: "p99.9 of mice, repsyn over tcp".to_owned(),
                ours: None,
                ours_ci: None,
                seeds: 6,
                flows: Some(4_000),
                theirs: Some(0.5),
                band: Some((f64::NEG_INFINITY, 0.7)),
                verdict: Verdict::TooFew,
                seeds_that_would_do: Some(15),
                why: String::new(),
            },
        ],
    }];
    check("sweep", &study, 12);
}

#[test]
fn a_grid_of_two_keys_is_drawn_as_lines_small_multiples_and_maps() {
    let study = swept(&DESIGNS[..3], 6, 1_500);
    let ids: Vec<String> = plots(&study).into_iter().map(|plot| plot.id).collect();
    let count = |of: &str| ids.iter().filter(|id| id.starts_with(of)).count();
    assert_eq!((count("map-"), count("multiple-")), (2, 3), "{ids:?}");
    check("grid", &study, 12);
}

#[test]
fn a_grid_of_one_design_and_many_values_is_drawn_whole() {
    check("grid-alone", &swept(&DESIGNS[..1], 1, 300), 3);
}

#[test]
fn one_load_and_one_seed_is_drawn_whole() {
    check("single", &compare(&DESIGNS[..3], &[0.5], 1, 4_000), 4);
}

#[test]
fn one_design_alone_is_drawn_whole() {
    check("alone", &compare(&DESIGNS[..1], &[0.5], 6, 700), 4);
}

#[test]
fn a_handful_of_flows_leaves_no_empty_plot() {
    let records = DESIGNS[..2]
        .iter()
        .map(|design| {
            let mut record = run(*design, None, 1, 12);
            record.queues.clear();
            record
        })
        .collect::<Vec<_>>();
    check("handful", &study(&records), 1);
}

#[test]
fn several_topologies_are_drawn_whole_each_in_its_section() {
    let records: Vec<_> = ["fat-tree k=8", "leaf-spine of 4 leaves and 4 spines"]
        .into_iter()
        .flat_map(|topology| {
            DESIGNS[..2].iter().map(move |design| {
                let mut record = run(*design, Some(0.5), 1, 2_000);
                record.key.topology = topology.to_owned();
                record
            })
        })
        .collect();
    check("places", &study(&records), 12);
}

#[test]
fn names_from_outside_are_text_and_not_markup() {
    let hostile = Behaviour {
        name: "<img src=x onerror=alert(1)></script>&\"'",
        ..TCP
    };
    check("hostile", &compare(&[TCP, hostile], &[0.5], 6, 400), 4);
}
