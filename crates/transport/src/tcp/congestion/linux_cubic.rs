//! CUBIC in whole segments, with the integer arithmetic of Linux 6.18 (`net/ipv4/tcp_cubic.c`).
//! [`Cubic`](super::Cubic) computes with real numbers, as RFC 9438 does.
//! The difference matters for windows of a few segments. Linux rounds the distance to the last maximum down.
//! So a window of 7 segments grows to 8 in the first round trip after a loss.
//!
//! Deviation: the cube root is exact. Linux approximates it within 0.2 %.

use super::control::{Ack, Congested, CongestionControl, Window};
use tailcut_units::{Duration, Time};

/// Fraction of the window that remains after a loss, in 1,024ths.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1_024;
/// C of RFC 9438, 5.1, in 1,024ths: 0.4.
const C_SCALED: u64 = 410;
/// Number of CUBIC's time units per second (`1 << BICTCP_HZ`).
const UNITS: u64 = 1_024;
/// A Reno flow with this `BETA` grows by one segment when 15 eighths of its window are acknowledged.
const FRIENDLY_EIGHTHS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// State of CUBIC for one connection. Windows are in segments.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    /// Period of the clock.
    tick: Duration,
    /// Window before the last loss, or less after fast convergence; 0 before the first loss and after a timeout.
    last_max: u64,
    /// Window and tick at the last update of `acks_per_segment`.
    updated: (u64, u64),
    /// Tick at which the epoch began; `None` outside an epoch.
    epoch: Option<u64>,
    /// Window at the plateau of the cubic function.
    origin: u64,
    /// Time from the start of the epoch to this plateau, in 1,024ths of a second.
    plateau: u64,
    /// Number of acknowledged segments for which the window grows by one segment.
    acks_per_segment: u64,
    /// Number of acknowledged segments since the window last grew.
    credit: u64,
    /// Window of a Reno flow, and the number of acknowledged segments since this window last grew.
    reno: (u64, u64),
    /// Acknowledged bytes that do not fill a segment yet.
    rest: u64,
    /// Minimum round-trip time; `None` before the first sample.
    least_rtt: Option<Duration>,
    /// First unacknowledged offset.
    una: u64,
    /// One past the highest offset that was sent.
    high: u64,
    /// Time of the last transmission.
    last_sent: Time,
}

impl LinuxCubic {
    /// Creates the state of a new connection of a host whose clock has this period, more than 0.
    pub const fn new(tick: Duration) -> Self {
        Self {
            tick,
            last_max: 0,
            updated: (0, 0),
            epoch: None,
            origin: 0,
            plateau: 0,
            acks_per_segment: 0,
            credit: 0,
            reno: (0, 0),
            rest: 0,
            least_rtt: None,
            una: 0,
            high: 0,
            last_sent: Time::ZERO,
        }
    }

    const fn ticks(&self, at: Time) -> u64 {
        at.as_ps() / self.tick.as_ps()
    }

    /// Returns the time of `ticks` in CUBIC's units.
    const fn units(&self, ticks: u64) -> u64 {
        let ps = ticks as u128 * self.tick.as_ps() as u128;
        (ps * UNITS as u128 / Duration::from_ms(1_000).as_ps() as u128) as u64
    }

    /// Updates the growth (`bictcp_update`).
    fn update(&mut self, now: Time, cwnd: u64, acked: u64) {
        self.reno.1 += acked;
        let now = self.ticks(now);
        let (last_cwnd, last_tick) = self.updated;
        let second = Duration::from_ms(1_000).as_ps() / self.tick.as_ps();
        if self.epoch.is_some() && last_cwnd == cwnd && now - last_tick <= second / 32 {
            return;
        }
        if self.epoch.is_none() || now != last_tick {
            self.updated = (cwnd, now);
            self.acks_per_segment = self.cubic_growth(now, cwnd, acked);
        }
        // The window of a Reno flow (RFC 9438, 4.3).
        let acks = cwnd * FRIENDLY_EIGHTHS / 8;
        while self.reno.1 > acks {
            self.reno.1 -= acks;
            self.reno.0 += 1;
        }
        if self.reno.0 > cwnd {
            let most = cwnd / (self.reno.0 - cwnd);
            self.acks_per_segment = self.acks_per_segment.min(most);
        }
        // The window grows by at most half of its size in a round trip.
        self.acks_per_segment = self.acks_per_segment.max(2);
    }

