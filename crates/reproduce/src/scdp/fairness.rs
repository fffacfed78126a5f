//! Fairness and convergence (SCDP paper, section V-I, figure 17). Five sessions to one host start 2 s apart.
//! Each session has the size that it sends in 18 s if all active sessions share the link evenly.

use super::figures::{carried_mbps, samples_of};
use crate::band;
use crate::measure::{Selection, mean};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::units::Time;

const PART: &str = "scdp-fairness";

const DESIGNS: [&str; 3] = ["scdp", "ndp", "dctcp"];

const UPLINKS: [&str; 5] = ["h1>s0", "h2>s0", "h3>s0", "h4>s0", "h5>s0"];

/// Returns the shares of the link that the five senders use, for each sample between two times.
/// The times are in seconds.
fn shares(run: &RunRecord, from: f64, until: f64) -> Vec<[f64; 5]> {
    let within = |time: Time| time.as_secs_f64() > from + 1e-6 && time.as_secs_f64() < until + 1e-6;
    let of_sender = UPLINKS.map(|uplink| {
        let names = [uplink];
        let samples = samples_of(run, &names).filter(|sample| within(sample.time));
        samples
            .map(|sample| sample.bytes.0 as f64)
            .collect::<Vec<_>>()
    });
    let instants = of_sender.iter().map(Vec::len).min().unwrap_or(0);
    let at = |instant: usize| {
        let bytes = std::array::from_fn(|sender| of_sender[sender][instant]);
        let all: f64 = bytes.iter().sum();
        bytes.map(|bytes: f64| bytes / all)
    };
    (0..instants).map(at).collect()
}

/// Returns Jain's fairness index. The index is 1 if all n shares are equal, and 1/n if one sender has the whole link.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// Returns Jain's fairness index of each sample in which all five sessions send.
fn jains(run: &RunRecord) -> Vec<f64> {
    let shares = shares(run, 8.5, 17.5);
    shares.iter().map(|shares| jain(shares)).collect()
}

/// Returns the time in ms from the start of the fifth flow until all flows are near their fair share.
/// Near means that a flow's rate is within a fifth of its fair share.
fn convergence(run: &RunRecord) -> f64 {
    let fair = |shares: &[f64; 5]| shares.iter().all(|share| (share - 0.2).abs() <= 0.04);
    let first = shares(run, 8.0, 18.0).iter().position(fair);
    first.map_or(f64::INFINITY, |index| (index + 1) as f64 * 100.0)
}

/// Returns the largest deviation of a flow's completion time from 18 s, in per cent.
fn worst_miss(run: &RunRecord) -> f64 {
    let misses = run.flows.iter().map(|flow| {
        let fct = flow.fct.map_or(f64::INFINITY, |fct| fct.as_secs_f64());
        (fct / 18.0 - 1.0).abs() * 100.0
    });
    misses.fold(0.0, f64::max)
}

/// Reproduction of the figure with five sessions.
pub const FAIRNESS: Reproduction = Reproduction {
    name: PART,
    title: "Five flows that start 2 s apart share a link (SCDP paper, figure 17)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    vec![Part {
        name: PART,
        scenario: include_str!("../../scenarios/reproduce/scdp-fairness.toml"),
        changes: Vec::new(),
        quick: Vec::new(),
    }]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, PART, None);
    let mut rows = Vec::new();
    for design in DESIGNS {
        let band = |range: band::Band| (design == "scdp").then_some(range);
        let why = "published as a chart: excellent fairness, quick convergence";
        rows.push(row(
            format!("{design}: Jain's index of five flows by 100 ms, mean"),
            &at.by_seed(design, |run| mean(&jains(run))),
            None,
            band((0.99, 1.0)),
            why,
        ));
        rows.push(row(
            format!("{design}: Jain's index of five flows by 100 ms, lowest"),
            &at.by_seed(design, |run| jains(run).into_iter().fold(1.0, f64::min)),
            None,
            band((0.95, 1.0)),
            why,
        ));
        rows.push(row(
            format!("{design}: time from the fifth start until all rates are within 20 % of the fair share, ms"),
            &at.by_seed(design, convergence),
            None,
            band((0.0, 1_000.0)),
            why,
        ));
        rows.push(row(
            format!("{design}: farthest of the five completion times from 18 s, %"),
            &at.by_seed(design, worst_miss),
            None,
            band((0.0, 5.0)),
            why,
        ));
    }
    for (sender, uplink) in UPLINKS.iter().enumerate() {
        let rates = at.by_seed("scdp", |run| {
            let names = [*uplink];
            let until =
                |secs: u64| carried_mbps(run, &names, Time::from_ps(secs * 1_000_000_000_000));
            // Payload rate from 10 to 18 s, computed from the mean rates from the start to 10 s and to 18 s.
            (until(18) * 18.0 - until(10) * 10.0) / 8.0
        });
        rows.push(row(
            format!("scdp: goodput of flow {} from 10 to 18 s, Mb/s", sender + 1),
            &rates,
            None,
            (171.0, 209.0),
            "a fifth of the link, 190 Mb/s, plus or minus a tenth",
        ));
    }
    rows
}
