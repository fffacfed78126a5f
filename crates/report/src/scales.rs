//! When an axis is logarithmic, and what figures are called.

use crate::group::Group;
use crate::plot::{Point, Scale, Series};

/// A range of completion times from which on their axis is logarithmic.
pub(crate) const LOG_FROM: f64 = 10.0;

/// The same for figures by design, whose distance from zero tells something while it can be seen.
pub(crate) const FAR_APART: f64 = 50.0;

/// The same for ratios, which a logarithmic axis shows alike on both sides of one.
pub(crate) const RATIO_LOG_FROM: f64 = 3.0;

/// A value and its interval.
pub(crate) type Figure = (f64, Option<(f64, f64)>);

/// Logarithmic where the largest value is `times` the least or more.
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
        _ => group.things(),
    }
}

pub(crate) fn capital(statistic: &str) -> String {
    match statistic {
        "mean" => "Mean".to_owned(),
        other => other.to_owned(),
    }
}
