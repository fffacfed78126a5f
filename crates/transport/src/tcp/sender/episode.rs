//! State of loss recovery of one connection.
//! The state contains those counters of Linux's `tcp_sock` that only a connection with losses needs.
//! The sources are RFC 8985 (RACK and TLP), RFC 6937 (PRR), RFC 5682 (F-RTO) and RFC 3708 (undo by DSACK).

use super::flight::{Mark, Sent};
use crate::tcp::Stamp;
use tailcut_units::{Duration, Time};

/// Number of recoveries after which a wider reordering window shrinks again (RFC 8985, 6.2, step 4).
const WINDOW_PERSISTS: u8 = 16;

/// Phase of the sender (`icsk_ca_state` of Linux), in the order of severity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Phase {
    /// No loss, SACK block or mark needs a reaction.
    Open,
    /// SACK blocks or retransmissions are outstanding, but no loss is known.
    Disorder,
    /// The window is reduced after a mark, without a loss.
    Reduced,
    /// Lost segments are sent again.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// State of loss recovery.
#[derive(Debug)]
pub(super) struct Episode {
    pub(super) phase: Phase,
    /// Highest offset sent when the phase began. The ACK of this offset ends the phase.
    pub(super) phase_end: u64,
    pub(super) counts: Counts,
    pub(super) rack: Rack,
    pub(super) reduction: Reduction,
    pub(super) undo: Undo,
    pub(super) probe: Probe,
}

/// Bytes and segments in flight, by their state.
#[derive(Default, Debug)]
pub(super) struct Counts {
    /// Bytes that SACK blocks report.
    pub(super) sacked: u64,
    /// Segments that SACK blocks report.
    pub(super) sacked_segments: u32,
    /// Bytes that count as lost.
    pub(super) lost: u64,
    /// Bytes whose retransmission is in the network.
    pub(super) resent: u64,
    /// Segments whose retransmission is in the network.
    pub(super) resent_segments: u32,
    /// Offset at which the search for segments to send again starts. All lost segments below were sent again.
    pub(super) resend_from: u64,
    /// One past the highest offset that a SACK block reported; 0 before the first.
    pub(super) highest_sacked: u64,
}

/// State of RACK (RFC 8985, 6).
#[derive(Debug)]
pub(super) struct Rack {
    /// Send time and end of the arrived segment that was sent last (6.2, step 2).
    pub(super) newest: (Time, u64),
    /// Round-trip time of the segment in `newest`.
    pub(super) newest_rtt: Duration,
    /// Whether segments have arrived since the last search for losses.
    pub(super) advanced: bool,
    /// Number of reported segments above a hole that show a loss immediately, 3 to 300.
    pub(super) reordering: u16,
    pub(super) reordering_seen: bool,
    /// Reordering window in quarters of the minimum round-trip time, 1 to 255.
    pub(super) window_steps: u8,
    /// Number of recoveries until the reordering window returns to one step.
    pub(super) window_persists: u8,
    /// Whether a DSACK arrived since the last change of the reordering window.
    pub(super) dsack_seen: bool,
    /// Highest offset sent at the last change of the reordering window.
    pub(super) window_changed: u64,
}

/// Reduction of the window that is spread over a round trip (RFC 6937).
#[derive(Default, Debug)]
pub(super) struct Reduction {
    /// Window before the reduction, in bytes (RecoverFS).
    pub(super) prior_cwnd: u64,
    /// Bytes that arrived since the reduction began (prr_delivered).
    pub(super) delivered: u64,
    /// Bytes sent since the reduction began (prr_out).
    pub(super) out: u64,
}

/// State that decides whether a reduction of the window is undone.
#[derive(Default, Debug)]
pub(super) struct Undo {
    /// First unacknowledged offset when the reduction began; `None` if the reduction cannot be undone.
    pub(super) from: Option<u64>,
    /// Retransmissions since the reduction began that no DSACK has reported. `None` before the first retransmission.
    pub(super) resent: Option<u32>,
    /// Time stamp of the first retransmission; `Stamp::NONE` before it.
    pub(super) first_resent: Stamp,
    /// `ssthresh` before the reduction; 0 if a mark demands the reduction, which is then never undone.
    pub(super) prior_ssthresh: u64,
    /// Number of segments that the receiver reported as arrived twice.
    pub(super) dsacked: u32,
    /// Whether the next ACKs decide if the retransmission timeout was spurious (RFC 5682).
    pub(super) frto: bool,
    /// Whether retransmissions wait until new data is answered (RFC 5682, 3.1, step 2b).
    pub(super) frto_waits: bool,
}

/// Tail loss probe (RFC 8985, 7).
#[derive(Default, Debug)]
pub(super) struct Probe {
    /// Highest offset sent when the last probe left; `None` if no probe is in flight.
    pub(super) end: Option<u64>,
    /// Whether the probe repeats bytes. If not, it is new data.
    pub(super) repeats: bool,
    /// Whether a probe must leave.
    pub(super) due: bool,
}

impl Episode {
    pub(super) fn new(rtt: Duration, reordering: u16) -> Self {
        Self {
            phase: Phase::Open,
            phase_end: 0,
            counts: Counts::default(),
            rack: Rack {
                newest: (Time::ZERO, 0),
                newest_rtt: rtt,
                advanced: false,
                reordering,
                reordering_seen: false,
                window_steps: 1,
                window_persists: 0,
                dsack_seen: false,
                window_changed: 0,
            },
            reduction: Reduction::default(),
            undo: Undo::default(),
            probe: Probe::default(),
        }
    }

