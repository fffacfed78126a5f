//! The window of RFC 5681: slow start, congestion avoidance, halving on loss.
//!
//! Deviations: bytes are counted, not ACKs (RFC 3465 with L = 2 segments), so that delayed ACKs do
//! not slow the growth.

use super::control::{Ack, Congested, CongestionControl, Window};

/// NewReno's window; the recovery that gives it its name is the sender's.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NewReno {
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    credit: u64,
}

impl NewReno {
    /// The state of a new connection.
    pub const fn new() -> Self {
        Self { credit: 0 }
    }
}

/// RFC 5681, equation 4.
fn half(congested: &Congested) -> u64 {
    (congested.in_flight / 2).max(2 * congested.mss)
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            return;
        }
        if window.in_slow_start() {
            window.cwnd += ack.acked.min(ack.slow_start_limit);
            return;
        }
        self.credit += ack.acked;
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.cwnd += ack.mss;
        }
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.on_timeout(window, congested);
        window.cwnd = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        window.ssthresh = half(congested);
        self.credit = 0;
    }
}
