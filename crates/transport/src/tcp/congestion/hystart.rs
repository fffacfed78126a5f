//! HyStart over CUBIC: Ha and Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55 (2011).
//! Two versions of Linux (`net/ipv4/tcp_cubic.c`) are implemented. In Linux 2.6.29 to 2.6.38, the clock counts jiffies.
//! Since Linux 5.6, the clock counts microseconds.
//!
//! HyStart ends slow start before a loss.
//! HyStart is active while the window is at least 16 segments, and ends slow start in two cases.
//! First, the ACKs of a round arrive as a train for at least half of the minimum round-trip time.
//! Second, the least of the first eight round-trip times of a round exceeds the overall minimum by more than a margin.
//! The margin is a sixteenth of the overall minimum, at least 2 and at most 16 ticks.
//!
//! With the clock in microseconds, the train must last longer than half of a sum.
//! The sum is the minimum round-trip time plus the time in which the sender sends 256 KB (at most 1 ms).
//! The sum contains the time for 256 KB, because ACKs of large segments arrive in bursts.
//! The margin of the round trips is an eighth of the minimum, at least 4 ms and at most 16 ms.
//! So the second case ends slow start only if the round trip grows by more than 4 ms.
//!
//! A coarse clock counts ticks. A round-trip time is the number of ticks that have begun in it, at least one.
//! If round trips are shorter than a tick, half of the minimum is zero ticks.
//! With zero ticks, the first ACK of any window of at least 16 segments ends slow start.
//!
//! Deviations
//! - Linux 2.6.39 to 5.5 use milliseconds, with an eighth of a millisecond for round trips.
//!   In Linux 2.6.39 to 5.5 the train must last more than half of the round trip, and the margin is 4 to 16 ms.
//!   The nearest setting here is a clock of 1 ms.
//! - The assumed rate of the sender is two windows per round trip.
//!   Linux assumes the same while the window is below half of `ssthresh`.
//! - As in Linux, HyStart starts again after a timeout.
//!   Linux ignores samples within a second after the start of an epoch of CUBIC.
//!   This implementation ignores samples within a second after a loss.

