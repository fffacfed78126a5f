//! HyStart over CUBIC: Ha and Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55
//! (2011), as in Linux 2.6.29 to 2.6.38 (`net/ipv4/tcp_cubic.c`), whose clock is the jiffy.
//!
//! From a window of 16 segments on, slow start ends without a loss when a round's ACKs have come as a
//! train for half of the least round trip, or when the least of a round's first eight round trips is
//! above the least of all by a sixteenth, at least 2 and at most 16 ticks. Instants are read off a clock
//! that ticks; a round trip counts as the ticks that it has begun, at least one. So where round trips
//! take less than a tick, half of the least one is no tick at all, and the first ACK of any window from
//! 16 segments on ends slow start.
//!
//! Deviations
//! - Linux 2.6.39 and later read milliseconds (with round trips to an eighth), ask for more than half of
//!   the round trip and for 4 to 16 ms: here these are a clock of 1 ms.
//! - Linux starts to look again after a timeout; so does this. It ignores what it sees within a second of
//!   the start of an epoch of CUBIC; here, within a second of a loss.

use super::control::{Ack, Congested, CongestionControl, Window};
use super::cubic::Cubic;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// The least window that is looked at, in segments (`hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// ACKs that are no farther apart belong to a train.
const TRAIN_GAP: Duration = Duration::from_ms(2);
/// Round trips of a round whose least one counts (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// How long after a loss nothing counts.
const AFTER_LOSS: Duration = Duration::from_ms(1_000);

/// CUBIC that leaves slow start by HyStart.
#[derive(Clone, Debug)]
pub struct HyStart {
    cubic: Cubic,
    tick: Duration,
    /// Until it has ended slow start, or another timeout.
    looks: bool,
    /// The ends of the segments that are being timed, and when they left; each once.
    sent: VecDeque<(u64, Time)>,
    /// The least round trip so far, in ticks; 0 before the first.
    least: u64,
    /// What ends the round: the ACK of this offset.
    round_end: u64,
    /// When the round began and when the train's latest ACK came, in ticks.
    round_start: u64,
    latest: u64,
    /// The least round trip of this round, in ticks, and of how many.
    least_of_round: u64,
    samples: u32,
    /// Nothing counts before.
    quiet_until: Time,
}

impl HyStart {
    /// The state of a new connection of a host whose clock ticks every `tick`, more than 0.
    pub const fn new(tick: Duration) -> Self {
        Self {
            cubic: Cubic::new(),
            tick,
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

    const fn ticks(&self, now: Time) -> u64 {
        now.as_ps() / self.tick.as_ps()
    }

    /// The round trip of the latest segment that an ACK covers, in ticks.
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

    /// Whether slow start is to end, by an ACK with this round trip.
    fn ends(&mut self, now: Time, round_trip: u64) -> bool {
        let now = self.ticks(now);
        let gap = TRAIN_GAP.as_ps().div_ceil(self.tick.as_ps());
        let mut ends = false;
        if now - self.latest <= gap {
            self.latest = now;
            ends = now - self.round_start >= self.least / 2;
        }
        if self.samples < SAMPLES {
            self.least_of_round = self.least_of_round.min(round_trip);
            self.samples += 1;
            return ends;
        }
        // In eighths of a tick, as Linux has them.
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

impl CongestionControl for HyStart {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let round_trip = self.round_trip(ack).filter(|_| ack.now >= self.quiet_until);
        if let Some(round_trip) = round_trip {
            let least = if self.least == 0 {
                u64::MAX
            } else {
                self.least
            };
            self.least = least.min(round_trip);
            let watched = self.looks && window.cwnd >= LOW_WINDOW * ack.mss;
            if watched && window.in_slow_start() && self.ends(ack.now, round_trip) {
                self.looks = false;
                self.sent.clear();
                window.ssthresh = window.cwnd;
            }
        }
        if window.in_slow_start() && ack.una > self.round_end {
            self.start_round(ack);
        }
        self.cubic.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.quiet_until = congested.now.saturating_add(AFTER_LOSS);
        self.cubic.on_loss(window, congested);
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.looks = true;
        self.least = 0;
        self.quiet_until = congested.now.saturating_add(AFTER_LOSS);
        self.cubic.on_timeout(window, congested);
    }

    fn on_sent(&mut self, now: Time, end: u64, again: bool) {
        if again {
            // The ACK of what was sent twice does not say which one it answers (Karn).
            self.sent.clear();
        } else if self.looks {
            self.sent.push_back((end, now));
        }
    }
}
