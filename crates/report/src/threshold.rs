//! Comparison of a figure with a limit, for one design in one setting, and the certainty of the result.

use crate::capacity::UNFINISHED;
use crate::estimate::{Estimate, Measured, TooFew, t_interval};
use crate::format::percent_digits;
use crate::group::Group;
use crate::headline::noun_of;
use crate::load::GROWTH_TO_WARN_OF;
use crate::run::{self, Run};
use crate::sample::{Metric, Sample, Statistic};
use crate::warm_up;

/// Side of the limit on which a figure is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The whole interval is below the limit.
    Below,
    /// The whole interval is above the limit, or the network does not keep up.
    Above,
    /// The interval contains the limit, or there is no interval yet.
    Open,
}

/// Result of comparing a figure with a limit.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// Noun for the flows over which the figure is computed: `mice`, `requests`, `writes`.
    pub noun: &'static str,
    /// Side of the limit on which the figure is.
    pub side: Side,
    /// Figure in microseconds, with its interval; `None` with no flows or too few flows.
    pub estimate: Option<Estimate>,
    /// Number of flows or seeds that are missing; `None` if no flows or seeds are missing.
    pub too_few: Option<TooFew>,
    /// Reason why the network does not keep up; `None` if the network keeps up.
    pub overload: Option<String>,
}

/// Returns the side of `limit_us` microseconds on which a figure is, for the runs of one design in one setting.
/// `config` is the configuration of the study to which the runs belong.
/// The figure is computed over the same group as in the answer of a report.
/// The group is requests, sessions of storage clients or mice.
/// Without requests, sessions and mice, the group is all flows.
/// Only the measured part of the runs is used.
///
/// The network does not keep up in three cases:
/// - Links are offered more than they can carry.
/// - More than 1 % of the flows do not finish.
/// - Under a load that continues, unfinished bytes grow by more than 50 %, with 95 % confidence over the seeds.
///   The growth is measured from the middle third to the last third of the arrivals.
pub fn judge(
    config: &serde_json::Value,
    mut runs: Vec<Run>,
    statistic: Statistic,
    limit_us: f64,
) -> Judged {
    warm_up::restrict(config, &mut runs);
    let runs: &[&Run] = &runs.iter().collect::<Vec<_>>();
    let mut groups = Group::of_applications().into_iter().chain([Group::mice()]);
    let sample_of = |group: &Group| Sample::of(runs, group, Metric::Fct);
    let group = groups
        .find(|group| !sample_of(group).is_empty())
        .unwrap_or_else(Group::all);
    let seeds = runs.iter().map(|run| run.summary.key.seed).collect();
    let varies = !run::are_same(runs);
    let measured = Measured::new(sample_of(&group), seeds).varying(varies);
    let outcome = measured.estimate(statistic);
    let estimate = outcome.and_then(Result::ok);
    let overload = overload(runs, &group, measured.sample());
    // If the runs of all seeds are equal, the figure is exact.
    let exact = estimate.filter(|_| !varies);
    let exact = exact.map(|estimate| (estimate.value, estimate.value));
    let side = match estimate.and_then(|estimate| estimate.interval).or(exact) {
        _ if overload.is_some() => Side::Above,
        Some((low, _)) if low > limit_us => Side::Above,
        Some((_, high)) if high < limit_us => Side::Below,
        _ => Side::Open,
    };
    Judged {
        noun: noun_of(&group),
        side,
        estimate,
        too_few: outcome.and_then(Result::err),
        overload,
    }
}

/// Returns the reason why the network does not keep up, or `None` if it does.
fn overload(runs: &[&Run], group: &Group, sample: &Sample) -> Option<String> {
    let offered = runs.iter().filter_map(|run| run.summary.offered.as_ref());
    if let Some(tier) = offered.filter_map(|offered| offered.overloaded()).next() {
        return Some(format!(
            "the {} are offered {} % of their capacity",
            tier.tier,
            percent_digits(tier.load * 100.0)
        ));
    }
    let all = Sample::of(runs, &Group::all(), Metric::Fct);
    for (noun, sample) in [(noun_of(group), sample), ("flows", &all)] {
        let left = sample.unfinished() as f64 / sample.len().max(1) as f64;
        if left > UNFINISHED {
            let left = percent_digits(left * 100.0);
            return Some(format!("{left} % of the {noun} do not finish"));
        }
    }
    let unfinished = runs.iter().filter_map(|run| run.unfinished_bytes());
    let beyond = unfinished.map(|bytes| bytes.last - (1.0 + GROWTH_TO_WARN_OF) * bytes.middle);
    let (_, interval) = t_interval(&beyond.collect::<Vec<f64>>())?;
    let (low, _) = interval?;
    (low > 0.0).then(|| {
        let growth = GROWTH_TO_WARN_OF * 100.0;
        format!("unfinished bytes grow by more than {growth:.0} %")
    })
}
