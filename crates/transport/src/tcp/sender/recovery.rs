//! Fast retransmit and fast recovery, for losses that duplicate ACKs and SACK blocks show.
//! The sources are RFC 5681 (3.2), RFC 6582, RFC 6675 and RFC 3042.

use super::{AckInput, Sender};
use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::{CongestionControl, EcnUse};
use tailcut_units::Time;

impl Sender {
    /// Handles an ACK during recovery (RFC 6582, 3.2, steps 3 to 5, or RFC 6675).
    /// Returns whether the timer must restart.
    #[cold]
    pub(super) fn on_ack_in_recovery(&mut self, acked: u64, config: &TcpConfig) -> bool {
        let mss = u64::from(config.mss);
        if self.una >= self.recover {
            self.recovering = false;
            self.resend_first = false;
            self.duplicate_acks = 0;
            self.limited_bytes = 0;
            // RFC 6582, 3.2, step 3, option 1: after a full ACK little may be in flight.
            // After a full ACK, a window of `ssthresh` would release a burst.
            // With SACK, `pipe` has kept the bytes in flight near `ssthresh`.
            self.window.cwnd = if config.sack {
                self.window.ssthresh
            } else {
                self.window
                    .ssthresh
                    .min((self.nxt - self.una).max(mss) + mss)
            };
            return true;
        }
        // With SACK, the scoreboard plans the retransmissions, and every ACK for new data restarts the timer.
        if config.sack {
            return true;
        }
        // This is a partial ACK, so the next segment is lost too. The window shrinks by the acknowledged bytes.
        // After a partial ACK, the window grows by one segment for the retransmission (RFC 6582, 3.2, step 3).
        self.resend_first = true;
        self.window.cwnd = self.window.cwnd.saturating_sub(acked);
        if acked >= mss {
            self.window.cwnd += mss;
        }
        // Only the first partial ACK restarts the timer, so that a timeout can end a recovery of many losses.
        !core::mem::replace(&mut self.partial_seen, true)
    }

    pub(super) fn on_duplicate_ack(&mut self, now: Time, config: &TcpConfig) {
        self.duplicate_acks = self.duplicate_acks.saturating_add(1);
        // Limited transmit decides which segments leave now. The rest of a burst must fit into the window again.
        self.burst_left = 0;
        if self.recovering {
            // Each duplicate ACK shows that a segment has left the network (RFC 5681, 3.2, step 4).
            // With SACK, `pipe` already accounts for segments that have left the network.
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
        // After a timeout, duplicate ACKs for segments that were sent again show no new loss.
        // Without SACK, an ACK of exactly `recover` may be a duplicate for a repeated segment (RFC 6582, 3.2;
        // RFC 6675, 5).
        // Before the first loss `recover` is 0, and `una` may be 0 too.
        let past = self.una > self.recover || (config.sack && self.una == self.recover);
        if past || self.recover == 0 {
            self.start_recovery(now, config);
        }
    }

    /// Returns whether a mark has already reduced the window that contained the first unacknowledged segment.
    /// A window is reduced once (RFC 3168, 6.1.2).
    /// DCTCP is an exception: a mark may reduce DCTCP's window by less than a loss.
    pub(super) fn mark_has_reduced(&self) -> bool {
        self.una < self.mark_answered && self.controller.ecn_use() == EcnUse::Classic
    }

    pub(super) fn start_recovery(&mut self, now: Time, config: &TcpConfig) {
        if self.controller.ecn_use() == EcnUse::Classic {
            // The receiver ends its ECN echo after any reduction (RFC 3168, 6.1.2).
            self.reduced = true;
        }
        if self.mark_has_reduced() {
            self.window.cwnd = self.window.ssthresh;
        } else {
            let congested = self.congested(now, config);
            self.controller.on_loss(&mut self.window, &congested);
        }
        self.recovering = true;
        self.partial_seen = false;
        self.resend_first = true;
        // The ACK of everything sent so far ends the recovery (RFC 6582, 3.2).
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
            // Each duplicate ACK shows that one segment has left the network (RFC 5681, 3.2, step 3).
            let left_network = u64::from(config.duplicate_ack_threshold) * u64::from(config.mss);
            self.window.cwnd += left_network;
        }
    }

    /// Reads the SACK blocks of an ACK. Returns whether they report new bytes.
    pub(super) fn on_blocks(&mut self, input: &AckInput, config: &TcpConfig) -> bool {
        // An ACK below `una` arrives after a newer ACK. It can still report arrived data (RFC 6675, 2: "any ACK").
        let reports = input.blocks[0].end > 0;
        if !reports && self.scoreboard.is_none() {
            return false;
        }
        // `on_new_ack` runs later, so `self.una` may still be lower than this ACK.
        let una = self.una.max(input.ack);
        let board = self.scoreboard.get_or_insert_default();
        board.on_cumulative(una);
        let news = reports && board.on_blocks(input.ack, una, self.high, input.blocks);
        let nxt = self.nxt.max(una);
        board.update(
            una,
            nxt,
            u64::from(config.mss),
            config.duplicate_ack_threshold,
        );
        // During a recovery the scoreboard stays, because it stores the progress of the retransmissions.
        if board.is_empty() && !(self.recovering && una < self.recover) {
            self.scoreboard = None;
        }
        news
    }
}
