//! State of hedging: percentiles of recent latencies.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Duration;

/// Recent latencies of a client, stored twice: in order of arrival, and sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    window: usize,
    recent: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl Latencies {
    /// Raises the number of stored latencies to `window`, if it is smaller.
    pub fn widen(&mut self, window: u32) {
        self.window = self.window.max(window as usize);
    }

    pub fn add(&mut self, latency: Duration) {
        if self.window == 0 {
            return;
        }
        if self.recent.len() == self.window
            && let Some(oldest) = self.recent.pop_front()
        {
            let place = self.sorted.partition_point(|value| *value < oldest);
            self.sorted.remove(place);
        }
        let latency = latency.as_ps();
        self.recent.push_back(latency);
        let place = self.sorted.partition_point(|value| *value < latency);
        self.sorted.insert(place, latency);
    }

    /// Returns the percentile of the recorded latencies by nearest rank, or `None` before the first latency.
    pub fn percentile(&self, thousandths: u16) -> Option<Duration> {
        let rank = (self.sorted.len() * usize::from(thousandths)).div_ceil(1_000);
        let value = self.sorted.get(rank.max(1) - 1)?;
        Some(Duration::from_ps(*value))
    }
}
