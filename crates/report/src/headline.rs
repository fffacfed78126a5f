//! Subject of the answer: its group of flows and its statistic.

use crate::analysis::Analysis;
use crate::group::Group;
use crate::sample::{Metric, Statistic};

/// Returns the group of flows that the answer describes.
pub(crate) fn headline_group(analysis: &Analysis, setting: usize) -> Group {
    let mut groups = Group::of_applications().into_iter().chain([Group::mice()]);
    let here = |group: &Group| analysis.rows(setting, group).next().is_some();
    groups.find(here).unwrap_or_else(Group::all)
}

/// Returns the noun for the members of a group in a sentence.
pub(crate) fn noun_of(group: &Group) -> &'static str {
    match group.short.as_str() {
        "mice" => "mice",
        _ => group.noun(),
    }
}

/// Returns the statistic of the answer: the 99th percentile, if a setting of the sweep has enough flows for it.
/// If no setting has enough flows for a 99th percentile, returns the mean.
pub(crate) fn answer_statistic(analysis: &Analysis, headline: usize) -> Statistic {
    let group = headline_group(analysis, headline);
    let is_known = |setting: usize| {
        let mut rows = analysis.rows(setting, &group);
        rows.any(|row| row.estimate(Metric::Fct, Statistic::P99).is_some())
    };
    match analysis.sweep(headline).into_iter().any(is_known) {
        true => Statistic::P99,
        false => Statistic::Mean,
    }
}
