//! Bands: the ranges in which our values should be. Each band follows from the published value and from its
//! uncertainty. The bands were fixed before our values were known.
//!
//! There are three reasons for differences. All bands also allow 5 points.
//!
//! Hosts: a published completion time contains the time in the kernel and the program of sender and receiver. This is
//! true even if the paper subtracts the mean of this time. Our times do not contain it. A design saves time only in
//! the network, so our change in per cent may be twice the published change.
//!
//! Switches: the hash function, each port's share of the buffer, and the exact definition of load are not published.
//! Each of them may halve a gain.
//!
//! Samples: of 200,000 flows, about 100 mice are above the 99.9th percentile. So the change of this percentile is
//! accurate to about ten points in either direction.

/// Range that includes both ends. An infinite end means no limit on that side.
pub type Band = (f64, f64);

/// Returns the band for a change of a completion time in per cent, if the paper reports a gain (a negative change). The
/// band extends from twice the gain to half of it, plus 5 points at either end. It does not contain values below -95 %.
pub fn for_gain(published: f64) -> Band {
    ((2.0 * published - 5.0).max(-95.0), published / 2.0 + 5.0)
}

/// Returns the band for a change of a completion time in per cent, if the change is from public raw data. For a gain,
/// the band is the same as in [`for_gain`], because the three reasons also apply to raw data. For a loss, the band
/// extends from half of the loss to twice the loss, plus 5 points at either end.
pub fn for_change(published: f64) -> Band {
    match published > 0.0 {
        true => (published / 2.0 - 5.0, 2.0 * published + 5.0),
        false => for_gain(published),
    }
}

/// Returns the band above a number, without an upper limit.
pub const fn from(least: f64) -> Band {
    (least, f64::INFINITY)
}

/// Returns the band below a number, without a lower limit.
pub const fn up_to(most: f64) -> Band {
    (f64::NEG_INFINITY, most)
}

/// Band for a change that the paper calls a gain without a single number: any gain of at least 5 %.
pub const SOME_GAIN: Band = up_to(-5.0);

/// Band for a change, if the paper sees no difference in a bar chart, in which most of the time is time of the hosts.
/// It allows an increase of at most 10 %, because a smaller increase is not visible in such a chart.
pub const NO_HARM: Band = up_to(10.0);

/// Band for the change of a value of elephants that the paper calls unchanged. The curves in the paper overlap. Their
/// width is the width of this band.
pub const UNCHANGED: Band = (-5.0, 5.0);

/// Band for a change that is never a loss if the mechanism works as described. It allows 1 %, because a packet may have
/// to wait for a packet with a lower priority that the port is already sending.
pub const NEVER_WORSE: Band = up_to(1.0);

/// No band: the row shows our value without a check.
pub const NO_BAND: Option<Band> = None;

/// Band of a change, if the paper says without a number that the value is larger. A difference of at most 5 % counts as
/// equal.
pub const NOT_LESS: Band = from(-5.0);

/// Band of a change, if the paper says without a number that the value is smaller. A difference of at most 5 % counts
/// as equal.
pub const NOT_MORE: Band = up_to(5.0);
