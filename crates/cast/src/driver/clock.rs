//! The clock that a driver reads.

use std::time::{Instant, SystemTime};
use tailcut_units::Time;

/// A clock that never goes back.
pub trait Clock {
    /// The time since some moment that stays the same.
    fn now(&mut self) -> Time;

    /// When what the kernel has stamped arrived, in nanoseconds since 1970; now, where a clock cannot
    /// tell.
    fn arrival(&mut self, stamp: u64) -> Time {
        let _ = stamp;
        self.now()
    }
}

/// A stamp that is older says that one of the system's clocks was set.
const OLDEST: std::time::Duration = std::time::Duration::from_millis(500);

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

    fn arrival(&mut self, stamp: u64) -> Time {
        let stamp = SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(stamp);
        let age = stamp.elapsed().unwrap_or_default();
        let age = if age < OLDEST {
            age
        } else {
            std::time::Duration::ZERO
        };
        let ns = self.began.elapsed().saturating_sub(age).as_nanos();
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
