//! Congestion control of one sender on networks that do not trim. The window is the number of its symbols in flight.
//! The window grows as in CUBIC (RFC 9438).
//! After a loss, the window shrinks in proportion to the queue, so that the path stays full.
//!
//! - The queue is the one-way delay above the minimum of the last minute.
//!   The controller uses the minimum delay of the latest symbols: between half a window and one window.
//!   In slow start on paced paths, it uses fewer symbols: between an eighth and a quarter of a window.
//!   With the minimum of several delays, a delay in a host or a single burst does not count as a queue.
//!   The clocks of two hosts may drift apart by several milliseconds per minute.
//!   To correct the drift, the queue is at most the round trip minus the smallest round trip.
//! - The part of the window that fills the path is `empty / (empty + queue)`.
//!   A loss reduces the window to this part, but not below 0.3. `empty` is the round trip without queues.
//!   A random loss without a queue therefore costs nothing, and a full queue drains.
//!   A loss does not change the window if the queue is below an eighth of the round trip without queues.
//!   On paced paths this limit may be higher: up to 500 us, and up to a quarter of the round trip without queues.
//! - After a small reduction the window grows slowly.
//!   So the average window at a given loss rate is the same as in CUBIC ([`Cubic::on_congestion`]).
//! - If there is no queue, a limit applies to the fraction of lost symbols ([`CreditConfig::loss_by_chance`]).
//!   Losses below the limit count as chance. Losses above the limit reduce the window to 0.7.
//!   Exception: the smallest window has about the same fraction of lost symbols, and almost no symbol waits in a queue.
//!   If the window is at its smallest in spite of the losses, the losses still count as chance.
//!   After losses by chance the window grows again, and shrinks only above twice the measured fraction of lost symbols.
//! - An ECN mark, or a trimmed symbol, reduces the window to 0.8.
//! - The window shrinks at most once per round trip.
//! - Slow start ends when the queue is half of the round trip without queues.
//! - If the round trip is at least 1 ms, credits are paced.
//!   The pace is 2 windows per round trip in slow start, and 1.25 windows after slow start.
//!   Without pacing, a window would arrive as one burst, followed by an idle time.
//!   The queue that this burst causes would not be the queue of the path.
//!
//! `docs/decisions/0007-a-loss-closes-as-far-as-the-path-stays-full.md` contains the reasons.

use super::config::{CreditConfig, LEAST};
use crate::scdp::common::limits::MAX_WINDOW;
use crate::tcp::congestion::{Ack, Congested, CongestionControl, Cubic, Window};
use crate::tcp::rtt::RttEstimator;
use tailcut_units::{Duration, Time};

