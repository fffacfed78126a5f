//! Simulations of Expeditus. The final form has a fat-tree of 12 pods with an oversubscribed core.
//! The form in the slides has 16 pods, 1,024 hosts and an oversubscription of 4:1.
//! In further simulations without published results, links of one switch are slow or down.

use super::figures::{DECK, DECK_FORM, ECMP, FINAL, FINAL_FORM, Measure, change};
use crate::band;
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;

const TROUBLE: &str = include_str!("../../scenarios/reproduce/expeditus-trouble.toml");

const WEB_SEARCH: &str = "expeditus";
const DATA_MINING: &str = "expeditus-datamining";
const SLIDES: &str = "expeditus-deck";
const SLOW: &str = "expeditus-trouble";
const DOWN: &str = "expeditus-down";

/// Reproduction of Expeditus' simulations.
pub const EXPEDITUS: Reproduction = Reproduction {
    name: "expeditus",
    title: "Expeditus against ECMP, CONGA, LetFlow and a bound, also with slow links (SoCC 2016)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |name, scenario, changes: &[(&'static str, &str)], duration: &str| Part {
        name,
        scenario,
        changes: keys(changes),
        quick: keys(&[("duration", duration), ("loads", "0.6")]),
    };
    let mining = [("workload.sizes", "datamining")];
    vec![
        part(WEB_SEARCH, FINAL, &[], "8ms"),
        part(DATA_MINING, FINAL, &mining, "8ms"),
        part(SLIDES, DECK, &[], "50ms"),
        part(SLOW, TROUBLE, &[], "10ms"),
        part(DOWN, TROUBLE, &[("failures.rate", "down")], "10ms"),
    ]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let others = ["tcp@conga", "tcp@letflow", "tcp@omniscient"];
    let mut rows = Vec::new();
    for (part, what, ours) in [
        (WEB_SEARCH, "web search", FINAL_FORM),
        (DATA_MINING, "data mining", FINAL_FORM),
        (SLIDES, "slides, web search", DECK_FORM),
    ] {
        for measure in [Measure::TailOfMice, Measure::MeanOfElephants] {
            rows.push(best(results, part, what, ours, measure));
        }
    }
    for (part, what, designs) in [
        (WEB_SEARCH, "web search", [FINAL_FORM].iter().chain(&others)),
        (
            DATA_MINING,
            "data mining",
            [FINAL_FORM].iter().chain(&others),
        ),
        (
            SLIDES,
            "slides, web search",
            [DECK_FORM].iter().chain(&[FINAL_FORM]),
        ),
        (SLOW, "slow links", [FINAL_FORM].iter().chain(&others)),
        (DOWN, "links down", [FINAL_FORM].iter().chain(&others)),
    ] {
        for load in results.loads(part, ECMP) {
            for design in designs.clone() {
                rows.extend(shown(results, part, what, load, design));
            }
        }
    }
    rows
}

/// Returns the largest reduction over all loads, which the papers publish as "up to".
fn best(
    results: &Results,
    part: &'static str,
    what: &str,
    design: &str,
    measure: Measure,
) -> ComparisonRow {
    let by_load = results.loads(part, ECMP).into_iter();
    let by_load = by_load.map(|load| (load, change(results, (part, load), design, measure)));
    let best = by_load.min_by(|(_, a), (_, b)| {
        let of = |ours: &MeasuredValue| ours.value.unwrap_or(f64::INFINITY);
        of(a).total_cmp(&of(b))
    });
    let (load, change) = best.unwrap_or_default();
    // The slides contain only curves, and no published numbers.
    let published = measure.published().filter(|_| part != SLIDES);
    let name = measure.name();
    row(
        format!("{what}: {design}, {name} against ECMP at best (load {load}), %"),
        change,
        published,
        published.map_or(band::SOME_GAIN, band::for_gain),
        "published as \"up to\" over all loads, sizes and networks",
    )
}

/// Returns rows that show a design's values at a load.
fn shown(results: &Results, part: &str, what: &str, load: f64, design: &str) -> Vec<ComparisonRow> {
    let rows = Measure::ALL.map(|measure| {
        let name = measure.name();
        row(
            format!("{what}, load {load}: {design}, {name} against ECMP, %"),
            change(results, (part, load), design, measure),
            None,
            band::NO_BAND,
            "",
        )
    });
    rows.into()
}
