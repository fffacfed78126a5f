//! Scales of plots (linear or logarithmic), and names of figures.

use crate::group::Group;
use crate::plot::{Point, Scale, Series};

/// Minimum ratio of the largest to the smallest completion time for a logarithmic axis.
pub(crate) const LOG_FROM: f64 = 10.0;

/// Minimum ratio of the largest to the smallest figure of the designs for a logarithmic axis.
/// The limit is higher than for completion times, because a visible distance from zero is meaningful.
pub(crate) const FAR_APART: f64 = 50.0;

/// Minimum ratio of the largest to the smallest value for a logarithmic axis of ratios.
/// On a logarithmic axis, a ratio and its inverse have the same distance from one.
pub(crate) const RATIO_LOG_FROM: f64 = 3.0;

/// Value of a figure, and its interval if there is one.
pub(crate) type Figure = (f64, Option<(f64, f64)>);

/// Returns the logarithmic scale if the largest value is at least `times` the smallest value.
/// Returns the linear scale if the values are closer together.
pub(crate) fn scale(series: &[Series], times: f64, value: fn(&Point) -> f64) -> Scale {
    let values = || series.iter().flat_map(|series| &series.points).map(value);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    match low > 0.0 && high >= times * low {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

pub(crate) fn group_title(group: &Group) -> &'static str {
    match group.short.as_str() {
        "mice" => "mice",
        "elephants" => "elephants",
        _ => group.noun(),
    }
}

pub(crate) fn capital(statistic: &str) -> String {
    match statistic {
        "mean" => "Mean".to_owned(),
        other => other.to_owned(),
    }
}
