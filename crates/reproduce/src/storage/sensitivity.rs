//! What SCDP's storage figures depend on: the heaviest writes and reads, and the hotspots, with one parameter at a
//! time set to another value that the SCDP paper leaves possible.

use super::figures::{BACKGROUND, MEAN_GOODPUT, SCENARIO, goodputs};
use super::hotspots::{self, SHORT_P99};
use super::overhead::{share_above, share_in_vain};
use crate::band;
use crate::case::{Case, Keys, case, lines};
use crate::measure::At;
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Sensitivity;

/// A study on 16 hosts, where it does not say otherwise, with so many sessions a second a
/// host.
struct Setting {
    case: Case,
    per_host: f64,
    /// The fat-tree's k.
    k: u32,
}

/// The settings of a table.
///
/// # Panics
/// Where a line has not five columns, or no number where one is to be.
fn settings(table: &'static str) -> impl Iterator<Item = Setting> {
    lines(table).map(|[name, what, per_host, k, settings]| Setting {
        case: case(name, what, settings),
        per_host: per_host.parse().expect("sessions a second a host"),
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

    /// Whether only SCDP is run.
    fn is_alone(&self) -> bool {
        self.case.changes().iter().any(|(key, _)| *key == "designs")
    }
}

const QUICK: Keys = &[("duration", "300ms"), ("drain", "1s"), ("seeds", "3")];

/// The heaviest load of the figures.
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

const WHY: &str = "one parameter at a time";

impl Reproduction for Sensitivity {
    fn name(&self) -> &'static str {
        "scdp-storage-sensitivity"
    }

    fn title(&self) -> &'static str {
        "SCDP's storage figures with other values of what the paper leaves open"
    }

    fn parts(&self) -> Vec<Part> {
        let writes = settings(OF_WRITES).map(|s| s.part(SCENARIO, WRITES, QUICK));
        let reads = settings(OF_READS).map(|s| s.part(SCENARIO, READS, QUICK));
        let quick = HOTSPOTS_QUICK;
        let beside = settings(OF_HOTSPOTS);
        let beside = beside.map(|s| s.part(hotspots::SCENARIO, &[], quick));
        let without = settings(WITHOUT);
        let without = without.map(|s| s.part(hotspots::WITHOUT, &[], quick));
        writes.chain(reads).chain(beside).chain(without).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for setting in settings(OF_WRITES) {
            let shown = |what: &str, figures: Vec<f64>, theirs| {
                row(
                    format!("{}: {what}", setting.case.what),
                    &figures,
                    theirs,
                    band::SHOWN,
                    WHY,
                )
            };
            let at = At::new(results, setting.case.name, None);
            let count = at.measured("scdp", goodputs).sample().len();
            rows.push(shown(
                &format!("symbols in vain of those of {count} sessions, %"),
                at.by_seed("scdp", share_in_vain),
                Some(1.0),
            ));
            rows.push(shown(
                "sessions with over 50 symbols in vain, %",
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
}

/// Goodput of sessions and of flows in the background; `published` has the latter.
fn compared(
    results: &Results,
    setting: &Setting,
    published: [Option<f64>; 3],
) -> Vec<ComparisonRow> {
    let at = At::new(results, setting.case.name, None);
    let what = setting.case.what;
    let mut rows = vec![row(
        format!("{what}: scdp, mean goodput, Mb/s"),
        at.ours("scdp", MEAN_GOODPUT),
        None,
        band::SHOWN,
        WHY,
    )];
    for (design, theirs) in ["scdp", "ndp", "pias"].into_iter().zip(published) {
        if setting.is_alone() && design != "scdp" {
            continue;
        }
        if design != "scdp" {
            rows.push(row(
                format!("{what}: scdp, mean goodput against {design}, %"),
                at.change("scdp", design, MEAN_GOODPUT),
                None,
                band::SHOWN,
                WHY,
            ));
        }
        rows.push(row(
            format!("{what}: {design}, goodput of background flows, Gb/s"),
            at.ours(design, BACKGROUND),
            theirs,
            band::SHOWN,
            WHY,
        ));
    }
    rows
}

/// Short flows beside storage, and against those beside long flows only.
fn beside_storage(results: &Results, setting: &Setting) -> Vec<ComparisonRow> {
    let without = settings(WITHOUT).find(|without| without.k == setting.k);
    let at = At::new(results, setting.case.name, None);
    let mut rows = Vec::new();
    for (design, before, after) in hotspots::PUBLISHED {
        let with = at.ours(design, SHORT_P99);
        if with.seeds == 0 {
            continue;
        }
        rows.push(row(
            format!(
                "{}: {design}, p99 of flows up to 10 KB, us",
                setting.case.what
            ),
            with,
            Some(after),
            band::SHOWN,
            WHY,
        ));
        let change = without.as_ref().map_or_else(Ours::default, |without| {
            let base = At::new(results, without.case.name, None);
            at.against(design, (base, design), SHORT_P99)
        });
        rows.push(row(
            format!(
                "{}: {design}, against long flows alone, %",
                setting.case.what
            ),
            change,
            Some((after / before - 1.0) * 100.0),
            band::SHOWN,
            WHY,
        ));
    }
    rows
}
