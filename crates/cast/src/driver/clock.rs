//! Clock of a driver.

use std::time::{Instant, SystemTime};
use tailcut_units::Time;

/// Monotonic clock of a driver.
pub trait Clock {
    /// Returns the time since a fixed moment.
    fn now(&mut self) -> Time;

    /// Converts the kernel's time stamp of a datagram, in nanoseconds since 1970, to this clock.
    /// Returns the current time if the clock cannot convert time stamps.
    fn arrival(&mut self, stamp: u64) -> Time {
        let _ = stamp;
        self.now()
    }
}

/// Largest age of a time stamp that is used. A larger age means that the system's clock was set after the
/// kernel made the time stamp. With a smaller limit, datagrams that wait for a busy thread would lose their
/// correct time stamps.
const OLDEST: std::time::Duration = std::time::Duration::from_millis(500);

/// Clock of the operating system, from zero at its creation.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    began: Instant,
}

impl WallClock {
    /// Creates a clock that starts at zero.
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
        // A stamp in the future means that the clock was set back. The age is zero then.
        let age = stamp.elapsed().unwrap_or_default();
        let age = if age < OLDEST {
            age
        } else {
            std::time::Duration::ZERO
        };
        // The socket is bound before the clock begins, so a datagram may be older than the clock.
        let ns = self.began.elapsed().saturating_sub(age).as_nanos();
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
