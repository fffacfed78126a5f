//! Clock of the network, which may run slower than the wall clock.

use std::time::{Duration as Span, Instant};
use tailcut_units::{Duration, Time};

/// Clock of a network. It starts at zero, and runs slower than the wall clock by a whole factor.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    slowdown: u32,
}

impl Clock {
    /// Starts a clock. `slowdown` is the factor, at least 1.
    pub fn begin(slowdown: u32) -> Self {
        Self {
            began: Instant::now(),
            slowdown: slowdown.max(1),
        }
    }

    /// Returns the time since the start on the clock of the network.
    pub fn now(&self) -> Time {
        let wall_ps = self.began.elapsed().as_nanos() * 1_000;
        let network_ps = wall_ps / u128::from(self.slowdown);
        Time::from_ps(u64::try_from(network_ps).unwrap_or(u64::MAX))
    }

    /// Returns the wall-clock time that a thread must sleep to wake up `early` before `until`.
    /// Returns `None` if `until` is [`Time::MAX`]: the thread may sleep without limit.
    pub fn sleep(&self, until: Time, early: Duration) -> Option<Span> {
        if until == Time::MAX {
            return None;
        }
        let left = until.since(self.now()).saturating_mul(self.slowdown.into());
        Some(Span::from_nanos(left.saturating_sub(early).as_ns()))
    }

    /// Returns the wall-clock time since the start.
    pub fn elapsed(&self) -> Span {
        self.began.elapsed()
    }
}
