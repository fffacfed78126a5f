//! DCTCP: RFC 8257, sender side. Without marks it is NewReno to the byte.
//!
//! Deviations: the window is not cut below two segments (as in Linux; the RFC gives no floor).

use super::control::{Ack, Congested, CongestionControl, EcnUse, Window};
use super::newreno::NewReno;

/// DCTCP's estimate of how much is marked, over NewReno's window.
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
    /// The g of RFC 8257, 4.2.
    pub const GAIN: f64 = 1.0 / 16.0;
    /// The first estimate of RFC 8257, 4.2: the first mark halves the window.
    pub const FIRST_ALPHA: f64 = 1.0;

    /// The state of a new connection. `gain` is g, in (0, 1]; `alpha` the first estimate, in [0, 1].
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

    /// The estimated fraction of bytes that were marked.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl CongestionControl for Dctcp {
    /// RFC 8257, 3.3, steps 1 to 9.
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
        self.growth.on_ack(window, ack);
    }

    /// RFC 8257, 3.5: as any TCP.
    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.growth.on_loss(window, congested);
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.growth.on_timeout(window, congested);
    }

    /// RFC 8257, 3.3: `cwnd (1 - alpha / 2)`.
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        let kept = window.cwnd as f64 * (1.0 - self.alpha / 2.0);
        window.cwnd = (kept as u64).max(2 * congested.mss);
        window.ssthresh = window.cwnd;
        self.growth = NewReno::new();
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Accurate
    }
}
