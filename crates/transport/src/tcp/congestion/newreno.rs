//! NewReno: the window of RFC 5681 with slow start, congestion avoidance, and halving after a loss.
//!
//! Deviation: the window grows by acknowledged bytes, not by ACKs (RFC 3465 with L = 2 segments).
//! With counted bytes, delayed ACKs do not slow the growth of the window.

use super::control::{Ack, Congested, CongestionControl, Window};

/// Congestion window of NewReno. The sender implements the recovery of RFC 6582, for all controllers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NewReno {
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    credit: u64,
}

impl NewReno {
    /// Creates the state of a new connection.
    pub const fn new() -> Self {
        Self { credit: 0 }
    }
}

/// Returns the new `ssthresh` in bytes: half of the bytes in flight, at least two segments (RFC 5681, equation 4).
fn half(congested: &Congested) -> u64 {
    (congested.in_flight / 2).max(2 * congested.mss)
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = ack.open(window);
            if acked == 0 {
                return;
            }
        }
        // Byte counting (RFC 3465, 2.1): one segment per window of acknowledged bytes.
        // RFC 5681 adds a fraction of a segment per ACK instead, so a receiver that delays ACKs would halve the growth.
        self.credit += acked;
        if self.credit >= window.cwnd {
            // The remaining bytes count towards the next segment, so that no bytes of large ACKs are lost.
            self.credit -= window.cwnd;
            window.cwnd += ack.mss;
        }
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        // A loss and a timeout set the same `ssthresh` (RFC 5681, 3.1 and 3.2). The two events differ only in `cwnd`.
        // A loss sets `cwnd` to `ssthresh`. After a timeout, the sender itself sets `cwnd` to one segment.
        self.on_timeout(window, congested);
        window.cwnd = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        window.ssthresh = half(congested);
        // The next growth needs a full window of new ACKs. Bytes acknowledged under the old window do not count.
        self.credit = 0;
    }
}
