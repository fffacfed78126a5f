//! Limit for the rate at which an HTTP/2 client resets its requests (CVE-2023-44487).
//! Each request costs work before its reset, and the number of concurrent streams does not limit this work.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of resets that a client may send at once.
/// The client of this project replaces a connection after 500 resets.
/// At that moment, the connection may have up to 1,000 further streams.
const BURST: u64 = 2_000;
/// Number of further resets in each second.
/// A gateway that copies 500 requests a second to two guards resets 250 requests a second at each guard.
const EACH_SECOND: u64 = 1_000;
/// Time that a reset costs, in milliseconds.
const COST: u64 = 1_000 / EACH_SECOND;

/// Resets on one connection. The times are ages of the connection in milliseconds.
#[derive(Debug, Default)]
pub(super) struct ResetRate {
    /// Age of the connection at which all resets so far are paid.
    paid_at: AtomicU64,
}

impl ResetRate {
    /// Records a reset. Returns whether there are too many.
    pub fn note(&self, age: u64) -> bool {
        let cost = |paid_at: u64| Some(paid_at.max(age).saturating_add(COST));
        let before = match self.paid_at.fetch_update(Relaxed, Relaxed, cost) {
            Ok(before) | Err(before) => before,
        };
        before.saturating_sub(age) >= BURST * COST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many resets of `each_second` are allowed within 60 s.
    fn allowed(each_second: u64) -> u64 {
        let rate = ResetRate::default();
        let all = 60 * each_second;
        let is_too_many = |number: &u64| rate.note(number * 1_000 / each_second);
        (0..all).find(is_too_many).unwrap_or(all)
    }

    #[test]
    fn a_gateway_is_far_below_the_limit_and_a_flood_is_not() {
        assert_eq!(allowed(250), 60 * 250);
        assert_eq!(allowed(1_000), 60 * 1_000);
        assert!((2_000..=2_300).contains(&allowed(16_000)));
    }
}
