//! Loss that duplicate ACKs and SACK blocks show, and the recovery from it. RFC 5681, 3.2; RFC 6582; RFC 6675;
//! RFC 3042.

use super::{AckInput, Sender};
use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::CongestionControl;
use tailcut_units::Time;

impl Sender {
    /// RFC 6582, 3.2, steps 3 to 5, or RFC 6675. Says whether the timer is to be restarted.
    #[cold]
    pub(super) fn on_ack_in_recovery(&mut self, acked: u64, config: &TcpConfig) -> bool {
        let mss = u64::from(config.mss);
        if self.una >= self.recover {
            self.recovering = false;
            self.resend_first = false;
            self.duplicate_acks = 0;
            self.limited_bytes = 0;
            self.window.cwnd = if config.sack {
                self.window.ssthresh
            } else {
                self.window
                    .ssthresh
                    .min((self.nxt - self.una).max(mss) + mss)
            };
            return true;
        }
        if config.sack {
            return true;
        }
        self.resend_first = true;
        self.window.cwnd = self.window.cwnd.saturating_sub(acked);
        if acked >= mss {
            self.window.cwnd += mss;
        }
        !core::mem::replace(&mut self.partial_seen, true)
    }

    pub(super) fn on_duplicate_ack(&mut self, now: Time, config: &TcpConfig) {
        self.duplicate_acks = self.duplicate_acks.saturating_add(1);
        // Limited transmit takes over: what is left of a burst asks the window again.
        self.burst_left = 0;
        if self.recovering {
            if !config.sack {
                self.window.cwnd += u64::from(config.mss);
            }
            return;
        }
        let threshold = u16::from(config.duplicate_ack_threshold);
        let reported_lost = self
            .scoreboard
            .as_ref()
            .is_some_and(|board| board.is_lost(self.una));
        if self.duplicate_acks < threshold && !reported_lost {
            return;
        }
        // After a timeout, duplicate ACKs for what was resent show no new loss. An ACK of just
        // `recover` may still be such a one, unless SACK blocks tell (RFC 6582, 3.2; RFC 6675, 5).
        let past = self.una > self.recover || (config.sack && self.una == self.recover);
        if past || self.recover == 0 {
            self.start_recovery(now, config);
        }
    }

    pub(super) fn start_recovery(&mut self, now: Time, config: &TcpConfig) {
        let congested = self.congested(now, config);
        self.controller.on_loss(&mut self.window, &congested);
        self.recovering = true;
        self.partial_seen = false;
        self.resend_first = true;
        self.recover = self.high;
        self.burst_left = 0;
        if config.sack {
            let board = self.scoreboard.get_or_insert_default();
            board.start_recovery(self.una);
            board.update(
                self.una,
                self.nxt,
                u64::from(config.mss),
                config.duplicate_ack_threshold,
            );
        } else {
            let left_network = u64::from(config.duplicate_ack_threshold) * u64::from(config.mss);
            self.window.cwnd += left_network;
        }
    }

    /// Takes the SACK blocks of an ACK. Says whether they told something new.
    pub(super) fn on_blocks(&mut self, input: &AckInput, config: &TcpConfig) -> bool {
        let told = input.blocks[0].end > 0 && input.ack >= self.una;
        if !told && self.scoreboard.is_none() {
            return false;
        }
        let una = self.una.max(input.ack);
        let board = self.scoreboard.get_or_insert_default();
        board.on_cumulative(una);
        let news = told && board.on_blocks(input.ack, self.high, input.blocks);
        let nxt = self.nxt.max(una);
        board.update(
            una,
            nxt,
            u64::from(config.mss),
            config.duplicate_ack_threshold,
        );
        if board.is_empty() && !(self.recovering && una < self.recover) {
            self.scoreboard = None;
        }
        news
    }
}
