//! Clock of a driver.

use std::time::{Instant, SystemTime};
use tailcut_units::Time;

/// Monotonic clock of a driver.
pub trait Clock {
    /// Returns the time since a fixed moment.
    fn now(&mut self) -> Time;

    /// Converts the kernel's time stamp of a datagram to a time of this clock. The stamp is in nanoseconds since 1970.
    /// A clock that cannot convert stamps returns the current time.
    fn arrival(&mut self, stamp: u64) -> Time {
        let _ = stamp;
        self.now()
    }
}

/// Largest age of a time stamp that is used.
/// If a stamp is older, the system's clock was probably set after the kernel made the stamp.
/// With a smaller limit, the stamps of datagrams that wait for a busy thread would be ignored.
const OLDEST: std::time::Duration = std::time::Duration::from_millis(500);

/// Clock of the operating system. It starts at zero when it is created.
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
        // If the stamp is in the future, the system's clock was set back. The age is then zero.
        let age = stamp.elapsed().unwrap_or_default();
        let age = if age < OLDEST {
            age
        } else {
            std::time::Duration::ZERO
        };
        // The socket is bound before this clock begins. So a datagram may be older than the clock.
        let ns = self.began.elapsed().saturating_sub(age).as_nanos();
        Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
