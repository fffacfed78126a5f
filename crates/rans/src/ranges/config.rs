//! Configuration of downloads from several replicas.

use std::time::Duration;

/// Way in which the digests of an origin are used.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// Digests are ignored.
    #[default]
    Off,
    /// Bytes are checked if the origin sends a digest for them.
    Offered,
    /// Bytes are checked. An object without a digest of the whole object is refused.
    Required,
}

/// Configuration of a [`Ranges`](super::Ranges).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangesConfig {
    /// Number of replicas that send at the same time, at least 1.
    /// The primary sends from the front, and all others send from the back.
    pub copies: u8,
    /// Size of a range in bytes, at least 1. With larger ranges, fewer requests are needed.
    /// With smaller ranges, the failure of a replica costs less, and the two sides meet earlier.
    /// Ranges that are a sixty-fourth of the object are small enough.
    pub piece: u64,
    /// Largest number of bytes that are stored ahead of a body's reader.
    /// In addition, one piece of the object's end is stored.
    pub window: u64,
    /// Whether copies have the priority `u=6`, so that a guard runs them behind primaries.
    pub low_priority: bool,
    /// Way in which digests are used.
    pub verify: Verify,
    /// Longest time for which a replica may send nothing after its answer has begun. Then the replica is given up.
    pub stall: Duration,
    /// Number of temporary failures in a row that a replica may have, such as a reset or a 503.
    /// After one more failure, the replica is given up.
    pub retries: u32,
    /// Pause of a replica after its first temporary failure. Each further failure in a row doubles the pause.
    pub pause: Duration,
    /// Size limit in bytes. Larger objects are refused. `None`: no limit.
    pub longest: Option<u64>,
}

impl Default for RangesConfig {
    fn default() -> Self {
        Self {
            copies: 2,
            piece: 1 << 20,
            // This is 16 pieces. Copies can work at the back of the window while the reader takes bytes from its front.
            window: 16 << 20,
            low_priority: true,
            verify: Verify::Off,
            // With a shorter time, a busy replica would be given up.
            // With a longer time, the reader would wait longer for the bytes of a replica that hangs.
            stall: Duration::from_secs(5),
            // Together, the three pauses last 0.7 s. A replica that fails for less time is not given up.
            retries: 3,
            pause: Duration::from_millis(100),
            longest: None,
        }
    }
}

impl RangesConfig {
    /// Returns the fault of the configuration, if it has one.
    pub const fn fault(&self) -> Option<&'static str> {
        if self.copies == 0 {
            return Some("the number of copies must be at least 1");
        }
        if self.piece == 0 {
            return Some("the size of a range must be at least 1 byte");
        }
        if self.stall.is_zero() {
            return Some("the stall time must be longer than 0");
        }
        None
    }
}
