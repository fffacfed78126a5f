//! What Expeditus' figures depend on: both forms at load 0.6 of web search, with one parameter at a time set to
//! another value that the sources leave possible.

use super::{DECK, DECK_FORM, ECMP, FINAL, FINAL_FORM, Measure};
use crate::reproduction::case::{Case, Keys, case, section};
use crate::reproduction::measure::{At, Figure};
use crate::reproduction::{Part, Reproduction, Results, band, row};
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Sensitivity;

const CONGA: &str = "tcp@conga";

/// One scenario and its cases, the first of which is the scenario as it is.
struct Family {
    what: &'static str,
    scenario: &'static str,
    /// What is compared with ECMP where a case does not concern one design alone.
    form: &'static str,
    cases: &'static [Case],
    common: Keys,
    quick: Keys,
}

const FAMILIES: [Family; 2] = [
    Family {
        what: "final form",
        scenario: FINAL,
        form: FINAL_FORM,
        cases: &FINAL_CASES,
        common: &[("loads", "0.6"), ("duration", "8ms")],
        quick: &[("duration", "1500us")],
    },
    Family {
        what: "slides",
        scenario: DECK,
        form: DECK_FORM,
        cases: &DECK_CASES,
        common: &[("loads", "0.6"), ("duration", "50ms")],
        quick: &[("duration", "8ms")],
    },
];

const FINAL_CASES: [Case; 22] = [
    case("final", "as reproduced", &[]),
    case(
        "final-rto-2ms",
        "initial RTO 2 ms",
        &[("tcp.initial_rto", "2ms")],
    ),
    case(
        "final-rto-10ms",
        "initial RTO 10 ms",
        &[("tcp.initial_rto", "10ms")],
    ),
    case(
        "final-rto-3s",
        "SYNs that are lost are not sent again, as in the authors' runs",
        &[("tcp.initial_rto", "3s"), ("drain", "1s")],
    ),
    case(
        "final-windows",
        "windows without a limit",
        &[
            ("tcp.max_cwnd", "unlimited"),
            ("tcp.initial_ssthresh", "unlimited"),
        ],
    ),
    case(
        "final-window-10",
        "10 segments at first",
        &[("tcp.initial_window", "10 segments")],
    ),
    case(
        "final-delay-1us",
        "links of 1 us",
        &[("topology.delay", "1us")],
    ),
    case(
        "final-delay-5us",
        "links of 5 us",
        &[("topology.delay", "5us")],
    ),
    case(
        "final-load-between-pods",
        "the load counts flows between pods only",
        &[("loads", "0.653")],
    ),
    case("final-levels-2", "2 levels", &[("expeditus.levels", "2")]),
    case("final-levels-4", "4 levels", &[("expeditus.levels", "4")]),
    case(
        "final-levels-32",
        "32 levels",
        &[("expeditus.levels", "32")],
    ),
    case(
        "final-levels-254",
        "254 levels",
        &[("expeditus.levels", "254")],
    ),
    case(
        "final-interval-5us",
        "T 5 us",
        &[("expeditus.dre_interval", "5us")],
    ),
    case(
        "final-interval-80us",
        "T 80 us",
        &[("expeditus.dre_interval", "80us")],
    ),
    case("final-keep-0.5", "w 0.5", &[("expeditus.dre_keep", "0.5")]),
    case("final-keep-0.9", "w 0.9", &[("expeditus.dre_keep", "0.9")]),
    case(
        "final-entry-1ms",
        "routes forgotten after 1 ms",
        &[("expeditus.entry_timeout", "1ms")],
    ),
    case(
        "conga-leaf",
        "between pods leaves choose",
        &[("conga.between_pods", "leaf")],
    ),
    case(
        "conga-leaf-500us",
        "between pods leaves choose, gap 500 us",
        &[("conga.between_pods", "leaf"), ("conga.gap", "500us")],
    ),
    case(
        "conga-leaf-and-core",
        "between pods leaves and aggregation switches choose",
        &[("conga.between_pods", "leaf-and-core")],
    ),
    case("conga-500us", "gap 500 us", &[("conga.gap", "500us")]),
];

