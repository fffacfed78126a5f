//! Sensitivity of Expeditus' results. Both forms run with web search at load 0.6.
//! Each study sets one parameter to another value that the sources permit.

use super::figures::{DECK, DECK_FORM, ECMP, FINAL, FINAL_FORM, Measure};
use crate::band;
use crate::case::{Case, Keys, cases, section};
use crate::measure::{Figure, Selection};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::{FlowRecord, RunRecord};

const CONGA: &str = "tcp@conga";

/// Scenario and its cases. The first case is the unchanged scenario.
struct Family {
    description: &'static str,
    scenario: &'static str,
    /// Design that is compared with ECMP. Cases that only affect another design use that design instead.
    form: &'static str,
    /// Table that lists the cases.
    cases: &'static str,
    common: Keys,
    quick: Keys,
}

const FAMILIES: [Family; 2] = [
    Family {
        description: "final form",
        scenario: FINAL,
        form: FINAL_FORM,
        cases: FINAL_CASES,
        common: &[("loads", "0.6"), ("duration", "8ms")],
        quick: &[("duration", "1500us")],
    },
    Family {
        description: "slides",
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
    /// Returns the designs that run in a case. ECMP is not included.
    fn designs(&self, case: &Case) -> Vec<&'static str> {
        match section(&case.changes()) {
            None if self.form == FINAL_FORM => vec![FINAL_FORM, CONGA],
            None => vec![DECK_FORM, FINAL_FORM],
            Some("conga") => vec![CONGA],
            Some(_) => vec![self.form],
        }
    }

    /// Returns the name of the case whose ECMP runs are the base for `case`.
    /// If the changes of `case` do not affect ECMP, ECMP does not run again.
    /// If ECMP does not run, the base is the first case of the family.
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
        let at = Selection::new(results, case.name, None);
        let ecmp = Selection::new(results, self.ecmp_of(case), None);
        let (family, description) = (self.description, case.description);
        let mut rows = Vec::new();
        for design in self.designs(case) {
            for measure in Measure::ALL {
                let fcts = |run: &RunRecord| measure.fcts(run, has_finished);
                let figure = Figure::Of(measure.statistic(), &fcts);
                let of_paper = design == FINAL_FORM && self.form == FINAL_FORM;
                let name = measure.name();
                rows.push(row(
                    format!("{family}, {description}: {design}, {name} against ECMP, %"),
                    at.change_from(design, (ecmp, ECMP), figure),
                    measure.published().filter(|_| of_paper),
                    band::NO_BAND,
                    "each case changes one parameter",
                ));
            }
        }
        if case.changes().iter().any(|(key, _)| *key == "drain") {
            let designs = self.designs(case);
            for design in [ECMP].iter().chain(&designs) {
                rows.push(row(
                    format!(
                        "{family}, {description}: {design}, flows that do not finish and do not count, %"
                    ),
                    &at.by_seed(design, unfinished_per_cent),
                    None,
                    band::NO_BAND,
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

/// Reproduction that shows the sensitivity of Expeditus' results to parameters.
pub const SENSITIVITY: Reproduction = Reproduction {
    name: "expeditus-sensitivity",
    title: "Expeditus and CONGA at load 0.6 with other values of unpublished parameters",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let families = FAMILIES.iter();
    let parts = families.flat_map(|family| cases(family.cases).map(|case| family.part(&case)));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let families = FAMILIES.iter();
    let rows = families
        .flat_map(|family| cases(family.cases).flat_map(|case| family.rows(results, &case)));
    rows.collect()
}
