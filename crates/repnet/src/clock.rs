//! Conversion of the wall clock to the times of the state machines.

use std::sync::OnceLock;
use std::time::Instant;
use tailcut_units::{Duration, Time};

static START: OnceLock<Instant> = OnceLock::new();

fn start() -> Instant {
    *START.get_or_init(Instant::now)
}

/// Returns the time since the first call in this process.
pub(crate) fn now() -> Time {
    Time::from_ns(u64::try_from(start().elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Converts a time to an instant of the runtime's clock.
pub(crate) fn instant(at: Time) -> tokio::time::Instant {
    // `as_ns` rounds down, so one nanosecond is added. Otherwise a timer could expire too early.
    let since = std::time::Duration::from_nanos(at.as_ns() + 1);
    tokio::time::Instant::from_std(start() + since)
}

/// Converts a duration of `std` to a duration of the state machines.
pub(crate) fn span(of: std::time::Duration) -> Duration {
    Duration::from_ns(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
}