use super::control::{Ack, Congested, CongestionControl, Window};
use super::cubic::Cubic;
use super::linux_cubic::LinuxCubic;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Smallest window at which HyStart is active, in segments (`hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// Largest gap between two ACKs of one train.
const TRAIN_GAP: Duration = Duration::from_ms(2);
/// Number of round-trip samples per round whose minimum counts (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bytes of a large send of Linux (`sk_gso_max_size`).
const LARGE_SEND: u64 = 65_536;
/// Time after a loss in which samples are ignored.
const AFTER_LOSS: Duration = Duration::from_ms(1_000);

/// Clock of HyStart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HyStartClock {
    /// Clock with this period, more than 0: the jiffy (1, 4 or 10 ms) in Linux 2.6.29 to 2.6.38.
    Ticks(Duration),
    /// Clock in microseconds, and the thresholds of Linux since 5.6.
    Microseconds,
}

/// CUBIC, whose slow start HyStart ends.
#[derive(Clone, Debug)]
enum Inner {
    Real(Cubic),
    Whole(LinuxCubic),
}

impl Inner {
    fn controller(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Real(cubic) => cubic,
            Self::Whole(cubic) => cubic,
        }
    }
}

/// CUBIC that leaves slow start by HyStart.
#[derive(Clone, Debug)]
pub struct HyStart {
    cubic: Inner,
    /// Period of the clock.
    tick: Duration,
    /// Whether HyStart has the thresholds of Linux since 5.6.
    modern: bool,
    /// Whether HyStart is active. It is active until it ends slow start, and again after a timeout.
    looks: bool,
    /// End offset and send time of each segment that is being timed.
    sent: VecDeque<(u64, Time)>,
    /// Minimum round-trip time so far, in ticks; 0 before the first sample.
    least: u64,
    /// Offset whose ACK ends the round.
    round_end: u64,
    /// Start of the round, in ticks.
    round_start: u64,
    /// Time of the latest ACK of the train, in ticks.
    latest: u64,
    /// Minimum round-trip time of this round, in ticks.
    least_of_round: u64,
    /// Number of samples of this round.
    samples: u32,
    /// Time before which samples are ignored.
    quiet_until: Time,
}

impl HyStart {
    /// Creates the state of a new connection of a host with this clock.
    pub const fn new(clock: HyStartClock) -> Self {
        let (tick, modern) = match clock {
            HyStartClock::Ticks(tick) => (tick, false),
            HyStartClock::Microseconds => (Duration::from_us(1), true),
        };
        Self {
            cubic: Inner::Real(Cubic::new()),
            tick,
            modern,
            looks: true,
            sent: VecDeque::new(),
            least: 0,
            round_end: 0,
            round_start: 0,
            latest: 0,
            least_of_round: u64::MAX,
            samples: 0,
            quiet_until: Time::ZERO,
        }
    }

    /// Returns HyStart over CUBIC in whole segments. `tick` is the period of the clock of the host, more than 0.
    pub(crate) fn in_whole_segments(self, tick: Duration) -> Self {
        Self {
            cubic: Inner::Whole(LinuxCubic::new(tick)),
            ..self
        }
    }

    const fn ticks(&self, now: Time) -> u64 {
        now.as_ps() / self.tick.as_ps()
    }

    /// Returns the round-trip time, in ticks, of the latest segment that an ACK covers.
    fn round_trip(&mut self, ack: &Ack) -> Option<u64> {
        let mut left = None;
        while let Some((end, at)) = self.sent.front().copied()
            && end <= ack.una
        {
            left = Some(at);
            self.sent.pop_front();
        }
        let took = ack.now.since(left?).as_ps();
        Some(took.div_ceil(self.tick.as_ps()).max(1))
    }

    /// Returns whether an ACK that measured `round_trip` ends slow start.
    fn ends(&mut self, window: &Window, ack: &Ack, round_trip: u64) -> bool {
        let now = self.ticks(ack.now);
        // The gap is rounded up, as by Linux's `msecs_to_jiffies`, so that it is never zero ticks.
        let gap = TRAIN_GAP.as_ps().div_ceil(self.tick.as_ps());
        let mut ends = false;
        if now - self.latest <= gap {
            self.latest = now;
            let train = now - self.round_start;
            ends = if self.modern {
                train > (self.least + large_sends(window, ack)) / 2
            } else {
                train >= self.least / 2
            };
        }
        if self.samples < SAMPLES {
            // As in Linux, the first eight samples form the minimum. Later samples are only compared with the minimum.
            self.least_of_round = self.least_of_round.min(round_trip);
            self.samples += 1;
            return ends;
        }
        if self.modern {
            let margin = (self.least / 8).clamp(4_000, 16_000);
            return ends || self.least_of_round > self.least + margin;
        }
        // Linux stores round-trip times in eighths of a tick, so its threshold is rounded to eighths of a tick.
        let margin = (self.least * 8 / 16).clamp(2 * 8, 16 * 8);
        ends || self.least_of_round * 8 > self.least * 8 + margin
    }

    fn start_round(&mut self, ack: &Ack) {
        self.round_start = self.ticks(ack.now);
        self.latest = self.round_start;
        self.round_end = ack.nxt;
        self.least_of_round = u64::MAX;
        self.samples = 0;
    }
}

/// Returns the time for sending four large segments, in microseconds, at most 1,000 (`hystart_ack_delay`).
fn large_sends(window: &Window, ack: &Ack) -> u64 {
    let srtt = ack.srtt.as_ps() / 1_000_000;
    let bytes = 2 * window.cwnd.max(ack.mss);
    (4 * LARGE_SEND * srtt / bytes).min(1_000)
}

impl CongestionControl for HyStart {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.modern && window.in_slow_start() && ack.una > self.round_end {
            self.start_round(ack);
        }
        // The filter comes after `round_trip`, because `round_trip` must drop the acknowledged segments in any case.
        let round_trip = self.round_trip(ack).filter(|_| ack.now >= self.quiet_until);
        if let Some(round_trip) = round_trip {
            let least = if self.least == 0 {
                u64::MAX
            } else {
                self.least
            };
            self.least = least.min(round_trip);
            let watched = self.looks && window.cwnd >= LOW_WINDOW * ack.mss;
            if watched && window.in_slow_start() && self.ends(window, ack, round_trip) {
                self.looks = false;
                self.sent.clear();
                window.ssthresh = window.cwnd;
            }
        }
        // The round changes after the check, as in Linux up to 5.5: `pkts_acked` runs before `cong_avoid`.
        if !self.modern && window.in_slow_start() && ack.una > self.round_end {
            self.start_round(ack);
        }
        self.cubic.controller().on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.quiet_until = congested.now.saturating_add(AFTER_LOSS);
        self.cubic.controller().on_loss(window, congested);
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        // As in Linux, HyStart starts again after a timeout.
        self.looks = true;
        self.least = 0;
        self.quiet_until = congested.now.saturating_add(AFTER_LOSS);
        self.cubic.controller().on_timeout(window, congested);
    }

    fn on_sent(&mut self, now: Time, end: u64, again: bool) {
        self.cubic.controller().on_sent(now, end, again);
        if again {
            // The ACK of a segment that was sent twice does not show which transmission arrived (Karn's algorithm).
            self.sent.clear();
        } else if self.looks {
            self.sent.push_back((end, now));
        }
    }
}
