//! State of hedging: percentiles of recent latencies, and a budget of copies.

use super::policy::BudgetConfig;
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
    pub fn over(window: u32) -> Self {
        Self {
            window: window as usize,
            ..Self::default()
        }
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

/// Token bucket for copies. Each copy costs 1,000 thousandths of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    config: BudgetConfig,
    tokens: u64,
}

impl Budget {
    /// Creates a full budget, as in gRPC.
    pub fn new(config: BudgetConfig) -> Self {
        let tokens = u64::from(config.burst) * 1_000;
        Self { config, tokens }
    }

    /// Adds the tokens that one request earns, up to the limit of the budget.
    pub fn earn(&mut self) {
        let most = u64::from(self.config.burst) * 1_000;
        self.tokens = (self.tokens + u64::from(self.config.thousandths)).min(most);
    }

    /// Takes one copy's token from the budget. Returns `false` if the budget has no whole token.
    pub fn spend(&mut self) -> bool {
        let enough = self.tokens >= 1_000;
        if enough {
            self.tokens -= 1_000;
        }
        enough
    }
}
