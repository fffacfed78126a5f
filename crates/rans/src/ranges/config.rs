//! How objects are downloaded from several replicas.

use std::time::Duration;

/// Use of the digests that an origin sends.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// They are not looked at.
    #[default]
    Off,
    /// Bytes are checked if the origin sends a digest.
    Offered,
    /// An object without a digest of the whole is refused.
    Required,
}

/// How a [`Ranges`](super::Ranges) works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangesConfig {
    /// Replicas that send at once, at least 1: the primary from the front, the others from the back.
    pub copies: u8,
    /// Bytes of a range, at least 1. The larger, the fewer requests; the smaller, the less is lost where a
    /// replica fails, and the sooner the sides meet. 64 pieces of an object or more are enough.
    pub piece: u64,
    /// Bytes that a body which is read in order may hold beyond what was read. One piece from the object's end
    /// comes on top of it.
    pub window: u64,
    /// Whether copies say `u=6`, so that a guard runs them behind primaries.
    pub low_priority: bool,
    /// What is done with digests.
    pub verify: Verify,
    /// A replica that has begun an answer and sends nothing for so long is given up.
    pub stall: Duration,
    /// How often a replica may fail in one download in a way that may pass (a reset, 503) before it is
    /// given up.
    pub retries: u32,
    /// The pause after the first such failure; twice as long after each further one.
    pub pause: Duration,
    /// Larger objects are refused; `None`: there is no limit.
    pub longest: Option<u64>,
}

impl Default for RangesConfig {
    fn default() -> Self {
        Self {
            copies: 2,
            piece: 1 << 20,
            window: 16 << 20,
            low_priority: true,
            verify: Verify::Off,
            stall: Duration::from_secs(5),
            retries: 3,
            pause: Duration::from_millis(100),
            longest: None,
        }
    }
}

impl RangesConfig {
    /// What is wrong with it, if anything is.
    pub const fn fault(&self) -> Option<&'static str> {
        if self.copies == 0 {
            return Some("an object needs one copy at least");
        }
        if self.piece == 0 {
            return Some("a range needs one byte at least");
        }
        if self.stall.is_zero() {
            return Some("a replica needs some time before it has stalled");
        }
        None
    }
}
