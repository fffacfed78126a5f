//! Rules of the congestion window. All except [`Sender::go_back`] are the same for every kind of loss recovery.

use super::Sender;
use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::{Congested, CongestionControl};
use tailcut_units::Time;

impl Sender {
    /// Keeps the window between one segment and the configured maximum.
    #[inline]
    pub(super) fn clamp_window(&mut self, config: &TcpConfig) {
        let least = u64::from(config.mss);
        self.window.cwnd = self.window.cwnd.clamp(least, config.max_cwnd);
    }

    /// Shrinks the window of a connection that was idle for more than a timeout (`tcp_cwnd_restart` of Linux).
    pub(crate) fn restart_after_idle(&mut self, now: Time, config: &TcpConfig) {
        let Some(flight) = &self.flight else { return };
        let rto = self.rtt.rto();
        let mut idle = now.since(flight.last_sent);
        if self.high > self.una || idle <= rto {
            return;
        }
        let cwnd = self.window.cwnd;
        // The threshold keeps three quarters of the window, as in `tcp_current_ssthresh` of Linux (RFC 2861).
        self.window.ssthresh = self.window.ssthresh.max(cwnd / 2 + cwnd / 4);
        let least = config.initial_cwnd().min(cwnd);
        while idle > rto && self.window.cwnd > least {
            idle = idle.saturating_sub(rto);
            self.window.cwnd /= 2;
        }
        self.window.cwnd = self.window.cwnd.max(least);
    }

    /// Returns the largest number of bytes by which one ACK opens the window in slow start.
    #[inline]
    pub(super) fn slow_start_limit(&self, after_timeout: bool, config: &TcpConfig) -> u64 {
        let mss = u64::from(config.mss);
        match config.slow_start_limit {
            Some(_) if after_timeout => mss,
            Some(segments) => u64::from(segments) * mss,
            None => u64::MAX,
        }
    }

    /// Returns the congestion event for the controller.
    /// `in_flight` is the FlightSize of RFC 5681, limited to the window.
    /// If `in_flight` were not limited to the window, a loss could raise the window.
    /// Bytes that SACK blocks report still count as sent and not acknowledged.
    /// At the end of a recovery, more bytes may be in flight than the window admits.
    pub(super) fn congested(&self, now: Time, config: &TcpConfig) -> Congested {
        let flight = (self.nxt - self.una).saturating_sub(u64::from(self.limited_bytes));
        let flight = if config.reduces_window {
            u64::MAX
        } else {
            flight
        };
        Congested {
            now,
            in_flight: flight.min(self.window.cwnd),
            mss: u64::from(config.mss),
        }
    }

    /// Makes the first unacknowledged segment the next to send after a timeout, and reduces the window.
    pub(super) fn go_back(&mut self, now: Time, config: &TcpConfig) {
        if self.recovering {
            // The recovery has already reduced `ssthresh` for this loss.
            // Duplicate ACKs have released segments, which also count as bytes in flight.
            // With released segments, the bytes in flight are only an upper bound (RFC 5681, 3.1).
            let flight = self.nxt - self.una;
            let most = (flight / 2).max(2 * u64::from(config.mss));
            self.window.ssthresh = self.window.ssthresh.min(most);
        } else if self.timeouts_in_row == 1 && !self.mark_has_reduced() {
            let congested = self.congested(now, config);
            // Only the first timeout in a row sets `ssthresh`.
            // Further timeouts of the same segment do not change it (RFC 5681, 3.1).
            self.controller.on_timeout(&mut self.window, &congested);
        }
        // RFC 5681, 3.1: the loss window is one segment, for any initial window.
        self.window.cwnd = u64::from(config.mss);
        self.recovering = false;
        self.resend_first = false;
        // Duplicate ACKs below this offset show no new loss (RFC 6582, 3.2, step 4).
        self.recover = self.high;
        self.nxt = self.una;
        self.duplicate_acks = 0;
        self.limited_bytes = 0;
    }
}
