//! What Expeditus' figures depend on: both forms at load 0.6 of web search, with one parameter at a time set to
//! another value that the sources leave possible.

use super::figures::{DECK, DECK_FORM, ECMP, FINAL, FINAL_FORM, Measure};
use crate::band;
use crate::case::{Case, Keys, cases, section};
use crate::measure::{At, Figure};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::{FlowRecord, RunRecord};

/// See the module.
pub struct Sensitivity;

const CONGA: &str = "tcp@conga";

/// One scenario and its cases, the first of which is the scenario as it is.
struct Family {
    what: &'static str,
    scenario: &'static str,
    /// What is compared with ECMP where a case does not concern one design alone.
    form: &'static str,
    /// A table.
    cases: &'static str,
    common: Keys,
    quick: Keys,
}

const FAMILIES: [Family; 2] = [
    Family {
        what: "final form",
        scenario: FINAL,
        form: FINAL_FORM,
        cases: FINAL_CASES,
        common: &[("loads", "0.6"), ("duration", "8ms")],
        quick: &[("duration", "1500us")],
    },
    Family {
        what: "slides",
        scenario: DECK,
        form: DECK_FORM,
        cases: DECK_CASES,
        common: &[("loads", "0.6"), ("duration", "50ms")],
        quick: &[("duration", "8ms")],
    },
];

const FINAL_CASES: &str = include_str!("../../cases/expeditus-final.txt");

const DECK_CASES: &str = include_str!("../../cases/expeditus-deck.txt");

impl Family {
    /// The designs that a case is run with, beside ECMP where that is concerned too.
    fn designs(&self, case: &Case) -> Vec<&'static str> {
        match section(&case.changes()) {
            None if self.form == FINAL_FORM => vec![FINAL_FORM, CONGA],
            None => vec![DECK_FORM, FINAL_FORM],
            Some("conga") => vec![CONGA],
            Some(_) => vec![self.form],
        }
    }

    /// The case whose ECMP is that of a case: the family's first where the changes do not concern it.
    fn ecmp_of(&self, case: &Case) -> &'static str {
        let of_a_design = |key: &str| key.starts_with("expeditus") || key.starts_with("conga");
        let same = case.changes().iter().all(|(key, _)| of_a_design(key));
        let first = cases(self.cases)
            .next()
            .map_or(case.name, |first| first.name);
        if same { first } else { case.name }
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
        if case.changes().iter().any(|(key, _)| *key == "drain") {
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
        let parts = families.flat_map(|family| cases(family.cases).map(|case| family.part(&case)));
        parts.collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let families = FAMILIES.iter();
        let rows = families
            .flat_map(|family| cases(family.cases).flat_map(|case| family.rows(results, &case)));
        rows.collect()
    }
}
