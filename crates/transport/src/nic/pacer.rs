//! Token bucket of the pacer, and its adaptive rate (HULL paper, section 4.1).
//!
//! In every interval T_r the rate R becomes (1 - eta) R + eta R_measured + beta Q, within its bounds.
//! R_measured is the rate at which bytes entered during the last interval, and Q is the backlog.
//! In a steady state R = R_measured + (beta / eta) Q. So the backlog drains although the rate of the flow is unknown.

use crate::Segment;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Rate, Time, TokenBucket};

/// Parameters of the pacer.
/// If a parameter is `None`, its value follows the rate of the link, even if the rate changes during a run.
///
/// T_r, beta and T_i have two sources: public code at 1 Gb/s, and public scripts at 10 Gb/s.
/// Up to 1 Gb/s the values for 1 Gb/s apply.
/// Between the two rates, beta is interpolated, and so are the bytes that a link transfers in T_r and T_i.
/// Above 10 Gb/s, beta and the numbers of bytes for T_r and T_i are constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacerConfig {
    /// T_r: time between two updates of the rate, more than 0.
    /// `None` at 1 Gb/s: 64 us, the time of 8,000 B (public code).
    /// `None` at 10 Gb/s: 7.2 us, the time of 9,000 B (public scripts).
    pub interval: Option<Duration>,
    /// Eta: weight of the newest measurement, more than 0, at most 1. Default 0.125 (public code).
    pub measurement_gain: f64,
    /// Beta: rate that an update adds for the backlog, in Mb/s per KB of 1,024 B, at least 0.
    /// `None` at 1 Gb/s: 16, which is 1,953 per second (as in the paper).
    /// `None` at 10 Gb/s: 3,000 per second (public scripts, with 1/s as the unit).
    /// The public ns-2 code has a default of 122 per second, which is 1 Mb/s per KB.
    /// In a steady state the backlog drains with the time constant eta / beta: 64 us at 1 Gb/s and 42 us at 10 Gb/s.
    pub backlog_gain: Option<f64>,
    /// Probability p_a with which an ACK with ECN-Echo associates its flow, 0 to 1. Default 0.125 (public code).
    pub association_probability: f64,
    /// T_i: time for which a flow is paced after its last association.
    /// `None`: the time of 1.25 MB, which is 10 ms at 1 Gb/s (public code) and 1 ms at 10 Gb/s (public scripts).
    pub association_expiry: Option<Duration>,
    /// Lower bound of the rate. `None`: a hundredth of the rate of the link (public code: 10 Mb/s at 1 Gb/s).
    pub min_rate: Option<Rate>,
    /// Upper bound of the rate, at least the lower bound. `None`: the rate of the link (public code).
    pub max_rate: Option<Rate>,
    /// Bytes on the wire that may leave together after a pause. The bucket always has space for one packet.
    /// Default 3,100, two full packets (public scripts).
    pub bucket_bytes: u32,
}

impl Default for PacerConfig {
    fn default() -> Self {
        Self {
            interval: None,
            measurement_gain: 0.125,
            backlog_gain: None,
            association_probability: 0.125,
            association_expiry: None,
            min_rate: None,
            max_rate: None,
            bucket_bytes: 3_100,
        }
    }
}

/// Rates of the links for which the sources give parameters of the pacer.
const SOURCES: [Rate; 2] = [Rate::from_gbps(1), Rate::from_gbps(10)];
/// Bytes that a link transfers in T_r, at the rates of `SOURCES`.
const INTERVAL_BYTES: [f64; 2] = [8_000.0, 9_000.0];
/// Beta in 1/s, at the rates of `SOURCES`.
const BACKLOG_GAINS: [f64; 2] = [16.0 * GAIN_UNIT, 3_000.0];
/// Bytes that a link transfers in T_i.
const EXPIRY_BYTES: u64 = 1_250_000;
/// The unit of the paper (Mb/s per KB of 1,024 B), converted to 1/s.
const GAIN_UNIT: f64 = 1e6 / (8.0 * 1_024.0);

/// Returns the value for the link rate `line`, interpolated between `values` at the rates of `SOURCES`.
fn between(values: [f64; 2], line: Rate) -> f64 {
    let [from, to] = SOURCES.map(|rate| rate.as_bps() as f64);
    let share = ((line.as_bps() as f64 - from) / (to - from)).clamp(0.0, 1.0);
    values[0] + (values[1] - values[0]) * share
}

/// Parameters of the pacer that may follow the rate of the link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pace {
    pub(crate) interval: Duration,
    /// Beta in 1/s: bytes per second for each byte of backlog.
    pub(crate) backlog_gain: f64,
    pub(crate) expiry: Duration,
    pub(crate) min_rate: Rate,
    pub(crate) max_rate: Rate,
}

