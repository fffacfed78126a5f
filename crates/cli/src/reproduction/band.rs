//! The ranges that figures of ours should stay in, each from what was published and from what is not
//! known of it, laid down before our figures were looked at.
//!
//! Hosts: a published completion time holds the sender's and the receiver's kernel and runtime, also
//! where the paper subtracts their mean; ours has none. What a design saves is saved in the network,
//! so that our change in per cent may well be twice the published one. Switches: hash, share of the
//! buffer a port and what exactly a load refers to are not published; any of them may halve a gain.
//! Samples: 200,000 flows leave some 100 mice above the 99.9th percentile, whose change is then good
//! to about ten points either way; 5 points are allowed everywhere.

/// A range, both ends included.
pub type Band = (f64, f64);

/// Of the change of a completion time, in per cent, where the paper has a gain (below zero): from
/// twice the gain to half of it, and 5 points on either side. No change is below -95 %.
pub fn of_gain(theirs: f64) -> Band {
    ((2.0 * theirs - 5.0).max(-95.0), theirs / 2.0 + 5.0)
}

/// Of a change that the paper calls a gain without a number, or more than one: any gain from 5 % on.
pub const SOME_GAIN: Band = (-95.0, -5.0);

/// Of a change where the paper sees no difference on a scale that hosts dominate: no harm, as well as
/// the 10 % that a bar chart shows can say it.
pub const NO_HARM: Band = (-95.0, 10.0);

/// Of the change of a figure of elephants that the paper calls unchanged: what curves that lie on each
/// other leave open.
pub const UNCHANGED: Band = (-5.0, 5.0);

/// Of a change that cannot be a harm where the mechanism does what it says: any gain, or none; a per cent
/// for packets, which wait for the one that is being sent.
pub const NEVER_WORSE: Band = (-100.0, 1.0);

/// Of a figure that is shown beside others and that nothing was published for.
pub const SHOWN: Option<Band> = None;
