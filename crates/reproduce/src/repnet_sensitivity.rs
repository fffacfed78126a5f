//! Sensitivity of the results of RepNet's testbed, at load 0.5 without oversubscription.
//! Each study sets one parameter to another value that the paper permits.

use crate::band;
use crate::measure::{Figure, Selection, mice};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";

/// Variant: name, description, and changed keys.
type Variant = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const VARIANTS: [Variant; 10] = [
    ("as-is", "as reproduced", &[]),
    (
        "alpha-1",
        "a port may take 2 MB",
        &[("shared_buffer.alpha", "1")],
    ),
    (
        "alpha-1-20",
        "a port may take 190 KB",
        &[("shared_buffer.alpha", "0.05")],
    ),
    (
        "slow-start",
        "slow start to the first loss",
        &[("tcp.hystart", "off")],
    ),
    (
        "slow-start-alpha-1-20",
        "both of the last two changes",
        &[("tcp.hystart", "off"), ("shared_buffer.alpha", "0.05")],
    ),
    (
        "fine-clock",
        "HyStart by a clock of 10 us",
        &[("tcp.hystart", "10us")],
    ),
    (
        "fair-host",
        "hosts without their own queue",
        &[("host.queue", "fair")],
    ),
    (
        "rto-200ms",
        "RTOmin 200 ms",
        &[("tcp.min_rto", "200ms"), ("tcp.initial_rto", "200ms")],
    ),
    (
        "uniform",
        "uniform arrivals, as in the released scripts",
        &[("workload.arrivals", "uniform")],
    ),
    (
        "wire-load",
        "the load counts headers",
        &[("workload.count_headers", "true")],
    ),
];

/// Reproduction that shows the sensitivity of RepNet's results to parameters.
pub const REPNET_SENSITIVITY: Reproduction = Reproduction {
    name: "repnet-sensitivity",
    title: "RepNet's testbed at load 0.5, 1:1, with other values of unpublished parameters",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |(name, _, changes): &Variant| {
        let common = [
            ("designs", "cubic, repflow+cubic"),
            ("loads", "0.5"),
            ("flows", "10000"),
        ];
        Part {
            name,
            scenario: include_str!("../scenarios/reproduce/repnet-testbed-1to1.toml"),
            changes: [keys(&common), keys(changes)].concat(),
            quick: keys(&[("flows", "1000")]),
        }
    };
    VARIANTS.iter().map(part).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let published = [
        (Statistic::Mean, -15.3),
        (Statistic::P99, -33.0),
        (Statistic::P999, -69.9),
    ];
    let cases = VARIANTS.iter().flat_map(|&(part, what, _)| {
        published.map(|(statistic, published)| (part, what, statistic, published))
    });
    cases
        .map(|(part, what, statistic, published)| {
            let at = Selection::new(results, part, Some(0.5));
            let name = statistic.name();
            row(
                format!("{what}: {REPFLOW}, {name} of mice against {TCP}, %"),
                at.change(REPFLOW, TCP, Figure::Of(statistic, &mice)),
                Some(published),
                band::NO_BAND,
                "",
            )
        })
        .collect()
}