impl PacerConfig {
    /// Returns the parameters for a link with the rate `line`.
    pub(crate) fn at(&self, line: Rate) -> Pace {
        // Up to the lower rate of the sources, the times for the lower rate apply.
        let known = line.max(SOURCES[0]);
        let interval = || known.serialisation(between(INTERVAL_BYTES, line) as u64);
        let gain = self.backlog_gain.map(|gain| gain * GAIN_UNIT);
        // A hundredth of a very low rate is 0, which is no rate.
        let hundredth = Rate::from_bps(line.as_bps() / 100).unwrap_or(line);
        Pace {
            interval: self.interval.unwrap_or_else(interval),
            backlog_gain: gain.unwrap_or_else(|| between(BACKLOG_GAINS, line)),
            expiry: self
                .association_expiry
                .unwrap_or_else(|| known.serialisation(EXPIRY_BYTES)),
            min_rate: self.min_rate.unwrap_or(hundredth),
            max_rate: self.max_rate.unwrap_or(line),
        }
    }
}

/// Tolerance in bytes when tokens are compared with a segment, because rates are not whole numbers.
const ROUNDING: f64 = 1e-6;

/// Queue, tokens and rate of the pacer.
#[derive(Debug)]
pub(crate) struct Pacer {
    config: PacerConfig,
    pace: Pace,
    /// Waiting segments, with their bytes on the wire.
    queue: VecDeque<(Segment, u32)>,
    backlog_bytes: u64,
    /// Number of bytes that entered since the last update.
    measured_bytes: u64,
    /// Rate in bytes per second.
    rate: f64,
    /// Tokens: number of bytes that may leave.
    bytes: TokenBucket,
    next_update: Time,
}

fn bytes_per_second(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 8.0
}

impl Pacer {
    pub(crate) fn new(config: PacerConfig, line: Rate) -> Self {
        let pace = config.at(line);
        Self {
            config,
            pace,
            queue: VecDeque::new(),
            backlog_bytes: 0,
            measured_bytes: 0,
            // The initial rate is the rate of the link, as in public scripts.
            // Without traffic, the rate falls to the lower bound in about 35 updates.
            rate: bytes_per_second(pace.max_rate),
            bytes: TokenBucket::new(f64::from(config.bucket_bytes)),
            next_update: Time::ZERO.saturating_add(pace.interval),
        }
    }

    /// Changes the rate of the link at `now`. The time until the next update counts from the last update.
    pub(crate) fn set_line_rate(&mut self, now: Time, line: Rate) {
        self.advance(now);
        let before = core::mem::replace(&mut self.pace, self.config.at(line));
        let pace = self.pace;
        let updated_ps = self
            .next_update
            .as_ps()
            .saturating_sub(before.interval.as_ps());
        let next = Time::from_ps(updated_ps).saturating_add(pace.interval);
        self.next_update = next.max(now);
        self.set_rate(self.rate);
    }