const DECK_CASES: [Case; 18] = [
    case("deck", "as reproduced", &[]),
    case(
        "deck-level-154",
        "a level for a tenth of a packet",
        &[("expeditus_deck.level_bytes", "154")],
    ),
    case(
        "deck-level-15380",
        "a level for ten packets",
        &[("expeditus_deck.level_bytes", "15380")],
    ),
    case(
        "deck-sum",
        "the sum of both hops",
        &[("expeditus_deck.combination", "sum")],
    ),
    case(
        "deck-heard-100us",
        "what was heard holds for 100 us",
        &[("expeditus_deck.heard_timeout", "100us")],
    ),
    case(
        "deck-heard-10ms",
        "what was heard holds for 10 ms",
        &[("expeditus_deck.heard_timeout", "10ms")],
    ),
    case(
        "deck-rto-1ms",
        "timeouts from 1 ms",
        &[("tcp.min_rto", "1ms"), ("tcp.initial_rto", "1ms")],
    ),
    case(
        "deck-initial-rto-1s",
        "initial RTO 1 s",
        &[("tcp.initial_rto", "1s")],
    ),
    case(
        "deck-window-1",
        "a segment at first",
        &[("tcp.initial_window", "1 segments")],
    ),
    case(
        "deck-windows-64k",
        "windows of 64 KB",
        &[
            ("tcp.max_cwnd", "65535B"),
            ("tcp.initial_ssthresh", "65535B"),
        ],
    ),
    case(
        "deck-queue-50",
        "queues of 50 packets",
        &[("queue.limit", "50 packets")],
    ),
    case(
        "deck-queue-200",
        "queues of 200 packets",
        &[("queue.limit", "200 packets")],
    ),
    case(
        "deck-core-2",
        "2:1",
        &[
            ("topology.core_oversubscription", "2"),
            ("workload.load_of", "512Gbps"),
        ],
    ),
    case(
        "deck-edge-4",
        "4:1 at the edge in place of the core, 8 pods and 512 hosts",
        &[
            ("topology.k", "8"),
            ("topology.core_oversubscription", "1"),
            ("topology.oversubscription", "4"),
            ("workload.load_of", "128Gbps"),
        ],
    ),
    case(
        "deck-delay-5us",
        "links of 5 us",
        &[("topology.delay", "5us")],
    ),
    case("deck-load-0.3", "load 0.3", &[("loads", "0.3")]),
    case("deck-load-0.5", "load 0.5", &[("loads", "0.5")]),
    case("deck-load-0.8", "load 0.8", &[("loads", "0.8")]),
];

impl Family {
    /// The designs that a case is run with, beside ECMP where that is concerned too.
    fn designs(&self, case: &Case) -> Vec<&'static str> {
        match section(case.changes) {
            None if self.form == FINAL_FORM => vec![FINAL_FORM, CONGA],
            None => vec![DECK_FORM, FINAL_FORM],
            Some("conga") => vec![CONGA],
            Some(_) => vec![self.form],
        }
    }

    /// The case whose ECMP is that of a case: the family's first where the changes do not concern it.
    fn ecmp_of(&self, case: &Case) -> &'static str {
        let of_a_design = |key: &str| key.starts_with("expeditus") || key.starts_with("conga");
        let same = case.changes.iter().all(|(key, _)| of_a_design(key));
        if same { self.cases[0].name } else { case.name }
    }

    fn part(&self, case: &Case) -> Part {
        let mut part = case.part(self.scenario, self.common, self.quick);
        let mut designs = self.designs(case);
        if self.ecmp_of(case) == case.name {
            designs.insert(0, ECMP);
        }
        part.changes.push(("designs", designs.join(", ")));
        part
    }

    fn rows(&self, results: &Results, case: &Case) -> Vec<ComparisonRow> {
        let at = At::new(results, case.name, None);
        let ecmp = At::new(results, self.ecmp_of(case), None);
        let (family, what) = (self.what, case.what);
        let mut rows = Vec::new();
        for design in self.designs(case) {
            for measure in Measure::ALL {
                let fcts = |run: &RunRecord| measure.fcts(run, has_finished);
                let figure = Figure::Of(measure.statistic(), &fcts);
                let of_paper = design == FINAL_FORM && self.form == FINAL_FORM;
                let name = measure.name();
                rows.push(row(
                    format!("{family}, {what}: {design}, {name} against ECMP, %"),
                    at.against(design, (ecmp, ECMP), figure),
                    measure.published().filter(|_| of_paper),
                    band::SHOWN,
                    "one parameter at a time",
                ));
            }
        }
        if case.changes.iter().any(|(key, _)| *key == "drain") {
            let designs = self.designs(case);
            for design in [ECMP].iter().chain(&designs) {
                rows.push(row(
                    format!(
                        "{family}, {what}: {design}, flows that do not finish and do not count, %"
                    ),
                    &at.by_seed(design, unfinished_per_cent),
                    None,
                    band::SHOWN,
                    "",
                ));
            }
        }
        rows
    }
}

const fn has_finished(flow: &FlowRecord) -> bool {
    flow.fct.is_some()
}

fn unfinished_per_cent(run: &RunRecord) -> f64 {
    let unfinished = run.flows.iter().filter(|flow| !has_finished(flow)).count();
    100.0 * unfinished as f64 / run.flows.len() as f64
}

impl Reproduction for Sensitivity {
    fn name(&self) -> &'static str {
        "expeditus-sensitivity"
    }

    fn title(&self) -> &'static str {
        "Expeditus, and CONGA beside it, at load 0.6 with other values of what is not published"
    }

    fn parts(&self) -> Vec<Part> {
        let families = FAMILIES.iter();
        let parts = families.flat_map(|family| family.cases.iter().map(|case| family.part(case)));
        parts.collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let families = FAMILIES.iter();
        let rows = families.flat_map(|family| {
            family
                .cases
                .iter()
                .flat_map(|case| family.rows(results, case))
        });
        rows.collect()
    }
}