/// Part of the window that remains after too many losses without a queue (RFC 9438, section 4.6).
const KEPT_ON_LOSS: f64 = 0.7;
/// Span of the queue measurement in slow start: a window divided by this number.
/// The measured queue is the minimum over the last one to two spans.
/// In slow start the window doubles in each round trip, so a late measurement would allow a far too large window.
const PART_IN_SLOW_START: u32 = 8;
/// Span of the queue measurement after slow start: a window divided by this number.
// In a shorter span, bursts and delays of hosts would count as a queue (docs/decisions/0009).
const PART: u32 = 2;
/// Part of the round trip without queues up to which a queue does not shrink the window.
/// A queue of this size keeps the path full in spite of small measurement errors.
const SHORT: f64 = 0.125;
/// Smallest part of the window that remains after a loss.
// With 0.5, transfers on long paths with deep buffers share the path less evenly (docs/decisions/0007).
const KEPT_AT_LEAST: f64 = 0.3;
/// Part of the window that remains after a mark.
// A reduction in proportion to the queue, as after a loss, makes short flows slower (docs/decisions/0009).
const KEPT_ON_MARK: f64 = 0.8;
/// Pace of credits in slow start, in windows per round trip.
// Both paces exceed one window per round trip, so that the window and not the pace limits the rate.
const PACE_IN_SLOW_START: f64 = 2.0;
/// Pace of credits after slow start, in windows per round trip.
const PACE: f64 = 1.25;
/// Largest burst of credits, as the time in which the pace gives its credits.
/// The timers of hosts are precise enough for bursts of 500 us.
const AT_ONCE: Duration = Duration::from_us(500);
/// Lower bound of the largest burst, in credits. With this bound, pacing needs no additional pulls (decision 0009).
const LEAST_AT_ONCE: u32 = 4;
/// One symbol in the units of [`Window`], so that windows need not be integers.
const SYMBOL: u64 = 1_000;
/// The estimated fraction of lost symbols is a moving average. One symbol has the weight 1 / `LOSS_MEMORY`.
const LOSS_MEMORY: f64 = 400.0;
/// The window shrinks only if the estimated loss fraction exceeds `by_chance` by this number of standard deviations.
// Without this margin, noise of the estimate would shrink the window at losses below the limit (docs/decisions/0007).
const CERTAIN: f64 = 3.0;
/// Number of symbols in a trial with the smallest window.
const TRIAL: u32 = 64;
/// Fraction of lost symbols in a trial, divided by the fraction that counts as chance.
/// Above this ratio, the smallest window counts as having the same losses as a large window.
/// At 10 % loss, 64 symbols give the fraction of lost symbols with a standard deviation of 4 %.
const AS_MANY: f64 = 0.6;
/// In a trial, at most one in this number of symbols may have waited in a queue.
/// If more symbols have waited, another sender fills the queue.
/// A larger window would only displace the packets of this sender (docs/decisions/0007).
const SELDOM: u32 = 8;
/// Factor from the measured fraction of lost symbols to the fraction that counts as chance after a trial.
const MARGIN: f64 = 2.0;
/// Upper bound of the fraction of lost symbols that counts as chance.
const MOST_BY_CHANCE: f64 = 0.5;
/// Half of the time for which a minimum delay is remembered.
// Clocks drift apart, so an older minimum would show a queue that does not exist.
const HALF_MEMORY: Duration = Duration::from_ms(30_000);
/// The round trip without queues is a moving average. One sample has the weight 1 / `SMOOTHING`.
const SMOOTHING: f64 = 8.0;

/// Returns the sender's clock for a symbol, in units of 100 ns, modulo 2^32.
pub(crate) const fn stamp(now: Time) -> u32 {
    (now.as_ns() / 100) as u32
}

/// Symbol that has arrived, whole or trimmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    /// Number of the credit that the symbol uses.
    pub(crate) number: u32,
    /// Time since the credit was given; `None` if this time does not measure the path.
    pub(crate) round_trip: Option<Duration>,
    /// Departure time by the sender's clock.
    pub(crate) stamp: u32,
    /// Whether the network has signalled congestion.
    pub(crate) marked: bool,
    /// Whether the window limited the receiver. Otherwise the receiver needed no more symbols.
    pub(crate) may_grow: bool,
}

/// Minimum of the samples of the last two spans.
#[derive(Clone, Copy, Debug)]
struct Least {
    before: i32,
    now: i32,
}

impl Least {
    const NONE: Self = Self {
        before: i32::MAX,
        now: i32::MAX,
    };

    fn add(&mut self, sample: i32) {
        self.now = self.now.min(sample);
    }

    fn next_span(&mut self) {
        *self = Self {
            before: self.now,
            now: i32::MAX,
        };
    }

    fn get(&self) -> i32 {
        self.before.min(self.now)
    }
}

/// Counts of symbols that were sent with the smallest window.
#[derive(Clone, Copy, Default, Debug)]
struct Trial {
    all: u32,
    /// Number of symbols that were lost without a queue.
    by_chance: u32,
    /// Number of symbols that waited in a queue for more than half of the time that counts as a queue.
    queued: u32,
}

