//! Receivers that slow down all others, for `--drop-after`.
//!
//! All receivers get the same symbols, so the slowest one sets the pace.
//! A receiver is dropped if the others have waited for it during more than half of the given time.
//! Without it, they would get the data at least twice as fast.
//! The time begins when a receiver waits for another one for the first time.

use std::collections::BTreeMap;
use std::time::Duration;

/// Length of a window if no receiver is dropped.
const UNLIMITED: Duration = Duration::from_secs(10);

/// Waiting times since a receiver first waited for another one.
#[derive(Debug)]
struct Window {
    began: Duration,
    /// Time for which the others have waited for each receiver.
    held: BTreeMap<usize, Duration>,
}

/// Policy that finds the receivers to drop.
#[derive(Debug)]
pub(super) struct Laggards {
    /// Time after which a slow receiver is dropped. `None`: no receiver is dropped.
    after: Option<Duration>,
    window: Option<Window>,
}

impl Laggards {
    pub(super) fn new(after: Option<Duration>) -> Self {
        let window = None;
        Self { after, window }
    }

    /// Returns the time for which the others have waited for a receiver since the waits began.
    pub(super) fn held(&self, receiver: usize) -> Duration {
        let held = self
            .window
            .as_ref()
            .and_then(|window| window.held.get(&receiver));
        held.copied().unwrap_or_default()
    }

    /// Returns the receivers to drop. `now` is the time since the begin of the transfer.
    /// `held` are the waits since the last call: receivers, each with the time for which others have waited for it.
    pub(super) fn find(
        &mut self,
        now: Duration,
        held: impl IntoIterator<Item = (usize, Duration)>,
    ) -> Vec<usize> {
        for (receiver, held) in held.into_iter().filter(|(_, held)| !held.is_zero()) {
            let window = self.window.get_or_insert_with(|| Window {
                // The wait began before this call.
                began: now.saturating_sub(held),
                held: BTreeMap::new(),
            });
            *window.held.entry(receiver).or_default() += held;
        }
        // Without a time, the window begins again from time to time, so that it shows the present waits.
        let after = self.after.unwrap_or(UNLIMITED);
        let is_over = |window: &&Window| now.saturating_sub(window.began) >= after;
        let Some(window) = self.window.as_ref().filter(is_over) else {
            return Vec::new();
        };
        let is_slow = |(_, held): &(&usize, &Duration)| **held * 2 > after;
        let slow = window.held.iter().filter(is_slow);
        let slow = slow.map(|(receiver, _)| *receiver).collect();
        // The next wait begins another time.
        self.window = None;
        match self.after {
            Some(_) => slow,
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(100);

    /// Runs the policy with waits in each tick. Returns the time and the receivers of the first drop.
    fn first_drop(
        after: u64,
        waits: impl Fn(u32) -> Vec<(usize, u64)>,
    ) -> Option<(u32, Vec<usize>)> {
        let mut laggards = Laggards::new(Some(Duration::from_secs(after)));
        (1..1_000).find_map(|tick| {
            let held = waits(tick).into_iter();
            let held = held.map(|(at, ms)| (at, Duration::from_millis(ms)));
            let found = laggards.find(TICK * tick, held);
            (!found.is_empty()).then_some((tick, found))
        })
    }

    #[test]
    fn one_of_three_with_a_twentieth_of_the_rate_is_dropped_in_time() {
        // 200, 200 and 10 Mb/s: the others wait for 95 % of the time, beginning 2 seconds after the start.
        let waits = |tick| match tick > 20 {
            true => vec![(2, 95)],
            false => Vec::new(),
        };
        assert_eq!(first_drop(3, waits), Some((51, vec![2])));
    }

    #[test]
    fn a_receiver_that_is_a_little_slower_stays() {
        assert_eq!(first_drop(3, |_| vec![(0, 10), (1, 45), (2, 20)]), None);
    }

    #[test]
    fn a_short_stall_is_forgiven() {
        // One second of each ten.
        let waits = |tick| match tick % 100 < 10 {
            true => vec![(1, 100)],
            false => Vec::new(),
        };
        assert_eq!(first_drop(3, waits), None);
        let waits = |tick| match tick % 100 < 20 {
            true => vec![(1, 100)],
            false => Vec::new(),
        };
        assert!(first_drop(3, waits).is_some(), "two of three seconds");
    }

    #[test]
    fn without_a_time_nobody_is_dropped() {
        let mut laggards = Laggards::new(None);
        let hour = Duration::from_secs(3_600);
        assert!(laggards.find(hour, [(0, hour)]).is_empty());
    }
}
