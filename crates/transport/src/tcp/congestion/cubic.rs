//! CUBIC: RFC 9438. Windows are in segments, times in seconds.
//!
//! Deviations
//! - There is no HyStart++ (RFC 9406; [`super::HyStart`] is Linux's older HyStart).
//! - A spurious reduction of the window is not undone (4.9).
//! - If the window is not the limit for some time, the epoch ends, and the next epoch starts with the current window.
//!   The RFC (5.8) only requires that a time without a limiting window does not count.
//! - After a timeout the window grows towards the old `w_max`.
//!   The RFC (4.8) starts with K = 0 and the current window instead.

use super::control::{Ack, Congested, CongestionControl, Window};
use tailcut_units::Time;

/// Growth constant C, in segments per cubic second (5.1).
const C: f64 = 0.4;
/// Share of the window that remains after congestion (4.6).
const BETA: f64 = 0.7;

/// State of CUBIC for one connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cubic {
    /// Window before the last congestion, in segments. Fast convergence makes the value smaller.
    w_max: f64,
    /// Seconds from the start of the epoch until the window reaches `w_max`.
    k: f64,
    /// Window that a Reno flow would have now, in segments.
    w_est: f64,
    /// Window at the last congestion, in segments.
    cwnd_prior: f64,
    /// Fraction of a byte by which the exact window exceeds the integer window.
    fraction: f64,
    /// Fraction of the window that remained after the last congestion.
    /// The fraction is [`BETA`], unless another controller passes another fraction to `on_congestion`.
    kept: f64,
    /// Start of the current stage of congestion avoidance; `Time::MAX` outside such a stage.
    epoch: Time,
}

impl Default for Cubic {
    fn default() -> Self {
        Self::new()
    }
}

impl Cubic {
    /// Creates the state of a new connection.
    pub const fn new() -> Self {
        Self {
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            cwnd_prior: 0.0,
            fraction: 0.0,
            kept: BETA,
            epoch: Time::MAX,
        }
    }

    fn start_epoch(&mut self, now: Time, cwnd: f64) {
        self.epoch = now;
        self.w_est = cwnd;
        if cwnd < self.w_max {
            self.k = libm::cbrt((self.w_max - cwnd) / self.growth());
        } else {
            // The window has passed its old maximum, or there was no congestion yet (RFC 9438, 4.10: K = 0).
            self.w_max = cwnd;
            self.k = 0.0;
        }
    }

    /// Returns C, scaled by the last reduction: a larger reduction gives faster growth.
    /// So the average window at a given loss rate hardly depends on the size of reductions.
    /// Equation 6 of RFC 9438 contains the term `C (3 + BETA) / (1 - BETA)`.
    fn growth(&self) -> f64 {
        C * ((1.0 - self.kept) / (1.0 - BETA))
    }

    /// Returns the window of the cubic function after `seconds` of the epoch, in segments (equation 1).
    fn w_cubic(&self, seconds: f64) -> f64 {
        let from_plateau = seconds - self.k;
        self.growth() * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// Updates `ssthresh` and the state that every congestion event changes (4.6 and 4.7).
    fn back_off(&mut self, window: &mut Window, congested: &Congested, kept: f64) {
        let cwnd = window.cwnd as f64 / congested.mss as f64;
        // Fast convergence (4.7): a flow that backs off below its old maximum probably has a new competitor.
        // With fast convergence, the flow's new maximum is lower than its current window.
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + kept) / 2.0
        } else {
            cwnd
        };
        self.cwnd_prior = cwnd;
        self.fraction = 0.0;
        self.epoch = Time::MAX;
        self.kept = kept;
        // RFC 9438 (4.6) computes `ssthresh` from the bytes in flight, and `w_max` from the window.
        let left = congested.in_flight as f64 * kept;
        window.ssthresh = (left as u64).max(2 * congested.mss);
    }

    /// Handles congestion. The fraction `kept` of the window remains, more than 0 and less than 1.
    pub(crate) fn on_congestion(&mut self, window: &mut Window, congested: &Congested, kept: f64) {
        self.back_off(window, congested, kept);
        window.cwnd = window.ssthresh;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            // While the window is not the limit, no epoch runs (see the deviations).
            self.epoch = Time::MAX;
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = ack.open(window);
            if acked == 0 {
                return;
            }
        }
        let mss = ack.mss as f64;
        let cwnd = (window.cwnd as f64 + self.fraction) / mss;
        let acked = acked as f64 / mss;
        if self.epoch == Time::MAX {
            self.start_epoch(ack.now, cwnd);
        }
        let seconds = ack.now.since(self.epoch).as_secs_f64();
        let reno = if self.w_est < self.cwnd_prior {
            // With this growth, a Reno flow that also keeps the fraction `kept` has the average window of Reno (4.3).
            3.0 * (1.0 - self.kept) / (1.0 + self.kept)
        } else {
            1.0
        };
        self.w_est += reno * acked / cwnd;
        let grown = if self.w_cubic(seconds) < self.w_est {
            // Reno-friendly region (4.3): here the cubic function would give a smaller window than Reno.
            // The window never shrinks on an ACK.
            self.w_est.max(cwnd)
        } else {
            // The target is the window one round trip later (4.4).
            // The target is at most 1.5 windows, so that a window grows no faster than in slow start.
            let target = self.w_cubic(seconds + ack.srtt.as_secs_f64());
            cwnd + (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd * acked
        };
        let bytes = grown * mss;
        window.cwnd = bytes as u64;
        // `cwnd` is an integer.
        // A large window grows by less than a byte per ACK, so the fraction of a byte must be kept.
        self.fraction = bytes - window.cwnd as f64;
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.on_congestion(window, congested, BETA);
    }

    /// Sets `ssthresh` as for a loss (4.8). After this call, the sender sets `cwnd` to one segment.
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.back_off(window, congested, BETA);
    }
}
