//! What SCDP's storage figures depend on: the heaviest writes and reads, and the hotspots, with one parameter at a
//! time set to another value that the SCDP paper leaves possible.

use super::hotspots::{self, SHORT_P99};
use super::overhead::{share_above, share_in_vain};
use super::{BACKGROUND, Keys, MEAN_GOODPUT, SCENARIO, goodputs};
use crate::reproduction::case::{Case, case};
use crate::reproduction::measure::At;
use crate::reproduction::ours::Ours;
use crate::reproduction::{Part, Reproduction, Results, band, row};
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

const fn setting(name: &'static str, what: &'static str, per_host: f64, changes: Keys) -> Setting {
    Setting {
        case: case(name, what, changes),
        per_host,
        k: 4,
    }
}

const fn larger(name: &'static str, what: &'static str, per_host: f64, k: u32) -> Setting {
    Setting {
        k,
        ..setting(name, what, per_host, &[])
    }
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
        self.case.changes.iter().any(|(key, _)| *key == "designs")
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

const ALONE: (&str, &str) = ("designs", "scdp");

const OF_WRITES: [Setting; 13] = [
    setting("writes", "writes as reproduced", 8.0, &[]),
    setting("writes-2", "writes, 2 a second a host", 2.0, &[]),
    setting("writes-4", "writes, 4 a second a host", 4.0, &[]),
    setting(
        "writes-apart",
        "writes between hosts without a long flow",
        8.0,
        &[("workload.leave_out", "0.333")],
    ),
    larger("writes-54", "writes, 54 hosts", 8.0, 6),
    setting(
        "writes-block-20",
        "writes in blocks of 20 symbols",
        8.0,
        &[("scdp.block_symbols", "20"), ALONE],
    ),
    setting(
        "writes-block-500",
        "writes in blocks of 500 symbols",
        8.0,
        &[("scdp.block_symbols", "500"), ALONE],
    ),
    setting(
        "writes-one-block",
        "writes in one block",
        8.0,
        &[("scdp.block_symbols", "10000"), ALONE],
    ),
    setting(
        "writes-overhead-0",
        "writes, none beyond K after a loss",
        8.0,
        &[("scdp.overhead", "0"), ALONE],
    ),
    setting(
        "writes-window-6",
        "writes, 6 symbols at first",
        8.0,
        &[("scdp.initial_window", "6"), ALONE],
    ),
    setting(
        "writes-window-24",
        "writes, 24 symbols at first",
        8.0,
        &[("scdp.initial_window", "24"), ALONE],
    ),
    setting(
        "writes-queue",
        "writes, 100 KB a class and not a port",
        8.0,
        &[("scdp.queue", "500KB"), ALONE],
    ),
    setting(
        "writes-classless",
        "writes, all symbols in one class",
        8.0,
        &[("scdp.thresholds", "10GB"), ALONE],
    ),
];

const OF_READS: [Setting; 4] = [
    setting("reads", "reads as reproduced", 24.0, &[]),
    setting("reads-6", "reads, 6 a second a host", 6.0, &[]),
    setting(
        "reads-window-4",
        "reads, 4 symbols of each sender at first",
        24.0,
        &[("scdp.shared_window", "4"), ALONE],
    ),
    setting(
        "reads-window-12",
        "reads, 12 symbols of each sender at first",
        24.0,
        &[("scdp.shared_window", "12"), ALONE],
    ),
];

/// With half reads and half writes of 4 MB, what is delivered is 64 Mb/s for each session a second a host.
const HOTSPOTS: f64 = 7.8;

const OF_HOTSPOTS: [Setting; 9] = [
    setting("hotspots", "hotspots as reproduced", HOTSPOTS, &[]),
    setting(
        "hotspots-quarter",
        "hotspots, a quarter of the sessions",
        HOTSPOTS / 4.0,
        &[],
    ),
    setting(
        "hotspots-half",
        "hotspots, half of the sessions",
        HOTSPOTS / 2.0,
        &[],
    ),
    setting(
        "hotspots-reads",
        "hotspots, as many bytes in reads alone",
        HOTSPOTS * 2.0,
        &[("workload.read_share", "1")],
    ),
    setting(
        "hotspots-writes",
        "hotspots, as many bytes in writes alone",
        HOTSPOTS * 2.0 / 3.0,
        &[("workload.read_share", "off")],
    ),
    setting(
        "hotspots-1mb",
        "hotspots, as many bytes in sessions of 1 MB",
        HOTSPOTS * 4.0,
        &[("workload.sizes", "fixed:1MB")],
    ),
    setting(
        "hotspots-window-2",
        "hotspots, 2 symbols of each sender at first",
        HOTSPOTS,
        &[("scdp.shared_window", "2"), ALONE],
    ),
    setting(
        "hotspots-chain",
        "hotspots, writes down a chain where there is no multicast",
        HOTSPOTS,
        &[("workload.write", "daisy-chain"), ("designs", "ndp, pias")],
    ),
    larger("hotspots-54", "hotspots, 54 hosts", HOTSPOTS, 6),
];

/// The same flows beside long flows and no storage, by number of hosts.
const WITHOUT: [Setting; 2] = [
    setting("without", "", 0.0, &[]),
    larger("without-54", "", 0.0, 6),
];

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
        let writes = OF_WRITES.iter().map(|s| s.part(SCENARIO, WRITES, QUICK));
        let reads = OF_READS.iter().map(|s| s.part(SCENARIO, READS, QUICK));
        let quick = HOTSPOTS_QUICK;
        let beside = OF_HOTSPOTS.iter();
        let beside = beside.map(|s| s.part(hotspots::SCENARIO, &[], quick));
        let without = WITHOUT.iter();
        let without = without.map(|s| s.part(hotspots::WITHOUT, &[], quick));
        writes.chain(reads).chain(beside).chain(without).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for setting in &OF_WRITES {
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
            rows.extend(compared(results, setting, [0.408, 0.252, 0.182].map(Some)));
        }
        for setting in &OF_READS {
            rows.extend(compared(results, setting, [None, Some(0.342), Some(0.152)]));
        }
        for setting in &OF_HOTSPOTS {
            rows.extend(beside_storage(results, setting));
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
    let without = WITHOUT.iter().find(|without| without.k == setting.k);
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
        let change = without.map_or_else(Ours::default, |without| {
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