    /// Returns whether ACKs without SACK blocks and marks only let the window grow.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        let outstanding = self.counts.sacked | self.counts.lost | self.counts.resent;
        self.phase == Phase::Open && self.probe.end.is_none() && outstanding == 0
    }

    /// Returns whether the window is being reduced over a round trip.
    pub(super) fn reduces(&self) -> bool {
        matches!(self.phase, Phase::Reduced | Phase::Recovery)
    }

    /// Returns the time by which a segment may arrive late without counting as lost (RFC 8985, 6.2, step 4).
    /// `least` is the minimum round-trip time, and `smoothed` is the smoothed round-trip time.
    pub(super) fn reordering_window(&self, least: Duration, smoothed: Duration) -> Duration {
        // Without reordering so far, enough reports above a hole show a loss, as three duplicate ACKs do.
        let enough = self.counts.sacked_segments >= u32::from(self.rack.reordering);
        if !self.rack.reordering_seen && (self.phase >= Phase::Recovery || enough) {
            return Duration::ZERO;
        }
        (least / 4)
            .saturating_mul(u64::from(self.rack.window_steps))
            .min(smoothed)
    }

    /// Records the arrival of a segment that was sent at `at` and ends at `end` (RFC 8985, 6.2, step 2).
    pub(super) fn advance(
        &mut self,
        now: Time,
        (at, end): (Time, u64),
        repeated: bool,
        least: Duration,
    ) {
        let rtt = now.since(at);
        // The answer to the first transmission may arrive just after the second transmission.
        // An answer to the second transmission cannot arrive before the minimum round-trip time has passed.
        if repeated && rtt < least {
            return;
        }
        self.rack.advanced = true;
        self.rack.newest_rtt = rtt;
        self.rack.newest = self.rack.newest.max((at, end));
    }

    /// Adapts the reordering window (RFC 8985, 6.2, step 4): a DSACK widens it, at most once in a round trip.
    /// Recoveries without a DSACK narrow the window again. `una` and `high` are offsets of the sender.
    pub(super) fn adapt_reordering_window(&mut self, una: u64, high: u64) {
        if una < self.rack.window_changed {
            self.rack.dsack_seen = false;
        }
        if self.rack.dsack_seen {
            self.rack.window_steps = self.rack.window_steps.saturating_add(1);
            self.rack.dsack_seen = false;
            self.rack.window_changed = high;
            self.rack.window_persists = WINDOW_PERSISTS;
        } else if self.rack.window_persists == 0 {
            self.rack.window_steps = 1;
        }
    }

    /// Counts a recovery that was undone because a DSACK showed that it was needless.
    pub(super) fn on_undone_by_dsack(&mut self) {
        self.rack.window_persists = (self.rack.window_persists + 1).min(WINDOW_PERSISTS);
    }

    /// Counts a recovery that was needed.
    pub(super) fn on_recovered(&mut self) {
        self.rack.window_persists = self.rack.window_persists.saturating_sub(1);
    }

    /// Counts `segments` that the receiver received twice.
    pub(super) fn on_repeated(&mut self, segments: u32) {
        self.undo.resent = self.undo.resent.map(|left| left.saturating_sub(segments));
    }

    /// Records that no retransmission of a segment with `length` bytes is in the network any more.
    pub(super) fn clear_resent(&mut self, sent: &mut Sent, length: u64) {
        if sent.has(Mark::RESENT) {
            sent.clear(Mark::RESENT);
            self.counts.resent -= length;
            self.counts.resent_segments -= 1;
        }
    }

    /// Marks a segment that starts at `start` as lost (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, sent: &mut Sent, start: u64) {
        let length = sent.end() - start;
        if sent.has(Mark::LOST) {
            self.clear_resent(sent, length);
        } else {
            sent.set(Mark::LOST);
            self.counts.lost += length;
        }
        self.counts.resend_from = self.counts.resend_from.min(start);
    }

    /// Returns whether DSACKs show that no segment was lost since the reduction began.
    pub(super) fn all_repeated(&self) -> bool {
        self.undo.from.is_some() && self.undo.resent == Some(0)
    }

    /// Returns whether the reduction was needless.
    /// DSACKs can show this. An ACK that answers a segment from before the first retransmission can show this too.
    /// The rule is `tcp_may_undo` of Linux.
    pub(super) fn may_undo(&self, answers_original: bool) -> bool {
        self.all_repeated() || self.undo.from.is_some() && answers_original
    }

    /// Returns the number of bytes that may leave now, by proportional rate reduction.
    /// The rule is RFC 6937 with its reduction bound PRR-SSRB.
    /// `arrived` is the number of bytes that the ACK reports as arrived.
    pub(super) fn allowance(
        &mut self,
        arrived: u64,
        ssthresh: u64,
        in_flight: u64,
        mss: u64,
        progress: bool,
    ) -> u64 {
        self.reduction.delivered += arrived;
        let allowance = if in_flight > ssthresh {
            // Linux counts segments and rounds up.
            let share = u128::from(ssthresh) * u128::from(self.reduction.delivered);
            let share = share.div_ceil(u128::from(self.reduction.prior_cwnd.max(1))) as u64;
            (share.div_ceil(mss) * mss).saturating_sub(self.reduction.out)
        } else {
            // The slow-start bound applies only while retransmissions make progress and no retransmission is lost.
            let bound = self
                .reduction
                .delivered
                .saturating_sub(self.reduction.out)
                .max(arrived);
            let bound = bound + if progress { mss } else { 0 };
            bound.min(ssthresh - in_flight)
        };
        // The first retransmission of a recovery leaves even if the window does not admit it.
        allowance.max(if self.reduction.out == 0 { mss } else { 0 })
    }
}
