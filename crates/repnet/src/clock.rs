//! The wall clock as the times of the state machines.

use std::sync::OnceLock;
use std::time::Instant;
use tailcut_units::{Duration, Time};

static START: OnceLock<Instant> = OnceLock::new();

fn start() -> Instant {
    *START.get_or_init(Instant::now)
}

/// Now, since the process first asked.
pub(crate) fn now() -> Time {
    Time::from_ns(u64::try_from(start().elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// A time as an instant of the runtime's clock.
pub(crate) fn instant(at: Time) -> tokio::time::Instant {
    // A nanosecond late, never early.
    let since = std::time::Duration::from_nanos(at.as_ns() + 1);
    tokio::time::Instant::from_std(start() + since)
}

/// A span of `std` as one of the state machines.
pub(crate) fn span(of: std::time::Duration) -> Duration {
    Duration::from_ns(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
}