    /// Sets the rate in bytes per second, within its bounds.
    fn set_rate(&mut self, rate: f64) {
        let [least, most] = [self.pace.min_rate, self.pace.max_rate].map(bytes_per_second);
        // The user's lower bound applies even if the link has become slower than the bound.
        self.rate = rate.min(most).max(least);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the backlog in bytes on the wire.
    pub(crate) fn backlog_bytes(&self) -> u64 {
        self.backlog_bytes
    }

    /// Returns the rate in bits per second.
    pub(crate) fn rate_bps(&self) -> f64 {
        self.rate * 8.0
    }

    /// Advances the pacer to `now`: runs the updates that are due, and adds tokens.
    pub(crate) fn advance(&mut self, now: Time) {
        while self.next_update <= now {
            // Tokens up to this update are added at the old rate.
            self.fill(self.next_update);
            self.update();
            let resting =
                self.queue.is_empty() && self.rate <= bytes_per_second(self.pace.min_rate);
            let interval = self.pace.interval;
            if resting {
                // Without a backlog nothing changes until a segment enters, so the updates before `now` are skipped.
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
        let pace = &self.pace;
        let measured = self.measured_bytes as f64 / pace.interval.as_secs_f64();
        let eta = self.config.measurement_gain;
        let rate = (1.0 - eta) * self.rate
            + eta * measured
            + pace.backlog_gain * self.backlog_bytes as f64;
        self.set_rate(rate);
        self.measured_bytes = 0;
    }

    /// Adds the tokens for the time since the last call, up to the size of the bucket.
    fn fill(&mut self, now: Time) {
        let head = self.queue.front().map_or(0, |(_, bytes)| *bytes);
        // A packet larger than the bucket would never leave, so the bucket has space for at least the first packet.
        let most = f64::from(self.config.bucket_bytes.max(head));
        self.bytes.fill(now, self.rate, most);
    }

    /// Adds a segment that has `bytes` on the wire.
    pub(crate) fn push(&mut self, segment: Segment, bytes: u32) {
        self.measured_bytes += u64::from(bytes);
        self.backlog_bytes += u64::from(bytes);
        self.queue.push_back((segment, bytes));
    }

    /// Returns the segment that may leave now, if any. `advance` must be called first.
    pub(crate) fn pop(&mut self) -> Option<Segment> {
        let (_, bytes) = self.queue.front()?;
        if self.bytes.tokens() + ROUNDING < f64::from(*bytes) {
            return None;
        }
        self.bytes.spend(f64::from(*bytes));
        self.backlog_bytes -= u64::from(*bytes);
        self.queue.pop_front().map(|(segment, _)| segment)
    }

    /// Returns the time at which the first segment can leave or the rate changes. Returns `None` if the queue is empty.
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
    const LINE: Rate = Rate::from_gbps(1);

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
            // Equals a gain of 100 per second.
            backlog_gain: Some(0.819_2),
            min_rate: Some(Rate::from_mbps(1)),
            max_rate: Some(Rate::from_gbps(100)),
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
        let mut pacer = Pacer::new(config, LINE);
        let pace = config.at(LINE);
        for _ in 0..50 {
            pacer.push(segment(), SIZE);
        }
        // In each interval, one segment leaves and another enters, so the backlog does not change.
        for update in 1..=400 {
            pacer.advance(after(update));
            pacer.pop().expect("the pacer is faster than the arrivals");
            pacer.push(segment(), SIZE);
        }
        let measured = f64::from(SIZE) / pace.interval.as_secs_f64();
        let backlog = 50.0 * f64::from(SIZE);
        let steady = measured + pace.backlog_gain / config.measurement_gain * backlog;
        let error = (pacer.rate_bps() / 8.0 - steady).abs() / steady;
        assert!(error < 1e-9, "{error}");
    }

    #[test]
    fn without_arrivals_the_rate_follows_its_geometric_series() {
        let config = config();
        let mut pacer = Pacer::new(config, LINE);
        let pace = config.at(LINE);
        for _ in 0..50 {
            pacer.push(segment(), SIZE);
        }
        let backlog = 50.0 * f64::from(SIZE);
        let (eta, beta) = (config.measurement_gain, pace.backlog_gain);
        let first = (1.0 - eta) * bytes_per_second(pace.max_rate)
            + eta * backlog / pace.interval.as_secs_f64()
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
            max_rate: Some(Rate::from_gbps(100)),
            ..PacerConfig::default()
        };
        let mut pacer = Pacer::new(config, LINE);
        assert_eq!(
            pacer.rate_bps(),
            100e9,
            "the pacer starts at the link's rate"
        );
        pacer.advance(after(1_000));
        assert_eq!(pacer.rate_bps(), 10e6, "without traffic the rate falls");
        for _ in 0..64 {
            pacer.push(segment(), SIZE);
        }
        let measured = 64.0 * 8.0 * f64::from(SIZE) / config.at(LINE).interval.as_secs_f64();
        let without_backlog = 0.875 * 10e6 + 0.125 * measured;
        pacer.advance(after(1_001));
        let added = (pacer.rate_bps() - without_backlog) / 1e6;
        assert!(
            (added - 16.0 * 62.5).abs() < 1e-6,
            "a backlog of 62.5 KB added {added} Mb/s to the rate"
        );
    }

    #[test]
    fn the_parameters_have_the_values_of_the_sources_at_their_rates() {
        let at = |gbps| PacerConfig::default().at(Rate::from_gbps(gbps));
        let (one, ten) = (at(1), at(10));
        assert_eq!(one.interval, Duration::from_us(64));
        assert_eq!(ten.interval, Duration::from_ns(7_200));
        assert_eq!([one.backlog_gain, ten.backlog_gain], [1_953.125, 3_000.0]);
        let expiries = [one.expiry, ten.expiry];
        assert_eq!(expiries, [Duration::from_ms(10), Duration::from_ms(1)]);
        assert_eq!(one.min_rate, Rate::from_mbps(10));
        assert_eq!(ten.max_rate, Rate::from_gbps(10));
        let slower = PacerConfig::default().at(Rate::from_mbps(100));
        assert_eq!(slower.interval, one.interval);
    }

    #[test]
    fn a_link_that_changes_before_the_first_segment_leaves_the_pacer_of_the_new_rate() {
        let (fast, slow) = (Rate::from_gbps(10), Rate::from_gbps(5));
        let mut changed = Pacer::new(PacerConfig::default(), fast);
        changed.set_line_rate(Time::ZERO, slow);
        let native = Pacer::new(PacerConfig::default(), slow);
        assert_eq!(changed.rate_bps(), native.rate_bps());
        assert_eq!(changed.next_update, native.next_update);
        assert_eq!(changed.pace, native.pace);
    }

    #[test]
    fn the_rate_stays_within_its_bounds() {
        let config = PacerConfig {
            max_rate: Some(Rate::from_mbps(100)),
            ..config()
        };
        let mut pacer = Pacer::new(config, LINE);
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
            min_rate: Some(Rate::from_mbps(80)),
            max_rate: Some(Rate::from_mbps(80)),
            ..config()
        };
        let mut pacer = Pacer::new(config, LINE);
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
        // With the bucket of 1,538 B, the first segment leaves immediately.
        // Each further segment of 1,000 B takes 100 us at 80 Mb/s.
        for (nth, at) in left.iter().enumerate().skip(1) {
            let due = (nth as f64 * 1_000.0 - 538.0) / 10e6;
            assert!((at.as_secs_f64() - due).abs() < 1e-9, "{nth} at {at}");
        }
    }
}
