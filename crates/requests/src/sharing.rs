//! Split of an object among the copies of its request.

use super::aggregation::Aggregation;
use super::header::ByteRange;
use super::policy::{Policy, Split};
use super::sides::Sides;
use tailcut_units::Time;

/// Split of an object among its copies. Used if the bytes of all copies count.
#[derive(Clone, Debug)]
pub(super) enum Sharing {
    Meet(Aggregation),
    Ranges(Sides),
}

impl Sharing {
    /// Creates the split of an object if the policy counts the bytes of all copies.
    pub fn new(policy: &Policy, bytes: u64, copies: u8) -> Option<Self> {
        policy.aggregates.then(|| match policy.split {
            Split::Meet => Self::Meet(Aggregation::new(bytes, copies, policy.piece)),
            Split::Ranges => Self::Ranges(Sides::new(bytes, copies, policy.piece)),
        })
    }

    /// Returns the range that a copy has to request now, if any.
    pub fn ask(&mut self, now: Time, copy: u8) -> Option<ByteRange> {
        match self {
            Self::Meet(all) => all.ask(copy),
            Self::Ranges(sides) => sides.ask(now, copy),
        }
    }

    /// Counts `bytes` more bytes of a copy. Returns how many of them are new for the object.
    pub fn arrived(&mut self, now: Time, copy: u8, bytes: u64) -> u64 {
        match self {
            Self::Meet(all) => all.arrived(copy, bytes),
            Self::Ranges(sides) => sides.arrived(now, copy, bytes),
        }
    }

    pub fn is_whole(&self) -> bool {
        match self {
            Self::Meet(all) => all.is_whole(),
            Self::Ranges(sides) => sides.is_whole(),
        }
    }
}
