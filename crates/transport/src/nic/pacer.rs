//! The token bucket and the rate that it finds by itself (HULL paper, section 4.1).
//!
//! Every interval T_r the rate becomes (1 - eta) R + eta R_measured + beta Q, clamped: R_measured is what
//! entered over the last interval, Q what waits. In a steady state R = R_measured + (beta / eta) Q, so
//! the backlog drains without anyone telling the flow's rate.

use crate::Segment;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Rate, Time, TokenBucket};

/// Parameters of the pacer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacerConfig {
    /// T_r, the time between two updates of the rate, above 0. Default 64 us (public code, 1 Gb/s).
    pub interval: Duration,
    /// Eta, the weight of the newest measurement, above 0 to 1. Default 0.125 (public code).
    pub measurement_gain: f64,
    /// Beta, what an update adds to the rate for what waits, in Mb/s per KB of 1,024 B, at least 0.
    /// Default 16 (the paper's number and unit), 1,953 a second. Public ns-2 code has a default of 122
    /// a second, which is 1 Mb/s per KB. In a steady state the backlog drains with a time constant of
    /// eta / beta, 64 us with the defaults.
    pub backlog_gain: f64,
    /// The probability p_a with which an ACK with ECN-Echo associates its flow, 0 to 1. Default 0.125
    /// (public code).
    pub association_probability: f64,
    /// T_i, how long a flow is paced after it was last associated. Default 10 ms (public code).
    pub association_expiry: Duration,
    /// The lower bound of the rate. Default 10 Mb/s (public code).
    pub min_rate: Rate,
    /// The upper bound of the rate, at least the lower one. Default 1 Gb/s (public code: the link's).
    pub max_rate: Rate,
    /// Bytes on the wire that may leave at once after a pause; less than a packet counts as a packet.
    /// Default 3,100, two full packets (public scripts).
    pub bucket_bytes: u32,
}

impl Default for PacerConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_us(64),
            measurement_gain: 0.125,
            backlog_gain: 16.0,
            association_probability: 0.125,
            association_expiry: Duration::from_ms(10),
            min_rate: Rate::from_mbps(10),
            max_rate: Rate::from_gbps(1),
            bucket_bytes: 3_100,
        }
    }
}

impl PacerConfig {
    /// Beta in 1/s: bytes a second for each byte that waits.
    pub(crate) fn backlog_gain_per_second(&self) -> f64 {
        self.backlog_gain * 1e6 / (8.0 * 1_024.0)
    }
}

/// What is short of a token by less than this, in bytes, is not short: rates are not whole numbers.
const ROUNDING: f64 = 1e-6;

/// The pacer's queue, tokens and rate.
#[derive(Debug)]
pub(crate) struct Pacer {
    config: PacerConfig,
    /// Segments that wait with their bytes on the wire.
    queue: VecDeque<(Segment, u32)>,
    backlog_bytes: u64,
    /// Bytes that entered since the last update.
    measured_bytes: u64,
    /// Bytes a second.
    rate: f64,
    /// Bytes that may leave.
    bytes: TokenBucket,
    next_update: Time,
}

fn bytes_per_second(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 8.0
}

