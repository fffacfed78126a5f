//! The clock on the wall, and the network's, which may go slower.

use std::time::{Duration as Span, Instant};
use tailcut_units::{Duration, Time};

/// A network's clock. It began at zero, and goes a whole number of times slower than the wall's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    slowdown: u32,
}

impl Clock {
    /// One that begins now.
    pub fn begin(slowdown: u32) -> Self {
        Self {
            began: Instant::now(),
            slowdown: slowdown.max(1),
        }
    }

    /// The network's time.
    pub fn now(&self) -> Time {
        let wall_ps = self.began.elapsed().as_nanos() * 1_000;
        let network_ps = wall_ps / u128::from(self.slowdown);
        Time::from_ps(u64::try_from(network_ps).unwrap_or(u64::MAX))
    }

    /// How long to sleep so as to be awake `early` before `until`, by the wall's clock; `None` for ever.
    pub fn sleep(&self, until: Time, early: Duration) -> Option<Span> {
        if until == Time::MAX {
            return None;
        }
        let left = until.since(self.now()).saturating_mul(self.slowdown.into());
        Some(Span::from_nanos(left.saturating_sub(early).as_ns()))
    }

    /// How long it has been, by the wall's clock.
    pub fn elapsed(&self) -> Span {
        self.began.elapsed()
    }
}
