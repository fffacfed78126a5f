//! The designs combined, in one network under the same flows. Nobody has published this: the rows are
//! ours alone, with what each design does, what two do together, and whether together is more or less
//! than one after the other.

use super::band;
use super::measure::{At, MICE, Metric, Statistic, fcts, mean};
use super::{Part, Reproduction, Results, row};
use tailcut_record::RunRecord;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Interactions;

const PART: &str = "interactions";

/// What everything is compared with.
const BASE: &str = "dctcp";

/// Every design of the scenario but the base.
const DESIGNS: [&str; 11] = [
    "hull",
    "pias",
    "ndp",
    "scdp",
    "repflow+dctcp",
    "dctcp@expeditus",
    "repflow+hull",
    "repflow+pias",
    "hull@expeditus",
    "repflow+dctcp@expeditus",
    "repflow+hull@expeditus",
];

/// Two designs, and both together.
const PAIRS: [(&str, &str, &str); 4] = [
    (
        "repflow+dctcp",
        "dctcp@expeditus",
        "repflow+dctcp@expeditus",
    ),
    ("repflow+dctcp", "hull", "repflow+hull"),
    ("repflow+dctcp", "pias", "repflow+pias"),
    ("hull", "dctcp@expeditus", "hull@expeditus"),
];

impl Reproduction for Interactions {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "RepFlow, Expeditus, HULL and SCDP, alone and together, against DCTCP, NDP and PIAS (new)"
    }

    fn parts(&self) -> Vec<Part> {
        let quick = [("loads", "0.6"), ("seeds", "3"), ("flows", "1000")];
        vec![Part {
            name: PART,
            scenario: include_str!("../../../../scenarios/reproduce/interactions.toml"),
            changes: Vec::new(),
            quick: quick.map(|(key, value)| (key, value.to_owned())).to_vec(),
        }]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in results.loads(PART, BASE) {
            let at = At::new(results, PART, Some(load));
            let shown =
                |metric: String, figures: &[f64], why| row(metric, figures, None, band::SHOWN, why);
            let mice = at.mice(BASE);
            for (what, figure) in METRICS {
                rows.push(shown(
                    format!("load {load}: dctcp, {what} ({mice} mice)"),
                    &at.by_seed(BASE, figure),
                    "",
                ));
                for design in DESIGNS {
                    rows.push(shown(
                        format!("load {load}: {design}, {what}, against dctcp, %"),
                        &at.change(design, BASE, figure),
                        "",
                    ));
                }
            }
            for (one, other, both) in PAIRS {
                rows.push(shown(
                    format!(
                        "load {load}: {both}, p99 of mice, against {one} and {other} in a row, %"
                    ),
                    &beyond(&at, (one, other, both)),
                    "below zero: more together than one after the other",
                ));
            }
        }
        rows
    }
}

const METRICS: [Metric; 4] = [
    ("mean of mice, us", |run| Statistic::Mean.of_mice(run)),
    ("p99 of mice, us", p99),
    ("mean of elephants, us", |run| {
        mean(&fcts(run, |flow| flow.bytes.0 >= MICE))
    }),
    ("bytes on all links for a byte of flows", bytes_for_one),
];

fn p99(run: &RunRecord) -> f64 {
    Statistic::P99.of_mice(run)
}

/// What all links together carried, headers included, for a byte that an application wanted.
fn bytes_for_one(run: &RunRecord) -> f64 {
    let carried: u64 = run.ports.iter().map(|port| port.bytes.0).sum();
    let wanted: u64 = run.flows.iter().map(|flow| flow.bytes.0).sum();
    carried as f64 / wanted as f64
}

/// By how many per cent the p99 of two designs together is above what each alone takes off, one after the
/// other, for each seed.
fn beyond(at: &At<'_>, (one, other, both): (&'static str, &'static str, &'static str)) -> Vec<f64> {
    let ratio = |design| {
        at.change(design, BASE, p99)
            .into_iter()
            .map(|c| 1.0 + c / 100.0)
    };
    let alone = ratio(one).zip(ratio(other)).map(|(a, b)| a * b);
    let together = ratio(both).zip(alone);
    together
        .map(|(both, alone)| (both / alone - 1.0) * 100.0)
        .collect()
}