    /// Returns the number of acknowledged segments for which the cubic function lets the window grow by one segment.
    fn cubic_growth(&mut self, now: u64, cwnd: u64, acked: u64) -> u64 {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.epoch = Some(now);
                self.reno = (cwnd, acked);
                self.origin = self.last_max.max(cwnd);
                let distance = (self.origin - cwnd) as f64 * (1u64 << 40) as f64;
                self.plateau = libm::cbrt(distance / C_SCALED as f64) as u64;
                now
            }
        };
        let least = self.least_rtt.unwrap_or(Duration::ZERO);
        let ahead = least.as_ps().div_ceil(self.tick.as_ps());
        let time = self.units(now.saturating_sub(epoch) + ahead);
        let offset = u128::from(time.abs_diff(self.plateau));
        let distance = ((u128::from(C_SCALED) * offset * offset * offset) >> 40) as u64;
        let target = if time < self.plateau {
            self.origin.saturating_sub(distance)
        } else {
            self.origin.saturating_add(distance)
        };
        let growth = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        // Before the first loss the window grows by at least a twentieth of its size in a round trip.
        if self.last_max == 0 {
            growth.min(20)
        } else {
            growth
        }
    }

    /// Counts `acked` segments (`tcp_cong_avoid_ai`). Returns the number of segments by which the window grows.
    fn credit(&mut self, acked: u64) -> u64 {
        let each = self.acks_per_segment;
        let mut grown = 0;
        // Acknowledged segments from a time of slower growth let the window grow by one segment only.
        if self.credit >= each {
            self.credit = 0;
            grown = 1;
        }
        self.credit += acked;
        grown += self.credit / each;
        self.credit %= each;
        grown
    }

    /// Handles a loss or timeout: sets `ssthresh` (`cubictcp_recalc_ssthresh`).
    fn back_off(&mut self, window: &mut Window, congested: &Congested) {
        let cwnd = congested.in_flight / congested.mss;
        self.epoch = None;
        self.credit = 0;
        self.rest = 0;
        self.last_max = if cwnd < self.last_max {
            // Fast convergence (RFC 9438, 4.7).
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        window.ssthresh = (cwnd * BETA / BETA_SCALE).max(2) * congested.mss;
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        self.una = ack.una;
        if !ack.may_grow {
            return;
        }
        let mut acked = ack.acked;
        // Bytes that slow start does not use count for congestion avoidance.
        if window.in_slow_start() {
            acked = ack.open(window);
        }
        self.rest += acked;
        let segments = self.rest / ack.mss;
        if segments == 0 {
            return;
        }
        self.rest %= ack.mss;
        self.update(ack.now, window.cwnd / ack.mss, segments);
        window.cwnd += self.credit(segments) * ack.mss;
    }

    /// Shifts the epoch by the time in which nothing was in flight (`CA_EVENT_TX_START`).
    /// After the shift of the epoch, the window does not grow for the idle time.
    fn on_sent(&mut self, now: Time, end: u64, _again: bool) {
        if self.una >= self.high
            && let Some(epoch) = self.epoch
        {
            let idle = self.ticks(now).saturating_sub(self.ticks(self.last_sent));
            self.epoch = Some((epoch + idle).min(self.ticks(now)));
        }
        self.high = self.high.max(end);
        self.last_sent = now;
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.back_off(window, congested);
        window.cwnd = window.ssthresh;
    }

    /// Sets `ssthresh` as for a loss, and clears the last maximum (`cubictcp_state`).
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.back_off(window, congested);
        *self = Self {
            least_rtt: self.least_rtt,
            una: self.una,
            high: self.high,
            last_sent: self.last_sent,
            ..Self::new(self.tick)
        };
    }
}
