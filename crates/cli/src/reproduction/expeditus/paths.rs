//! Expeditus: its final form's simulations (fat-tree of 12 pods, oversubscribed core), the setting of its
//! slides (16 pods, 1,024 hosts, 4:1), and beside them what nobody has published: one poor switch.

use super::measure::{At, Statistic, fcts, mean};
use super::{Part, Reproduction, Results, band, row};
use tailcut_record::RunRecord;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Expeditus;

/// Flows from this size on are elephants here, in bytes: the papers' word for the longest.
const ELEPHANTS: u64 = 1_000_000;

/// The largest published cuts against ECMP, "up to": of the tail of mice, and of the mean of elephants.
const TAIL_OF_MICE: f64 = -45.0;
const MEAN_OF_ELEPHANTS: f64 = -38.0;

const FINAL: &str = include_str!("../../../../scenarios/reproduce/expeditus.toml");
const DECK: &str = include_str!("../../../../scenarios/reproduce/expeditus-deck.toml");
const TROUBLE: &str = include_str!("../../../../scenarios/reproduce/expeditus-trouble.toml");

const WEB_SEARCH: &str = "expeditus";
const DATA_MINING: &str = "expeditus-datamining";
const SLIDES: &str = "expeditus-deck";
const SLOW: &str = "expeditus-trouble";
const DOWN: &str = "expeditus-down";

const ECMP: &str = "tcp";
const FINAL_FORM: &str = "tcp@expeditus";
const DECK_FORM: &str = "tcp@expeditus-deck";

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
            changes: owned(changes),
            quick: owned(&[("duration", duration), ("loads", "0.6"), ("seeds", "3")]),
        };
        // Flows are six times as large as in web search, so that it takes longer to see as many.
        let mining = [("workload.sizes", "datamining"), ("duration", "300ms")];
        vec![
            part(WEB_SEARCH, FINAL, &[], "15ms"),
            part(DATA_MINING, FINAL, &mining, "15ms"),
            part(SLIDES, DECK, &[], "100ms"),
            part(SLOW, TROUBLE, &[], "20ms"),
            part(DOWN, TROUBLE, &[("failures.rate", "down")], "20ms"),
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
            for figure in [Figure::TailOfMice, Figure::MeanOfElephants] {
                rows.push(best(results, part, what, ours, figure));
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

fn owned(changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let changes = changes.iter();
    changes
        .map(|&(key, value)| (key, value.to_owned()))
        .collect()
}

/// What the published numbers are of.
#[derive(Clone, Copy, PartialEq)]
enum Figure {
    TailOfMice,
    MeanOfElephants,
    MeanOfMice,
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::TailOfMice => "p99 of mice",
            Self::MeanOfElephants => "mean of elephants",
            Self::MeanOfMice => "mean of mice",
        }
    }

    /// In microseconds.
    fn of(self, run: &RunRecord) -> f64 {
        match self {
            Self::TailOfMice => Statistic::P99.of_mice(run),
            Self::MeanOfMice => Statistic::Mean.of_mice(run),
            Self::MeanOfElephants => mean(&fcts(run, |flow| flow.bytes.0 >= ELEPHANTS)),
        }
    }
}

/// The largest cut over the loads, beside the published "up to".
fn best(
    results: &Results,
    part: &'static str,
    what: &str,
    design: &str,
    figure: Figure,
) -> ComparisonRow {
    let by_load = results.loads(part, ECMP).into_iter().map(|load| {
        let changes = At::new(results, part, Some(load)).change(design, ECMP, |run| figure.of(run));
        (load, changes)
    });
    let best = by_load.min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    let (load, changes) = best.unwrap_or_default();
    // The slides have curves only.
    let theirs = (part != SLIDES).then_some(match figure {
        Figure::TailOfMice => TAIL_OF_MICE,
        Figure::MeanOfElephants | Figure::MeanOfMice => MEAN_OF_ELEPHANTS,
    });
    let name = figure.name();
    let mice = At::new(results, part, Some(load)).mice(ECMP);
    row(
        format!("{what}: {design}, {name} against ECMP at best (load {load}, {mice} mice), %"),
        &changes,
        theirs,
        theirs.map_or(band::SOME_GAIN, band::of_gain),
        "published as \"up to\", over loads, sizes and networks together",
    )
}

/// A design's rows at a load.
fn shown<'a>(
    results: &'a Results,
    part: &'a str,
    what: &str,
    load: f64,
    design: &'a str,
) -> Vec<ComparisonRow> {
    let at = At::new(results, part, Some(load));
    let figures = [
        Figure::MeanOfMice,
        Figure::TailOfMice,
        Figure::MeanOfElephants,
    ];
    let rows = figures.map(|figure| {
        let changes = at.change(design, ECMP, |run| figure.of(run));
        let name = figure.name();
        row(
            format!("{what}, load {load}: {design}, {name} against ECMP, %"),
            &changes,
            None,
            band::SHOWN,
            "",
        )
    });
    rows.into()
}
