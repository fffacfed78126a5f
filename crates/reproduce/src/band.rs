//! Bands: a band is the range in which our value should be.
//! A band follows from the published value and the uncertainty of this value.
//! The bands were fixed before our values were known.
//!
//! Our values may differ from published values for three reasons. In addition, every band allows 5 points.
//!
//! Hosts: published completion times contain time in kernels and programs, even if a paper subtracts its mean.
//! Our times do not contain the time in kernels and programs.
//! A design only saves network time, so our change in per cent may be twice the published change.
//!
//! Switches: the hash function, each port's share of the buffer, and the exact definition of load are not published.
//! Each unknown property may halve a gain.
//!
//! Samples: 200,000 flows contain about 100 mice above the 99.9th percentile.
//! A change of this percentile is therefore accurate to about ten points in either direction.

/// Range of values that includes both ends. An infinite end means no limit on that side.
pub type Band = (f64, f64);

/// Returns the band for a gain that a paper reports: a negative change of a completion time, in per cent.
/// The band extends from twice the gain to half of the gain, plus 5 points at either end.
/// The band does not contain values below -95 %.
pub fn for_gain(published: f64) -> Band {
    ((2.0 * published - 5.0).max(-95.0), published / 2.0 + 5.0)
}

/// Returns the band for a change of a completion time in per cent that was computed from public raw data.
/// For a gain, the band is the same as in [`for_gain`], because the reasons in the module's text also apply.
/// For a loss, the band extends from half of the loss to twice the loss, plus 5 points at either end.
pub fn for_change(published: f64) -> Band {
    match published > 0.0 {
        true => (published / 2.0 - 5.0, 2.0 * published + 5.0),
        false => for_gain(published),
    }
}

/// Returns the band of all values of at least `least`.
pub const fn from(least: f64) -> Band {
    (least, f64::INFINITY)
}

/// Returns the band of all values of at most `most`.
pub const fn up_to(most: f64) -> Band {
    (f64::NEG_INFINITY, most)
}

/// Band for a gain for which the paper gives no single number: any gain of at least 5 %.
pub const SOME_GAIN: Band = up_to(-5.0);

/// Band for a change if a bar chart of the paper shows no difference.
/// Most of the time in a bar without difference is time of the hosts, so an increase of at most 10 % is not visible.
pub const NO_HARM: Band = up_to(10.0);

/// Band for a value of elephants that the paper calls unchanged.
/// The width of this band is the width of the overlapping curves in the paper.
pub const UNCHANGED: Band = (-5.0, 5.0);

/// Band for a change that is never a loss if the mechanism works as described.
/// The band allows 1 %, because a packet may have to wait until the port has sent a packet with lower priority.
pub const NEVER_WORSE: Band = up_to(1.0);

/// No band: the row shows our value, but the check ignores it.
pub const NO_BAND: Option<Band> = None;

/// Band for a change if the paper only states that the value is larger. A difference of at most 5 % counts as equal.
pub const NOT_LESS: Band = from(-5.0);

/// Band for a change if the paper only states that the value is smaller. A difference of at most 5 % counts as equal.
pub const NOT_MORE: Band = up_to(5.0);
