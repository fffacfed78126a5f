//! How many symbols of one sender are in flight, on networks that do not trim: a window that grows as
//! CUBIC's (RFC 9438), and that a loss closes as far as the path stays full.
//!
//! - The queue is the delay from the sender to here above the least of the last minute. The least of the last half
//!   to whole window counts (in slow start on paced paths an eighth to a quarter), so that a host's own delay, or one
//!   burst, does not. It is no longer than the round trip above its own least: the clocks of two hosts may drift apart
//!   by several milliseconds a minute.
//! - What fills the path is the window times `empty / (empty + queue)`, where `empty` is the round trip without
//!   the queue. A loss closes the window to that, at least to 0.3. So a loss by chance costs nothing, and a
//!   full queue drains. A queue of less than an eighth of the empty round trip is no reason,
//!   nor one of 500 us where that is less than a quarter.
//! - Where cuts are shallow, growth is slow: the average window at a given loss rate is CUBIC's
//!   ([`Cubic::on_congestion`]).
//! - Without a queue, more losses than can be by chance ([`CreditConfig::loss_by_chance`]) close the window to 0.7.
//!   If as many are lost with the least window, and hardly any symbol waits in a queue meanwhile, they are by chance
//!   all the same: the window opens again, and up to twice this share of losses closes it no more.
//! - An ECN mark, or a trimmed symbol, closes it to 0.8.
//! - At most once a round trip.
//! - Slow start ends when the queue is half of the empty round trip.
//! - Credits are paced where the round trip is a millisecond or more: 2 windows a round trip in slow start, 1.25
//!   after it. Else a window would arrive as one burst and an idle time, whose queue says nothing about the path.
//!
//! Why: `docs/decisions/0007-a-loss-closes-as-far-as-the-path-stays-full.md`.

use super::config::{CreditConfig, LEAST};
use crate::scdp::common::limits::MAX_WINDOW;
use crate::tcp::congestion::{Ack, Congested, CongestionControl, Cubic, Window};
use crate::tcp::rtt::RttEstimator;
use tailcut_units::{Duration, Time};

/// What remains of the window after too many losses without a queue (RFC 9438, 4.6).
const KEPT_ON_LOSS: f64 = 0.7;
/// The queue is the least of the last one to two spans; one is a window over so many. In slow start a window doubles
/// meanwhile: what is seen late is then overshot by far.
const PART_IN_SLOW_START: u32 = 8;
const PART: u32 = 2;
/// A queue up to this part of the empty round trip closes no window: it keeps the path full, whatever little is
/// measured wrong.
const SHORT: f64 = 0.125;
/// What remains of the window after a loss, at least.
const KEPT_AT_LEAST: f64 = 0.3;
/// What remains of it after a mark.
const KEPT_ON_MARK: f64 = 0.8;
/// Windows a round trip that credits are paced to, in slow start and after it.
const PACE_IN_SLOW_START: f64 = 2.0;
const PACE: f64 = 1.25;
/// What may leave at once: so much time's worth of credits, which a host's timers can keep, ...
const AT_ONCE: Duration = Duration::from_us(500);
/// ... and so many at least.
const LEAST_AT_ONCE: u32 = 4;
/// One symbol, in the units of [`Window`]: windows need not be whole.
const SYMBOL: u64 = 1_000;
/// What one symbol counts in the share of lost ones: one part in so many.
const LOSS_MEMORY: f64 = 400.0;
/// Standard deviations of the estimated share of losses above which it is more than another share.
const CERTAIN: f64 = 3.0;
/// Symbols by which the least window is judged.
const TRIAL: u32 = 64;
/// The share of losses among them that is as many as before, of what counts as chance: 64 symbols tell 10 % to
/// within 4.
const AS_MANY: f64 = 0.6;
/// One of so many of them may have waited in a queue: where more have, somebody else fills it, and a larger window
/// would only push others out.
const SELDOM: u32 = 8;
/// The share of losses that is taken for chance after that, of the share that is lost, and at most.
const MARGIN: f64 = 2.0;
const MOST_BY_CHANCE: f64 = 0.5;
/// The least delay of so long counts, in two halves.
const HALF_MEMORY: Duration = Duration::from_ms(30_000);
/// What one sample counts in the empty round trip: one part in so many.
const SMOOTHING: f64 = 8.0;

/// The sender's clock in a symbol: units of 100 ns, modulo 2^32.
pub(crate) const fn stamp(now: Time) -> u32 {
    (now.as_ns() / 100) as u32
}

/// A symbol that has come in some form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    /// The number of its credit.
    pub(crate) number: u32,
    /// Since the credit was given, where that says something.
    pub(crate) round_trip: Option<Duration>,
    /// The sender's clock.
    pub(crate) stamp: u32,
    /// Whether the network says that it is congested.
    pub(crate) marked: bool,
    /// Whether the window, and not what is needed, held the receiver back.
    pub(crate) may_grow: bool,
}

/// The least of samples in the last two spans.
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

/// What has become of symbols while the window was the least one.
#[derive(Clone, Copy, Default, Debug)]
struct Trial {
    all: u32,
    /// Those that were lost without a queue.
    by_chance: u32,
    /// Those that came later than half of what counts as a queue.
    queued: u32,
}

