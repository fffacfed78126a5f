//! On which side of a value a figure of one design lies in one setting, and how sure that is.

use crate::estimate::{Estimate, Measured, TooFew, t_interval};
use crate::format::percent_digits;
use crate::group::Group;
use crate::headline::things_of;
use crate::knee::UNFINISHED;
use crate::load::GROWTH_TO_WARN_OF;
use crate::run::Run;
use crate::sample::{Metric, Sample, Statistic};

/// A side of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The whole interval is below the value.
    Below,
    /// The whole interval is above it, or the network does not keep up.
    Above,
    /// The interval has the value in it, or there is none yet.
    Open,
}

/// A figure beside a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// What the figure is over: `mice`, `requests`, `writes`.
    pub things: &'static str,
    /// The side on which it lies.
    pub side: Side,
    /// The figure in microseconds, with its interval; `None` without flows, or with too few.
    pub estimate: Option<Estimate>,
    /// What it takes, where there are too few flows or seeds.
    pub too_few: Option<TooFew>,
    /// Why the network does not keep up, where it does not.
    pub overload: Option<String>,
}

/// Judges on which side of `limit_us` microseconds the figure of one design's runs in one setting lies.
/// It is over what the answer of a report is about: requests, sessions of storage clients, mice, or all
/// flows where there is none of these.
///
/// The network does not keep up where links are offered more than they carry, where more than 1 % do
/// not end, or where unfinished bytes grow by more than 50 % from the middle to the last third of the
/// arrivals, with 95 % confidence over the seeds.
pub fn judge(runs: &[&Run], statistic: Statistic, limit_us: f64) -> Judged {
    let mut groups = Group::of_applications().into_iter().chain([Group::mice()]);
    let sample_of = |group: &Group| Sample::of(runs, group, Metric::Fct);
    let group = groups
        .find(|group| !sample_of(group).is_empty())
        .unwrap_or_else(Group::all);
    let seeds = runs.iter().map(|run| run.summary.key.seed).collect();
    let measured = Measured::new(sample_of(&group), seeds);
    let outcome = measured.estimate(statistic);
    let estimate = outcome.and_then(Result::ok);
    let overload = overload(runs, &group, measured.sample());
    let side = match estimate.and_then(|estimate| estimate.interval) {
        _ if overload.is_some() => Side::Above,
        Some((low, _)) if low > limit_us => Side::Above,
        Some((_, high)) if high < limit_us => Side::Below,
        _ => Side::Open,
    };
    Judged {
        things: things_of(&group),
        side,
        estimate,
        too_few: outcome.and_then(Result::err),
        overload,
    }
}

/// Why the network does not keep up; `None` where it does.
fn overload(runs: &[&Run], group: &Group, sample: &Sample) -> Option<String> {
    let offered = runs.iter().filter_map(|run| run.summary.offered.as_ref());
    if let Some(tier) = offered.filter_map(|offered| offered.overloaded()).next() {
        return Some(format!(
            "the {} are offered {} % of what they carry",
            tier.tier,
            percent_digits(tier.load * 100.0)
        ));
    }
    let all = Sample::of(runs, &Group::all(), Metric::Fct);
    for (things, sample) in [(things_of(group), sample), ("flows", &all)] {
        let left = sample.unfinished() as f64 / sample.len().max(1) as f64;
        if left > UNFINISHED {
            let left = percent_digits(left * 100.0);
            return Some(format!("{left} % of the {things} do not finish"));
        }
    }
    let unfinished = runs.iter().filter_map(|run| run.summary.unfinished_bytes);
    let beyond = unfinished.map(|bytes| bytes.last - (1.0 + GROWTH_TO_WARN_OF) * bytes.middle);
    let (_, interval) = t_interval(&beyond.collect::<Vec<f64>>())?;
    let (low, _) = interval?;
    (low > 0.0).then(|| {
        let growth = GROWTH_TO_WARN_OF * 100.0;
        format!("unfinished bytes grow by more than {growth:.0} %")
    })
}
