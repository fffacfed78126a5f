//! The ranges that figures of ours should stay in, each from what was published and from what is not
//! known of it, laid down before our figures were looked at.
//!
//! Hosts: a published completion time holds the sender's and the receiver's kernel and runtime, also
//! where the paper subtracts their mean; ours has none. What a design saves is saved in the network,
//! so that our change in per cent may well be twice the published one. Switches: hash, share of the
//! buffer a port and what exactly a load refers to are not published; any of them may halve a gain.
//! Samples: 200,000 flows leave some 100 mice above the 99.9th percentile, whose change is then good
//! to about ten points either way; 5 points are allowed everywhere.

/// A range, both ends included; open to a side where its end there is infinite.
pub type Band = (f64, f64);

/// Of the change of a completion time, in per cent, where the paper has a gain (below zero): from
/// twice the gain to half of it, and 5 points on either side. No change is below -95 %.
pub fn of_gain(theirs: f64) -> Band {
    ((2.0 * theirs - 5.0).max(-95.0), theirs / 2.0 + 5.0)
}

/// Of the change of a completion time, in per cent, where public raw data have it: for a gain as
/// [`of_gain`], for a loss from half of it to twice it, and 5 points on either side. Raw data say what
/// the gain was, not what it hangs on.
pub fn of_change(theirs: f64) -> Band {
    match theirs > 0.0 {
        true => (theirs / 2.0 - 5.0, 2.0 * theirs + 5.0),
        false => of_gain(theirs),
    }
}

/// Of a figure beyond a number, which it may be as far as it likes.
pub const fn from(least: f64) -> Band {
    (least, f64::INFINITY)
}

/// Of a figure below a number, which it may be as far as it likes.
pub const fn up_to(most: f64) -> Band {
    (f64::NEG_INFINITY, most)
}

/// Of a change that the paper calls a gain without a number, or more than one: any gain from 5 % on.
pub const SOME_GAIN: Band = up_to(-5.0);

/// Of a change where the paper sees no difference on a scale that hosts dominate: no harm, as well as
/// the 10 % that a bar chart shows can say it.
pub const NO_HARM: Band = up_to(10.0);

/// Of the change of a figure of elephants that the paper calls unchanged: what curves that lie on each
/// other leave open.
pub const UNCHANGED: Band = (-5.0, 5.0);

/// Of a change that cannot be a harm where the mechanism does what it says: any gain, or none; a per cent
/// for packets, which wait for the one that is being sent.
pub const NEVER_WORSE: Band = up_to(1.0);

/// Of a figure that is shown beside others and that nothing was published for.
pub const SHOWN: Option<Band> = None;