impl Pacer {
    pub(crate) fn new(config: PacerConfig) -> Self {
        Self {
            config,
            queue: VecDeque::new(),
            backlog_bytes: 0,
            measured_bytes: 0,
            // The link's in public scripts. Without traffic it is at the lower bound in some 35 updates.
            rate: bytes_per_second(config.max_rate),
            bytes: TokenBucket::new(f64::from(config.bucket_bytes)),
            next_update: Time::ZERO.saturating_add(config.interval),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes on the wire that wait.
    pub(crate) fn backlog_bytes(&self) -> u64 {
        self.backlog_bytes
    }

    /// Bits a second.
    pub(crate) fn rate_bps(&self) -> f64 {
        self.rate * 8.0
    }

    /// Time has come to `now`: the updates that were due, and the tokens.
    pub(crate) fn advance(&mut self, now: Time) {
        while self.next_update <= now {
            self.fill(self.next_update);
            self.update();
            let resting =
                self.queue.is_empty() && self.rate <= bytes_per_second(self.config.min_rate);
            let interval = self.config.interval;
            if resting {
                // Nothing changes until something enters: the next update is the first one after now.
                let passed = now.since(self.next_update).as_ps() / interval.as_ps();
                self.next_update = self
                    .next_update
                    .saturating_add(interval.saturating_mul(passed));
            }
            self.next_update = self.next_update.saturating_add(interval);
        }
        self.fill(now);
    }

    fn update(&mut self) {
        let config = &self.config;
        let measured = self.measured_bytes as f64 / config.interval.as_secs_f64();
        let eta = config.measurement_gain;
        let rate = (1.0 - eta) * self.rate
            + eta * measured
            + config.backlog_gain_per_second() * self.backlog_bytes as f64;
        self.rate = rate.clamp(
            bytes_per_second(config.min_rate),
            bytes_per_second(config.max_rate),
        );
        self.measured_bytes = 0;
    }

    /// Tokens that came since the last look; they do not pile up beyond the bucket.
    fn fill(&mut self, now: Time) {
        let head = self.queue.front().map_or(0, |(_, bytes)| *bytes);
        let most = f64::from(self.config.bucket_bytes.max(head));
        self.bytes.fill(now, self.rate, most);
    }

    /// A segment of `bytes` on the wire enters.
    pub(crate) fn push(&mut self, segment: Segment, bytes: u32) {
        self.measured_bytes += u64::from(bytes);
        self.backlog_bytes += u64::from(bytes);
        self.queue.push_back((segment, bytes));
    }

    /// The segment that may leave at the instant that `advance` came to.
    pub(crate) fn pop(&mut self) -> Option<Segment> {
        let (_, bytes) = self.queue.front()?;
        if self.bytes.tokens() + ROUNDING < f64::from(*bytes) {
            return None;
        }
        self.bytes.spend(f64::from(*bytes));
        self.backlog_bytes -= u64::from(*bytes);
        self.queue.pop_front().map(|(segment, _)| segment)
    }

    /// When the first segment can leave or the rate changes, if anything waits; not later than that.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let (_, bytes) = self.queue.front()?;
        let holds_at = self.bytes.holds_at(f64::from(*bytes), self.rate);
        Some(holds_at.min(self.next_update))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpHeader;
    use crate::{Condition, Ecn, Header, PathPin};
    use alloc::vec::Vec;
    use tailcut_units::{FiveTuple, FlowId};

    const SIZE: u32 = 1_000;

    fn segment() -> Segment {
        Segment {
            tuple: FiveTuple::default(),
            flow: FlowId(0),
            payload: SIZE,
            ecn: Ecn::Capable,
            priority: 0,
            path: PathPin::NONE,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header: Header::Tcp(TcpHeader::default()),
        }
    }

    fn config() -> PacerConfig {
        PacerConfig {
            // 100 a second.
            backlog_gain: 0.819_2,
            min_rate: Rate::from_mbps(1),
            max_rate: Rate::from_gbps(100),
            bucket_bytes: 1_538,
            ..PacerConfig::default()
        }
    }

    fn after(updates: u64) -> Time {
        Time::ZERO + Duration::from_us(64).saturating_mul(updates)
    }

    #[test]
    fn the_rate_converges_to_what_enters_and_the_backlog_over_eta_times_beta() {
        let config = config();
        let mut pacer = Pacer::new(config);
        for _ in 0..50 {
            pacer.push(segment(), SIZE);
        }
        // From now on one segment leaves and one enters an interval, so the backlog stays.
        for update in 1..=400 {
            pacer.advance(after(update));
            pacer.pop().expect("the rate is above what enters");
            pacer.push(segment(), SIZE);
        }
        let measured = f64::from(SIZE) / config.interval.as_secs_f64();
        let backlog = 50.0 * f64::from(SIZE);
        let steady =
            measured + config.backlog_gain_per_second() / config.measurement_gain * backlog;
        let error = (pacer.rate_bps() / 8.0 - steady).abs() / steady;
        assert!(error < 1e-9, "{error}");
    }

    #[test]
    fn without_arrivals_the_rate_follows_its_geometric_series() {
        let config = config();
        let mut pacer = Pacer::new(config);
        for _ in 0..50 {
            pacer.push(segment(), SIZE);
        }
        let backlog = 50.0 * f64::from(SIZE);
        let (eta, beta) = (config.measurement_gain, config.backlog_gain_per_second());
        let first = (1.0 - eta) * bytes_per_second(config.max_rate)
            + eta * backlog / config.interval.as_secs_f64()
            + beta * backlog;
        for update in 1..=60 {
            pacer.advance(after(update));
            let decayed = (1.0 - eta).powi(update as i32 - 1);
            let expected = decayed * first + (1.0 - decayed) * beta / eta * backlog;
            let found = pacer.rate_bps() / 8.0;
            assert!((found - expected).abs() < 1e-6 * expected, "after {update}");
        }
    }

    #[test]
    fn the_default_gain_is_sixteen_megabits_a_second_for_each_kilobyte_that_waits() {
        let config = PacerConfig {
            max_rate: Rate::from_gbps(100),
            ..PacerConfig::default()
        };
        let mut pacer = Pacer::new(config);
        assert_eq!(pacer.rate_bps(), 100e9, "it starts at the link's rate");
        pacer.advance(after(1_000));
        assert_eq!(pacer.rate_bps(), 10e6, "without traffic it goes down");
        for _ in 0..64 {
            pacer.push(segment(), SIZE);
        }
        let measured = 64.0 * 8.0 * f64::from(SIZE) / config.interval.as_secs_f64();
        let without_backlog = 0.875 * 10e6 + 0.125 * measured;
        pacer.advance(after(1_001));
        let added = (pacer.rate_bps() - without_backlog) / 1e6;
        assert!(
            (added - 16.0 * 62.5).abs() < 1e-6,
            "62.5 KB added {added} Mb/s"
        );
    }

    #[test]
    fn the_rate_stays_within_its_bounds() {
        let config = PacerConfig {
            max_rate: Rate::from_mbps(100),
            ..config()
        };
        let mut pacer = Pacer::new(config);
        for _ in 0..1_000 {
            pacer.push(segment(), SIZE);
        }
        pacer.advance(after(1));
        assert_eq!(pacer.rate_bps(), 100e6);
        while pacer.pop().is_some() {}
        pacer.queue.clear();
        pacer.backlog_bytes = 0;
        pacer.advance(after(1_000));
        assert_eq!(pacer.rate_bps(), 1e6);
    }

    #[test]
    fn segments_leave_at_the_rate_and_at_the_instant_that_was_told() {
        let config = PacerConfig {
            min_rate: Rate::from_mbps(80),
            max_rate: Rate::from_mbps(80),
            ..config()
        };
        let mut pacer = Pacer::new(config);
        for _ in 0..20 {
            pacer.push(segment(), SIZE);
        }
        let (mut now, mut left) = (Time::ZERO, Vec::new());
        while let Some(next) = pacer.next_timeout() {
            now = now.max(next);
            pacer.advance(now);
            if pacer.pop().is_some() {
                left.push(now);
            }
        }
        assert_eq!(left.len(), 20);
        // The bucket of 1,538 B lets the first go at once; then 1,000 B take 100 us at 80 Mb/s.
        for (nth, at) in left.iter().enumerate().skip(1) {
            let due = (nth as f64 * 1_000.0 - 538.0) / 10e6;
            assert!((at.as_secs_f64() - due).abs() < 1e-9, "{nth} at {at}");
        }
    }
}