#[derive(Debug)]
pub(crate) struct Controller {
    config: CreditConfig,
    window: Window,
    cubic: Cubic,
    rtt: RttEstimator,
    /// Delay of the first symbol.
    /// The delays of later symbols are differences from the first delay, because the clocks are not synchronised.
    origin: Option<u32>,
    /// Minimum one-way delay.
    base: Least,
    /// Minimum round trip.
    shortest: Least,
    base_since: Time,
    queue: Least,
    /// Number of samples in the current span of `queue`.
    samples: u32,
    /// Round trip without the queue, in seconds. 0 before the first sample.
    empty: f64,
    lost_share: f64,
    /// Fraction of lost symbols that counts as chance if there is no queue.
    by_chance: f64,
    trial: Trial,
    /// Number of symbols lost before the first round trip was measured.
    lost_first: u32,
    /// First credit whose loss may shrink the window again. This credit was given after the last reduction.
    recover: u32,
}

impl Controller {
    /// Returns a controller with a window of `initial` symbols.
    /// `timeout` applies until the first round trip is measured.
    pub(crate) fn new(config: CreditConfig, now: Time, initial: u32, timeout: Duration) -> Self {
        let initial = u64::from(initial.clamp(LEAST, config.max_window));
        Self {
            config,
            window: Window {
                cwnd: initial * SYMBOL,
                ssthresh: u64::MAX,
            },
            cubic: Cubic::new(),
            rtt: RttEstimator::new(timeout),
            origin: None,
            base: Least::NONE,
            shortest: Least::NONE,
            base_since: now,
            queue: Least::NONE,
            samples: 0,
            empty: 0.0,
            lost_share: 0.0,
            by_chance: config.loss_by_chance,
            trial: Trial::default(),
            lost_first: 0,
            recover: 0,
        }
    }

    /// Returns the number of symbols that may be in flight.
    pub(crate) fn window(&self) -> u32 {
        ((self.window.cwnd / SYMBOL) as u32).clamp(LEAST, self.config.max_window)
    }

    /// Returns the number of credits that one pull gives while other symbols are in flight.
    /// Larger batches need fewer pulls. Smaller batches cause smaller bursts.
    pub(crate) fn batch(&self) -> u32 {
        // With this batch, the burst of a pull is at most 1/32 of the window, but at least one symbol.
        // The limit of 16 keeps the bursts of large windows small.
        (self.window() / 32).clamp(1, 16)
    }

    /// Returns whether credits are paced.
    fn is_paced(&self) -> bool {
        // On a shorter path, a burst of `AT_ONCE` contains a whole window in slow start. Pacing has no effect there.
        self.rtt.smoothed() >= AT_ONCE * 2
    }

    /// Returns the interval between credits, and the largest burst. Returns `None` if credits are not paced.
    pub(crate) fn pace(&self) -> Option<(Duration, u32)> {
        if !self.is_paced() {
            return None;
        }
        let round_trip = self.rtt.smoothed();
        let pace = match self.window.in_slow_start() {
            true => PACE_IN_SLOW_START,
            false => PACE,
        };
        let credits = f64::from(self.window()) * pace;
        let interval = Duration::from_ps((round_trip.as_ps() as f64 / credits) as u64);
        // The interval is never 0, because a paced round trip is at least 1 ms and has at most 8,192 credits.
        let at_once = AT_ONCE.as_ps() / interval.as_ps();
        Some((interval, (at_once as u32).max(LEAST_AT_ONCE)))
    }

