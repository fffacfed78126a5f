//! CUBIC: RFC 9438. Windows in segments, time in seconds.
//!
//! Deviations: no HyStart++ (RFC 9406; Linux's HyStart is [`super::HyStart`]) and no rollback of a spurious congestion response (4.9). A
//! time in which the window is not the limit ends the epoch; the next one starts from the window as
//! it then is (5.8 asks only that such time not count).

use super::control::{Ack, Congested, CongestionControl, Window};
use tailcut_units::Time;

/// How fast the window grows (5.1).
const C: f64 = 0.4;
/// What remains of the window after congestion (4.6).
const BETA: f64 = 0.7;

/// CUBIC's window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cubic {
    /// The window before the last congestion, or less by fast convergence.
    w_max: f64,
    /// Seconds from the start of the epoch to the plateau at `w_max`.
    k: f64,
    /// What a Reno flow would have by now.
    w_est: f64,
    /// The window at the last congestion.
    cwnd_prior: f64,
    /// The fraction of a byte by which the true window exceeds the integer one.
    fraction: f64,
    /// What remained of the window at the last congestion: [`BETA`], unless a controller of its own says
    /// otherwise.
    kept: f64,
    /// When the current stage of congestion avoidance began; `Time::MAX` outside one.
    epoch: Time,
}

impl Default for Cubic {
    fn default() -> Self {
        Self::new()
    }
}

impl Cubic {
    /// The state of a new connection.
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
            self.w_max = cwnd;
            self.k = 0.0;
        }
    }

    /// `C`, in proportion to the last cut: so the average window at a given loss rate hardly depends on how deep cuts
    /// are (equation 6 of RFC 9438, with its `C (3 + BETA) / (1 - BETA)`).
    fn growth(&self) -> f64 {
        C * ((1.0 - self.kept) / (1.0 - BETA))
    }

    /// Equation 1.
    fn w_cubic(&self, seconds: f64) -> f64 {
        let from_plateau = seconds - self.k;
        self.growth() * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// 4.6 and 4.7: what every congestion event sets.
    fn back_off(&mut self, window: &mut Window, congested: &Congested, kept: f64) {
        let cwnd = window.cwnd as f64 / congested.mss as f64;
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + kept) / 2.0
        } else {
            cwnd
        };
        self.cwnd_prior = cwnd;
        self.fraction = 0.0;
        self.epoch = Time::MAX;
        self.kept = kept;
        let left = congested.in_flight as f64 * kept;
        window.ssthresh = (left as u64).max(2 * congested.mss);
    }

    /// Congestion after which the share `kept` of the window remains, more than 0 and less than 1.
    pub(crate) fn on_congestion(&mut self, window: &mut Window, congested: &Congested, kept: f64) {
        self.back_off(window, congested, kept);
        window.cwnd = window.ssthresh;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            self.epoch = Time::MAX;
            return;
        }
        if window.in_slow_start() {
            window.cwnd += ack.acked.min(ack.slow_start_limit);
            return;
        }
        let mss = ack.mss as f64;
        let cwnd = (window.cwnd as f64 + self.fraction) / mss;
        let acked = ack.acked as f64 / mss;
        if self.epoch == Time::MAX {
            self.start_epoch(ack.now, cwnd);
        }
        let seconds = ack.now.since(self.epoch).as_secs_f64();
        let reno = if self.w_est < self.cwnd_prior {
            // The growth of a Reno flow that backs off so far and gets Reno's average window (4.3).
            3.0 * (1.0 - self.kept) / (1.0 + self.kept)
        } else {
            1.0
        };
        self.w_est += reno * acked / cwnd;
        let grown = if self.w_cubic(seconds) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            let target = self.w_cubic(seconds + ack.srtt.as_secs_f64());
            cwnd + (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd * acked
        };
        let bytes = grown * mss;
        window.cwnd = bytes as u64;
        self.fraction = bytes - window.cwnd as f64;
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.on_congestion(window, congested, BETA);
    }

    /// 4.8.
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.back_off(window, congested, BETA);
    }
}
