//! Initial window of SCDP (SCDP paper, section V-F, figure 15): goodput and trimmed packets at 1, 5 and 10 Gb/s.

use super::figures::{ON_REAL_HOSTS, goodput_mbps, is_of};
use crate::band;
use crate::case::{Case, cases};
use crate::measure::{Figure, Selection, mean};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::sim::workload::Class;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-initial-window.toml");

/// Cases with several windows for each rate.
const WINDOWS: &str = include_str!("../../cases/scdp-initial-window.txt");

/// Cases in which one other parameter is changed in addition to the window. The rate is 1 Gb/s.
const CHANGED: &str = include_str!("../../cases/scdp-initial-window-changed.txt");

fn all_cases() -> impl Iterator<Item = Case> {
    cases(WINDOWS).chain(cases(CHANGED))
}

/// Choices for each rate: the name of the rate, the part with the paper's window, and this window.
/// Two further parts have windows that are much too small and much too large.
const CHOICES: [(&str, &str, f64, &str, &str); 3] = [
    ("1 Gb/s", "1g-12", 12.0, "1g-2", "1g-100"),
    ("5 Gb/s", "5g-24", 24.0, "5g-4", "5g-64"),
    ("10 Gb/s", "10g-32", 32.0, "10g-8", "10g-96"),
];

/// Returns one value of `figure` for each session of a run.
fn of_sessions(run: &RunRecord, figure: fn(&FlowRecord) -> f64) -> Vec<f64> {
    let flows = run.flows.iter();
    let sessions = flows.filter(|flow| is_of(flow, Class::Foreground));
    sessions.map(figure).collect()
}

/// Returns the goodputs of the sessions in Mb/s.
fn goodputs(run: &RunRecord) -> Vec<f64> {
    of_sessions(run, goodput_mbps)
}

/// Returns the number of repair symbols of each session.
/// A session sends one repair symbol for each trimmed packet, and two more repair symbols for each block with a loss.
fn repairs(run: &RunRecord) -> Vec<f64> {
    of_sessions(run, |flow| f64::from(flow.retransmissions))
}

const GOODPUT: Figure<'static> = Figure::Of(Statistic::Mean, &goodputs);
const REPAIR: Figure<'static> = Figure::Of(Statistic::Mean, &repairs);

/// Reproduction of the figure about initial windows.
pub const INITIAL_WINDOW: Reproduction = Reproduction {
    name: "scdp-initial-window",
    title: "SCDP's initial window at 1, 5 and 10 Gb/s (SCDP paper, figure 15)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    all_cases()
        .map(|case| case.part(SCENARIO, &[], &[("topology.k", "4")]))
        .collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    let at_1g = cases(WINDOWS).filter(|case| case.description.starts_with("1 Gb/s"));
    let part = |case: Case| {
        let mut part = case.part(
            SCENARIO,
            ON_REAL_HOSTS,
            &[("duration", "50ms"), ("drain", "40ms")],
        );
        // A long flow must last longer than the run, but it must fit into a host's memory.
        part.changes.extend(keys(&[
            ("topology.k", "4"),
            ("workload[1].sizes", "fixed:50MB"),
        ]));
        part
    };
    at_1g.map(part).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let at = |part| Selection::new(results, part, None);
    let mut rows = Vec::new();
    for Case {
        name, description, ..
    } in all_cases().filter(|case| results.ran(case.name, "scdp"))
    {
        rows.push(row(
            format!("{description}: goodput of a session of 1 MB, Mb/s"),
            at(name).ours("scdp", GOODPUT),
            None,
            band::NO_BAND,
            "",
        ));
        rows.push(row(
            format!(
                "{description}: repair symbols per session: one per trimmed packet and two per block"
            ),
            at(name).ours("scdp", REPAIR),
            None,
            band::NO_BAND,
            "",
        ));
    }
    let ratio = |part: &'static str, base: &'static str| -> MeasuredValue {
        let change = at(part).change_from("scdp", (at(base), "scdp"), GOODPUT);
        change.map(|per_cent| 100.0 + per_cent)
    };
    for (rate, chosen, window, small, large) in CHOICES {
        if !results.ran(chosen, "scdp") {
            continue;
        }
        rows.push(row(
            format!("{rate}: smallest of these windows with 95 % of the best goodput"),
            &smallest_sufficient(results, rate),
            Some(window),
            (window / 2.0, window * 2.0),
            "the delay of the links is not published",
        ));
        rows.push(row(
            format!(
                "{rate}: goodput with a far too small window, relative to the paper's window, %"
            ),
            ratio(small, chosen),
            None,
            (0.0, 70.0),
            "published as a chart: very low",
        ));
        rows.push(row(
            format!(
                "{rate}: goodput with a far too large window, relative to the paper's window, %"
            ),
            ratio(large, chosen),
            None,
            (rate == "1 Gb/s").then_some((0.0, 100.0)),
            "published for 1 Gb/s: it deteriorates, with 39 trimmed packets per session",
        ));
    }
    if results.ran("1g-100-busy", "scdp") {
        rows.push(row(
            "1 Gb/s, load 0.4: goodput with a far too large window, relative to the paper's window, %",
            ratio("1g-100-busy", "1g-12-busy"),
            None,
            band::NO_BAND,
            "as published: it deteriorates if there is more traffic",
        ));
    }
    rows.push(row(
        "1 Gb/s: goodput with a window of 24, relative to a window of 12, %",
        ratio("1g-24", "1g-12"),
        Some(100.0),
        (90.0, 110.0),
        "flat up to 24",
    ));
    rows
}

/// Returns for each seed the smallest window that gives at least 95 % of the best goodput at this rate.
fn smallest_sufficient(results: &Results, rate: &str) -> Vec<f64> {
    let tried: Vec<(f64, Vec<f64>)> = cases(WINDOWS)
        .filter(|case| case.description.starts_with(rate) && results.ran(case.name, "scdp"))
        .filter_map(|case| {
            let window = case.name.rsplit('-').next()?.parse().ok()?;
            let at = Selection::new(results, case.name, None);
            Some((window, at.by_seed("scdp", |run| mean(&goodputs(run)))))
        })
        .collect();
    let seeds = tried.iter().map(|(_, by_seed)| by_seed.len()).min();
    let of_seed = |seed: usize| {
        let best = tried.iter().map(|(_, by_seed)| by_seed[seed]);
        let best = best.fold(0.0, f64::max);
        let enough = tried
            .iter()
            .find(|(_, by_seed)| by_seed[seed] >= 0.95 * best);
        enough.map_or(f64::NAN, |(window, _)| *window)
    };
    (0..seeds.unwrap_or(0)).map(of_seed).collect()
}