    /// Returns the smoothed round trip, or `None` before the first sample.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        Some(self.rtt.smoothed()).filter(|round_trip| *round_trip > Duration::ZERO)
    }

    /// Returns the time for which the receiver waits for an expected symbol.
    pub(crate) fn timeout(&self) -> Duration {
        self.rtt.rto()
    }

    /// Processes a symbol that has arrived. `granted` is the number of credits given so far.
    pub(crate) fn on_arrival(&mut self, arrival: &Arrival, granted: u32) {
        let Arrival { now, number, .. } = *arrival;
        let queue = self.measure_queue(arrival);
        if let Some(round_trip) = arrival.round_trip {
            let least = self.config.min_timeout;
            // 60 s is the smallest upper bound that RFC 6298 (2.5) allows.
            // So the upper bound is never below the lower bound, for any configured minimum.
            let most = Duration::from_ms(60_000).max(least);
            // The variation counts as at least half of a round trip, so that the timeout is at least 1.5 round trips.
            let half = self.rtt.smoothed().max(round_trip) / 2;
            self.rtt.on_sample_within(round_trip, half, least..=most);
            let empty = (round_trip.as_secs_f64() - queue).max(0.0);
            self.empty = match self.empty {
                0.0 => empty,
                usual => usual + (empty - usual) / SMOOTHING,
            };
        }
        // Moving average: an arrival counts as 0, and a loss as 1 (`on_lost`).
        self.lost_share -= self.lost_share / LOSS_MEMORY;
        let usual = self.by_chance.min(self.lost_share * MARGIN);
        // The limit falls again with the measured fraction of lost symbols, down to the configured value.
        self.by_chance = usual.max(self.config.loss_by_chance);
        if self.is_on_trial(number) {
            self.trial.queued += u32::from(queue > self.short() / 2.0);
            self.judge_least(1);
        }
        if self.window.in_slow_start() && self.empty > 0.0 && self.queue() > self.empty / 2.0 {
            self.window.ssthresh = self.window.cwnd;
        }
        if arrival.marked {
            self.close(now, number, granted, KEPT_ON_MARK);
        } else if arrival.may_grow && number >= self.recover {
            let number = u64::from(number);
            let ack = Ack {
                now,
                acked: SYMBOL,
                marked: false,
                una: number,
                nxt: u64::from(granted),
                mss: SYMBOL,
                may_grow: true,
                slow_start_limit: SYMBOL,
                srtt: self.rtt.smoothed(),
                rtt: None,
            };
            self.cubic.on_ack(&mut self.window, &ack);
            let most = u64::from(self.config.max_window) * SYMBOL;
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    /// Records the delay of a symbol. Returns its time in queues, in seconds.
    fn measure_queue(&mut self, arrival: &Arrival) -> f64 {
        // Time stamps wrap at 2^32, so only their differences have a meaning.
        let delay = stamp(arrival.now).wrapping_sub(arrival.stamp);
        let origin = *self.origin.get_or_insert(delay);
        let delay = delay.wrapping_sub(origin) as i32;
        if arrival.now.since(self.base_since) >= HALF_MEMORY {
            self.base.next_span();
            self.shortest.next_span();
            self.base_since = arrival.now;
        }
        self.base.add(delay);
        let mut queue = delay.saturating_sub(self.base.get());
        if let Some(round_trip) = arrival.round_trip {
            let round_trip = i32::try_from(round_trip.as_ns() / 100).unwrap_or(i32::MAX);
            self.shortest.add(round_trip);
            // Clock drift changes one-way delays, but not round trips.
            queue = queue.min(round_trip - self.shortest.get());
        }
        self.samples += 1;
        // Without pacing, the burst of a window would look like a queue in a short span.
        let part = match self.window.in_slow_start() && self.is_paced() {
            true => PART_IN_SLOW_START,
            false => PART,
        };
        if self.samples > self.window() / part {
            self.queue.next_span();
            self.samples = 0;
        }
        self.queue.add(queue);
        f64::from(queue) * 1e-7
    }

    /// Returns the time in queues of the latest symbols, in seconds.
    fn queue(&self) -> f64 {
        f64::from(self.queue.get()) * 1e-7
    }

    /// Processes the loss of `count` symbols up to credit `number`. `granted` is the number of credits given so far.
    pub(crate) fn on_lost(&mut self, now: Time, count: u32, number: u32, granted: u32) {
        // At most a window is in flight, so this limit only bounds the loop.
        for _ in 0..count.min(MAX_WINDOW) {
            self.lost_share += (1.0 - self.lost_share) / LOSS_MEMORY;
        }
        if self.empty == 0.0 {
            // Without a measured round trip the queue is unknown.
            // If the queue is unknown, a quarter of the pushed symbols may be lost without a reaction.
            self.lost_first += count;
            if self.lost_first.saturating_mul(4) > granted {
                self.close(now, number, granted, KEPT_ON_LOSS);
            }
            return;
        }
        let queue = self.queue();
        let is_full = queue > self.short();
        if self.is_on_trial(number) {
            self.trial.by_chance += if is_full { 0 } else { count };
            self.judge_least(count);
        }
        if is_full {
            let kept = (self.empty / (self.empty + queue)).max(KEPT_AT_LEAST);
            self.close(now, number, granted, kept);
        } else if self.loses_more_than_by_chance() {
            self.close(now, number, granted, KEPT_ON_LOSS);
        }
    }

    /// Returns the longest queue, in seconds, at which a loss does not shrink the window.
    fn short(&self) -> f64 {
        let part = SHORT * self.empty;
        if !self.is_paced() {
            return part;
        }
        // Timers of hosts and one burst may add a delay of `AT_ONCE`.
        // The delay counts only if it is small compared with the path.
        part.max(AT_ONCE.as_secs_f64().min(2.0 * part))
    }

    fn loses_more_than_by_chance(&self) -> bool {
        // Variance of a moving average in which each symbol has the weight 1 / LOSS_MEMORY.
        let variance = self.by_chance * (1.0 - self.by_chance) / (2.0 * LOSS_MEMORY);
        self.lost_share > self.by_chance + CERTAIN * libm::sqrt(variance)
    }

    /// Returns whether credit `number` was given while the window was smallest.
    fn is_on_trial(&self, number: u32) -> bool {
        self.window() <= LEAST && number >= self.recover
    }

    /// Counts symbols of the trial, and evaluates a complete trial.
    /// The smallest window does not overload a path by itself.
    /// Other senders shrink their windows after the same losses.
    /// The smallest window may still have about the same losses, although almost no symbol waits in a queue.
    /// If a small window has the same losses, it does not help.
    fn judge_least(&mut self, symbols: u32) {
        self.trial.all += symbols;
        if self.trial.all < TRIAL {
            return;
        }
        let trial = core::mem::take(&mut self.trial);
        let share = f64::from(trial.by_chance) / f64::from(trial.all);
        let is_idle = trial.queued * SELDOM <= trial.all;
        if is_idle && share > self.by_chance * AS_MANY {
            self.lost_share = self.lost_share.max(share);
            self.by_chance = (self.lost_share * MARGIN).min(MOST_BY_CHANCE);
            // The window grows again as at the start.
            self.window.ssthresh = u64::MAX;
        }
    }

    fn close(&mut self, now: Time, number: u32, granted: u32, kept: f64) {
        if number < self.recover {
            return;
        }
        // Only credits that are given after a reduction show its effect.
        // Until a later credit shows the effect, the window does not shrink again.
        self.recover = granted;
        let before = self.window.cwnd;
        let congested = Congested {
            now,
            in_flight: before,
            mss: SYMBOL,
        };
        self.cubic.on_congestion(&mut self.window, &congested, kept);
        let cwnd = self.window.cwnd.max(u64::from(LEAST) * SYMBOL);
        self.window = Window {
            cwnd,
            ssthresh: cwnd,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_drift_apart_are_no_queue() {
        let start = Time::ZERO + Duration::from_ms(1_000);
        let mut controller =
            Controller::new(CreditConfig::default(), start, 10, Duration::from_ms(1));
        let mut longest: f64 = 0.0;
        for number in 0..60_000 {
            let now = start + Duration::from_ms(u64::from(number));
            // The sender's clock loses 100 us per second, 6 ms in total. The path takes 1 ms in each direction.
            let sent = now.as_ns() - 1_000_000;
            let stamp = ((sent - sent / 10_000) / 100) as u32;
            controller.on_arrival(
                &Arrival {
                    now,
                    number,
                    round_trip: Some(Duration::from_ms(2)),
                    stamp,
                    marked: false,
                    may_grow: true,
                },
                number + 10,
            );
            longest = longest.max(controller.queue());
        }
        assert!(longest < 1e-6, "a queue of {longest} s");
    }
}