#[derive(Debug)]
pub(crate) struct Controller {
    config: CreditConfig,
    window: Window,
    cubic: Cubic,
    rtt: RttEstimator,
    /// One-way delays are relative to the first: clocks are not synchronised.
    origin: Option<u32>,
    base: Least,
    /// The same of round trips.
    shortest: Least,
    base_since: Time,
    queue: Least,
    /// Samples in the present span of `queue`.
    samples: u32,
    /// The round trip without the queue, in seconds; 0 before the first sample.
    empty: f64,
    lost_share: f64,
    /// The share of losses without a queue that is taken for chance.
    by_chance: f64,
    trial: Trial,
    /// Symbols lost before the first round trip was known.
    lost_first: u32,
    /// The window is not closed again before a credit that was given after it was last closed.
    recover: u32,
}

impl Controller {
    /// `initial` symbols at first; `timeout` before the first round trip.
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

    /// Symbols that may be in flight.
    pub(crate) fn window(&self) -> u32 {
        ((self.window.cwnd / SYMBOL) as u32).clamp(LEAST, self.config.max_window)
    }

    /// Credits that one pull gives while others are in flight: so many that pulls are few, and so few
    /// that symbols do not come in bursts.
    pub(crate) fn batch(&self) -> u32 {
        (self.window() / 32).clamp(1, 16)
    }

    /// Whether credits leave at a pace.
    fn is_paced(&self) -> bool {
        self.rtt.smoothed() >= AT_ONCE * 2
    }

    /// The time from one credit to the next, and how many may leave at once; `None` where they are not paced.
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
        // A millisecond and more for 8,192 credits at most: never 0.
        let at_once = AT_ONCE.as_ps() / interval.as_ps();
        Some((interval, (at_once as u32).max(LEAST_AT_ONCE)))
    }

    /// The smoothed round trip; `None` before the first.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        Some(self.rtt.smoothed()).filter(|round_trip| *round_trip > Duration::ZERO)
    }

    /// How long to wait for a symbol that is due.
    pub(crate) fn timeout(&self) -> Duration {
        self.rtt.rto()
    }

    /// A symbol has come; credits up to `granted` have been given.
    pub(crate) fn on_arrival(&mut self, arrival: &Arrival, granted: u32) {
        let Arrival { now, number, .. } = *arrival;
        let queue = self.measure_queue(arrival);
        if let Some(round_trip) = arrival.round_trip {
            let least = self.config.min_timeout;
            let most = Duration::from_ms(60_000).max(least);
            let half = self.rtt.smoothed().max(round_trip) / 2;
            self.rtt.on_sample_within(round_trip, half, least..=most);
            let empty = (round_trip.as_secs_f64() - queue).max(0.0);
            self.empty = match self.empty {
                0.0 => empty,
                usual => usual + (empty - usual) / SMOOTHING,
            };
        }
        self.lost_share -= self.lost_share / LOSS_MEMORY;
        let usual = self.by_chance.min(self.lost_share * MARGIN);
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
            };
            self.cubic.on_ack(&mut self.window, &ack);
            let most = u64::from(self.config.max_window) * SYMBOL;
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    /// Notes the delay of a symbol. Gives its time in queues, in seconds.
    fn measure_queue(&mut self, arrival: &Arrival) -> f64 {
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
            queue = queue.min(round_trip - self.shortest.get());
        }
        self.samples += 1;
        // Where credits are not paced, a window's own burst would look like a queue.
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

    /// The time in queues of the last symbols, in seconds.
    fn queue(&self) -> f64 {
        f64::from(self.queue.get()) * 1e-7
    }

    /// `count` symbols are lost, up to credit `number`; credits up to `granted` have been given.
    pub(crate) fn on_lost(&mut self, now: Time, count: u32, number: u32, granted: u32) {
        for _ in 0..count.min(MAX_WINDOW) {
            self.lost_share += (1.0 - self.lost_share) / LOSS_MEMORY;
        }
        if self.empty == 0.0 {
            // Of the symbols that were pushed at once a quarter may be lost.
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

    /// A queue up to which no loss closes the window, in seconds.
    fn short(&self) -> f64 {
        let part = SHORT * self.empty;
        if !self.is_paced() {
            return part;
        }
        // What hosts' timers and one burst may add, where that is little of the path.
        part.max(AT_ONCE.as_secs_f64().min(2.0 * part))
    }

    fn loses_more_than_by_chance(&self) -> bool {
        let variance = self.by_chance * (1.0 - self.by_chance) / (2.0 * LOSS_MEMORY);
        self.lost_share > self.by_chance + CERTAIN * libm::sqrt(variance)
    }

    /// Whether what has become of credit `number` tells of the least window.
    fn is_on_trial(&self, number: u32) -> bool {
        self.window() <= LEAST && number >= self.recover
    }

    /// Counts symbols of the trial. The least window overloads no path by itself, and others close theirs for as many
    /// losses: if as many are lost with it, and hardly any symbol waits, it is no use to keep it.
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
            self.window.ssthresh = u64::MAX;
        }
    }

    fn close(&mut self, now: Time, number: u32, granted: u32, kept: f64) {
        if number < self.recover {
            return;
        }
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
            // The sender's clock loses 100 us a second, 6 ms in all. The path takes 1 ms each way.
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
