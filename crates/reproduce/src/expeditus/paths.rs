//! Expeditus: its final form's simulations (fat-tree of 12 pods, oversubscribed core), the setting of its
//! slides (16 pods, 1,024 hosts, 4:1), and beside them what nobody has published: one poor switch.

use super::figures::{DECK, DECK_FORM, ECMP, FINAL, FINAL_FORM, Measure, change};
use crate::band;
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Expeditus;

const TROUBLE: &str = include_str!("../../scenarios/reproduce/expeditus-trouble.toml");

const WEB_SEARCH: &str = "expeditus";
const DATA_MINING: &str = "expeditus-datamining";
const SLIDES: &str = "expeditus-deck";
const SLOW: &str = "expeditus-trouble";
const DOWN: &str = "expeditus-down";

impl Reproduction for Expeditus {
    fn name(&self) -> &'static str {
        "expeditus"
    }

    fn title(&self) -> &'static str {
        "Expeditus against ECMP, CONGA, LetFlow and a bound, also where links are slow (SoCC 2016)"
    }

    fn parts(&self) -> Vec<Part> {
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

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
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
}

/// The largest cut over the loads, beside the published "up to".
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
        let of = |ours: &Ours| ours.value.unwrap_or(f64::INFINITY);
        of(a).total_cmp(&of(b))
    });
    let (load, change) = best.unwrap_or_default();
    // The slides have curves only.
    let theirs = measure.published().filter(|_| part != SLIDES);
    let name = measure.name();
    row(
        format!("{what}: {design}, {name} against ECMP at best (load {load}), %"),
        change,
        theirs,
        theirs.map_or(band::SOME_GAIN, band::of_gain),
        "published as \"up to\", over loads, sizes and networks together",
    )
}

/// A design's rows at a load.
fn shown(results: &Results, part: &str, what: &str, load: f64, design: &str) -> Vec<ComparisonRow> {
    let rows = Measure::ALL.map(|measure| {
        let name = measure.name();
        row(
            format!("{what}, load {load}: {design}, {name} against ECMP, %"),
            change(results, (part, load), design, measure),
            None,
            band::SHOWN,
            "",
        )
    });
    rows.into()
}
