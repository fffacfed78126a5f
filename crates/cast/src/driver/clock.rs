//! The clock that a driver reads.

use std::time::Instant;
use tailcut_units::Time;

/// A clock that never goes back.
pub trait Clock {
    /// The time since some moment that stays the same.
    fn now(&mut self) -> Time;
}

/// The clock on the wall, from zero on.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    began: Instant,
}

impl WallClock {
    /// One that begins now.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Clock for WallClock {
    fn now(&mut self) -> Time {
        let ns = self.began.elapsed().as_nanos();
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
