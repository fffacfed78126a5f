//! DCTCP, the part of RFC 8257 for the sender. Without marks DCTCP behaves exactly like NewReno.
//!
//! Deviation: a mark does not reduce the window below two segments (as in Linux; the RFC gives no minimum).

use super::control::{Ack, Congested, CongestionControl, EcnUse, Window};
use super::newreno::NewReno;

/// Congestion control of DCTCP: NewReno with an estimate of the fraction of marked bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dctcp {
    growth: NewReno,
    alpha: f64,
    gain: f64,
    window_end: u64,
    acked: u64,
    marked: u64,
}

impl Dctcp {
    /// Weight of the newest window in the estimate: g of RFC 8257, 4.2.
    pub const GAIN: f64 = 1.0 / 16.0;
    /// First estimate (RFC 8257, 4.2). With 1.0 the first mark halves the window.
    pub const FIRST_ALPHA: f64 = 1.0;

    /// Creates the state of a new connection. `gain` is g, in (0, 1]; `alpha` is the first estimate, in [0, 1].
    pub const fn new(gain: f64, alpha: f64) -> Self {
        Self {
            growth: NewReno::new(),
            alpha,
            gain,
            window_end: 0,
            acked: 0,
            marked: 0,
        }
    }

    /// Returns the estimated fraction of marked bytes, from 0 to 1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl CongestionControl for Dctcp {
    /// Counts acknowledged and marked bytes, and updates the estimate once per window (RFC 8257, 3.3, steps 1 to 9).
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acked += ack.acked;
        if ack.marked {
            self.marked += ack.acked;
        }
        if ack.una > self.window_end {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = self.alpha * (1.0 - self.gain) + self.gain * fraction;
            self.window_end = ack.nxt;
            self.acked = 0;
            self.marked = 0;
        }
        // The estimate is updated first.
        // If this ACK ends a window and has a mark, `on_mark` is called next and uses the new estimate.
        self.growth.on_ack(window, ack);
    }

    /// Reacts like NewReno (RFC 8257, 3.5).
    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.growth.on_loss(window, congested);
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.growth.on_timeout(window, congested);
    }

    /// Sets the window to `cwnd (1 - alpha / 2)` (RFC 8257, 3.3).
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        let kept = window.cwnd as f64 * (1.0 - self.alpha / 2.0);
        // The minimum is two segments, as after a loss (RFC 5681, equation 4).
        window.cwnd = (kept as u64).max(2 * congested.mss);
        window.ssthresh = window.cwnd;
        // As after a loss, the next growth needs a full window of new ACKs.
        self.growth = NewReno::new();
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Accurate
    }
}
