//! What RepNet's testbed depends on: its load 0.5 without oversubscription, with one parameter at a
//! time set to another value that the paper leaves possible.

use crate::band;
use crate::measure::{At, Figure, mice};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct RepNetSensitivity;

const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";

/// A variant: its name, what it is, the keys that differ.
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
        "both of the last two",
        &[("tcp.hystart", "off"), ("shared_buffer.alpha", "0.05")],
    ),
    (
        "fine-clock",
        "HyStart by a clock of 10 us",
        &[("tcp.hystart", "10us")],
    ),
    (
        "fair-host",
        "hosts without a queue of their own",
        &[("host.queue", "fair")],
    ),
    ("rto-200ms", "RTOmin 200 ms", &[("tcp.min_rto", "200ms")]),
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

impl Reproduction for RepNetSensitivity {
    fn name(&self) -> &'static str {
        "repnet-sensitivity"
    }

    fn title(&self) -> &'static str {
        "RepNet's testbed at load 0.5, 1:1, with other values of what the paper leaves open"
    }

    fn parts(&self) -> Vec<Part> {
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

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let published = [
            (Statistic::Mean, -15.3),
            (Statistic::P99, -33.0),
            (Statistic::P999, -69.9),
        ];
        let cases = VARIANTS.iter().flat_map(|&(part, what, _)| {
            published.map(|(statistic, theirs)| (part, what, statistic, theirs))
        });
        cases
            .map(|(part, what, statistic, theirs)| {
                let at = At::new(results, part, Some(0.5));
                let name = statistic.name();
                row(
                    format!("{what}: {REPFLOW}, {name} of mice against {TCP}, %"),
                    at.change(REPFLOW, TCP, Figure::Of(statistic, &mice)),
                    Some(theirs),
                    band::SHOWN,
                    "",
                )
            })
            .collect()
    }
}
