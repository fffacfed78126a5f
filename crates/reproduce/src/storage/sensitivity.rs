//! Sensitivity of SCDP's storage figures: the writes and reads at the highest load, and the hotspots.
//! Each study sets one parameter to another value that the SCDP paper permits.

use super::figures::{BACKGROUND, MEAN_GOODPUT, SCENARIO, goodputs};
use super::hotspots::{self, SHORT_P99};
use super::overhead::{share_above, share_in_vain};
use crate::band;
use crate::case::{Case, Keys, case, lines};
use crate::measure::Selection;
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// Setting of a study: a case, a rate of sessions for each host, and a size of the network.
struct Setting {
    case: Case,
    /// Sessions per second for each host.
    per_host: f64,
    /// Parameter k of the fat-tree, which has k^3/4 hosts.
    k: u32,
}

/// Returns the settings that a table contains.
///
/// # Panics
/// The function panics if a line does not have five columns, or if a number is missing.
fn settings(table: &'static str) -> impl Iterator<Item = Setting> {
    lines(table).map(|[name, description, per_host, k, settings]| Setting {
        case: case(name, description, settings),
        per_host: per_host.parse().expect("sessions per second and host"),
        k: k.parse().expect("a fat-tree's k"),
    })
}

impl Setting {
    fn part(&self, scenario: &'static str, common: Keys, quick: Keys) -> Part {
        let hosts = f64::from(self.k * self.k * self.k / 4);
        let mut part = self.case.part(scenario, common, quick);
        part.changes.push(("topology.k", self.k.to_string()));
        if self.per_host > 0.0 {
            let rate = (self.per_host * hosts).to_string();
            part.changes.push(("workload.sessions_per_second", rate));
        }
        part
    }

    /// Returns whether this setting has its own list of designs. Most own lists contain only SCDP.
    fn is_alone(&self) -> bool {
        self.case.changes().iter().any(|(key, _)| *key == "designs")
    }
}

const QUICK: Keys = &[("duration", "300ms"), ("drain", "1s"), ("seeds", "3")];

/// Keys of the highest load in the figure about writes.
const WRITES: Keys = &[
    ("workload.sizes", "fixed:4MB"),
    ("designs", "scdp, ndp, pias"),
];

const READS: Keys = &[
    ("workload.sizes", "fixed:4MB"),
    ("workload.read_share", "1"),
    ("designs", "scdp, ndp, pias"),
];

const OF_WRITES: &str = include_str!("../../cases/storage-writes.txt");

const OF_READS: &str = include_str!("../../cases/storage-reads.txt");

const OF_HOTSPOTS: &str = include_str!("../../cases/storage-hotspots.txt");

const WITHOUT: &str = include_str!("../../cases/storage-without.txt");

const HOTSPOTS_QUICK: Keys = &[("duration", "250ms"), ("drain", "200ms")];

const WHY: &str = "each case changes one parameter";

/// Reproduction that shows the sensitivity of SCDP's storage results to parameters.
pub const SENSITIVITY: Reproduction = Reproduction {
    name: "scdp-storage-sensitivity",
    title: "SCDP's storage figures with other values of unpublished parameters",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let writes = settings(OF_WRITES).map(|s| s.part(SCENARIO, WRITES, QUICK));
    let reads = settings(OF_READS).map(|s| s.part(SCENARIO, READS, QUICK));
    let quick = HOTSPOTS_QUICK;
    let beside = settings(OF_HOTSPOTS);
    let beside = beside.map(|s| s.part(hotspots::SCENARIO, &[], quick));
    let without = settings(WITHOUT);
    let without = without.map(|s| s.part(hotspots::WITHOUT, &[], quick));
    writes.chain(reads).chain(beside).chain(without).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for setting in settings(OF_WRITES) {
        let shown = |description: &str, figures: Vec<f64>, published| {
            row(
                format!("{}: {description}", setting.case.description),
                &figures,
                published,
                band::NO_BAND,
                WHY,
            )
        };
        let at = Selection::new(results, setting.case.name, None);
        let count = at.measured("scdp", goodputs).sample().len();
        rows.push(shown(
            &format!("share of wasted symbols in {count} sessions, %"),
            at.by_seed("scdp", share_in_vain),
            Some(1.0),
        ));
        rows.push(shown(
            "sessions with over 50 wasted symbols, %",
            at.by_seed("scdp", |run| share_above(run, 50)),
            None,
        ));
        rows.extend(compared(results, &setting, [0.408, 0.252, 0.182].map(Some)));
    }
    for setting in settings(OF_READS) {
        rows.extend(compared(
            results,
            &setting,
            [None, Some(0.342), Some(0.152)],
        ));
    }
    for setting in settings(OF_HOTSPOTS) {
        rows.extend(beside_storage(results, &setting));
    }
    rows
}

/// Returns the rows for the goodput of sessions and of background flows.
/// `published` contains the published goodput of background flows.
fn compared(
    results: &Results,
    setting: &Setting,
    published: [Option<f64>; 3],
) -> Vec<ComparisonRow> {
    let at = Selection::new(results, setting.case.name, None);
    let description = setting.case.description;
    let mut rows = vec![row(
        format!("{description}: scdp, mean goodput, Mb/s"),
        at.ours("scdp", MEAN_GOODPUT),
        None,
        band::NO_BAND,
        WHY,
    )];
    for (design, published) in ["scdp", "ndp", "pias"].into_iter().zip(published) {
        if setting.is_alone() && design != "scdp" {
            continue;
        }
        if design != "scdp" {
            rows.push(row(
                format!("{description}: scdp, mean goodput against {design}, %"),
                at.change("scdp", design, MEAN_GOODPUT),
                None,
                band::NO_BAND,
                WHY,
            ));
        }
        rows.push(row(
            format!("{description}: {design}, goodput of background flows, Gb/s"),
            at.ours(design, BACKGROUND),
            published,
            band::NO_BAND,
            WHY,
        ));
    }
    rows
}

/// Returns the rows for short flows with storage traffic.
/// The rows also show the change against short flows with long flows only.
fn beside_storage(results: &Results, setting: &Setting) -> Vec<ComparisonRow> {
    let without = settings(WITHOUT).find(|without| without.k == setting.k);
    let at = Selection::new(results, setting.case.name, None);
    let mut rows = Vec::new();
    for (design, before, after) in hotspots::PUBLISHED {
        let with = at.ours(design, SHORT_P99);
        if with.seeds == 0 {
            continue;
        }
        rows.push(row(
            format!(
                "{}: {design}, p99 of flows up to 10 KB, us",
                setting.case.description
            ),
            with,
            Some(after),
            band::NO_BAND,
            WHY,
        ));
        let change = without
            .as_ref()
            .map_or_else(MeasuredValue::default, |without| {
                let base = Selection::new(results, without.case.name, None);
                at.change_from(design, (base, design), SHORT_P99)
            });
        rows.push(row(
            format!(
                "{}: {design}, against long flows alone, %",
                setting.case.description
            ),
            change,
            Some((after / before - 1.0) * 100.0),
            band::NO_BAND,
            WHY,
        ));
    }
    rows
}
