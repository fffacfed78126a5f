//! Sending half of a connection: new data, retransmissions, and the retransmission timer.
//! The sources are RFC 5681, 6298 (section 5), 6582, 3042 and 6675.

mod by_time;
mod episode;
mod flight;
mod recovery;
mod window;

use self::flight::Flight;
use super::config::TcpConfig;
use super::congestion::{Ack, Congested, CongestionControl, Controller, Window};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::FlowStats;
use crate::pias::Tags;
use crate::tcp::{SackBlock, Stamp};
use alloc::boxed::Box;
use tailcut_units::{Duration, Time};

/// Value of `timed_end` while no segment is being timed.
const UNTIMED: u64 = u64::MAX;

/// State of the sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    /// First byte that is not acknowledged.
    una: u64,
    /// Next byte to send. After a timeout this is `una` again.
    nxt: u64,
    /// One past the highest offset that was ever sent.
    high: u64,
    /// Number of bytes that the application has written.
    written: u64,
    window: Window,
    /// Expiry of the retransmission timer; `Time::MAX` while the timer is off.
    pub(crate) rto_deadline: Time,
    /// Offset whose ACK ends the round trip that is being timed; `UNTIMED` without one.
    timed_end: u64,
    timed_at: Time,
    /// Offset up to which the window limited the sender. The window may grow until this offset is acknowledged.
    limited_until: u64,
    /// Highest offset sent when the sender found the last loss (RFC 6582); 0 before the first loss.
    recover: u64,
    /// Highest offset sent at the last reaction to a mark; 0 before the first mark.
    mark_answered: u64,
    rtt: RttEstimator,
    scoreboard: Option<Box<Scoreboard>>,
    /// Segments in flight, for a connection that detects losses by time.
    /// `None` before the first segment, and in connections that do not detect losses by time.
    flight: Option<Box<Flight>>,
    /// Bytes sent by limited transmit. They do not count as in flight when a loss is found.
    limited_bytes: u32,
    /// Payload bytes of a large-send burst that have not left.
    burst_left: u32,
    retransmissions: u32,
    timeouts: u32,
    payload_sent: u64,
    /// Start of the byte count that gives the class of a segment: a pair of an offset and a value of `payload_sent`.
    /// `None` means that the count starts with the stream. The pair is boxed because few connections need it.
    relieved_at: Option<Box<(u64, u64)>>,
    duplicate_acks: u16,
    /// Number of timeouts since data was last acknowledged.
    timeouts_in_row: u8,
    recovering: bool,
    /// Whether the first unacknowledged segment must be sent again. The window does not limit this retransmission.
    resend_first: bool,
    /// Whether a partial ACK has restarted the timer in this recovery (the "impatient" variant of RFC 6582, 3.2).
    partial_seen: bool,
    finishing: bool,
    /// Whether the next segment of new data must have the flag CWR (classic ECN).
    reduced: bool,
    controller: Controller,
}

/// Segment that may leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) offset: u64,
    pub(crate) payload: u32,
    pub(crate) fin: bool,
}

/// Fields of an ACK that the sender uses.
pub(crate) struct AckInput<'a> {
    pub(crate) now: Time,
    pub(crate) ack: u64,
    /// Whether the segment has no payload besides the ACK.
    pub(crate) pure: bool,
    /// Whether the segment has the flag ECN-Echo and ECN was negotiated.
    pub(crate) marked: bool,
    pub(crate) blocks: &'a [SackBlock; 3],
    /// Time stamp that the segment echoes.
    pub(crate) echo: Stamp,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            una: 0,
            nxt: 0,
            high: 0,
            written: 0,
            window: Window {
                cwnd: config.initial_cwnd(),
                ssthresh: config.initial_ssthresh,
            },
            rto_deadline: Time::MAX,
            timed_end: UNTIMED,
            timed_at: Time::ZERO,
            limited_until: 0,
            recover: 0,
            mark_answered: 0,
            rtt: RttEstimator::new(config.initial_rto),
            scoreboard: None,
            flight: None,
            limited_bytes: 0,
            burst_left: 0,
            retransmissions: 0,
            timeouts: 0,
            payload_sent: 0,
            relieved_at: None,
            duplicate_acks: 0,
            timeouts_in_row: 0,
            recovering: false,
            resend_first: false,
            partial_seen: false,
            finishing: false,
            reduced: false,
            controller: config.new_controller(),
        }
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }
    pub(crate) fn window(&self) -> Window {
        self.window
    }
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    pub(crate) fn acknowledged(&self) -> u64 {
        // The FIN has the offset after the last byte, so the result is limited to the written bytes.
        self.una.min(self.written)
    }
    pub(crate) fn stats(&self) -> FlowStats {
        FlowStats {
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            copies: 1,
            payload_sent: self.payload_sent,
        }
    }
    /// Returns the class of a segment at `offset`. `sent` is the number of bytes that were sent before the segment.
    #[inline]
    pub(crate) fn class(&self, tags: &Tags, offset: u64, sent: u64) -> u8 {
        let (from, sent_before) = self.relieved_at.as_deref().copied().unwrap_or_default();
        tags.class(offset.saturating_sub(from), sent - sent_before)
    }
    /// Returns the number of written bytes that have never left; `None` after `finish`.
    pub(crate) fn unsent(&self) -> Option<u64> {
        (!self.finishing).then(|| self.written.saturating_sub(self.high))
    }
    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.finishing {
            self.written += bytes;
        }
    }
    pub(crate) fn finish(&mut self) {
        self.finishing = true;
    }
    /// Returns whether the peer has acknowledged the FIN.
    #[inline]
    pub(crate) fn fin_acknowledged(&self) -> bool {
        // The FIN has the offset after the last byte, so only the ACK of the FIN is above `written`.
        self.una > self.written
    }
    /// Returns whether `ack` acknowledges only data that was sent.
    #[inline]
    pub(crate) fn accepts(&self, ack: u64) -> bool {
        ack <= self.high
    }
    /// Returns the offset in the header of a segment without payload.
    #[inline]
    pub(crate) fn next_offset(&self) -> u64 {
        self.nxt
    }
    /// Returns whether the sender is in the middle of a large-send burst.
    #[inline]
    pub(crate) fn in_burst(&self) -> bool {
        self.burst_left > 0
    }
    /// Returns whether the next data segment must have the flag CWR, and clears `reduced`.
    pub(crate) fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.reduced)
    }

    // The handshake uses the same timer and the same estimator as data.

    pub(crate) fn on_syn_sent(&mut self, now: Time, again: bool) {
        self.timed_at = now;
        self.retransmissions += u32::from(again);
        self.rto_deadline = now.saturating_add(self.rtt.rto());
    }

    /// Handles a timeout of the SYN or SYN-ACK. The first `linear` timeouts do not double the timeout.
    pub(crate) fn on_syn_timeout(&mut self, linear: u8, config: &TcpConfig) {
        self.timeouts += 1;
        if self.timeouts > u32::from(linear) {
            self.rtt.back_off(config.max_rto);
        }
        self.rto_deadline = Time::MAX;
    }

    /// Ends the handshake and uses its round trip as a sample.
    /// There is no sample if this end sent its SYN or SYN-ACK twice (Karn's algorithm).
    /// The window starts at one segment if the cause was a timeout (RFC 5681, 3.1). Linux needs two timeouts for this.
    pub(crate) fn on_established(&mut self, now: Time, resent: bool, config: &TcpConfig) {
        self.rto_deadline = Time::MAX;
        if self.timeouts > u32::from(config.lost_syn_keeps_window) {
            self.window.cwnd = u64::from(config.mss);
        }
        if !resent {
            let sample = now.since(self.timed_at);
            self.rtt.on_sample(sample, config);
        } else if config.lost_syn_keeps_window {
            self.rtt = RttEstimator::new(config.initial_rto.saturating_mul(3).min(config.max_rto));
        }
    }

    // Segments that may be sent.

    /// Returns the segment that may leave now, if any.
    #[inline]
    pub(crate) fn plan(&self, config: &TcpConfig) -> Option<Plan> {
        // A host that only receives calls this for each arriving segment, so the check must be cheap.
        if self.una == self.written && !self.finishing {
            return None;
        }
        self.plan_unacknowledged(config)
    }

    /// Returns the segment that may leave now, as `plan` does, while bytes or the FIN are not acknowledged.
    fn plan_unacknowledged(&self, config: &TcpConfig) -> Option<Plan> {
        // The window does not limit a fast retransmission (RFC 5681, 3.2).
        // The window does not limit the retransmission after a partial ACK either (RFC 6582, 3.2).
        if self.resend_first {
            return Some(self.piece(self.una, u64::MAX, config));
        }
        if let Some(flight) = &self.flight {
            if flight.is_calm() {
                return self.plan_next(self.high, u64::MAX, self.high - self.una, config);
            }
            return self.plan_by_time(flight, config);
        }
        if self.scoreboard.is_some() {
            return self.plan_by_scoreboard(config);
        }
        self.plan_next(self.nxt, u64::MAX, self.nxt - self.una, config)
    }

    /// Returns the segment that starts at `offset` and ends at or before `end`.
    /// The segment with the last byte also contains the FIN.
    #[inline]
    fn piece(&self, offset: u64, end: u64, config: &TcpConfig) -> Plan {
        let payload = (self.written.min(end) - offset.min(self.written)).min(u64::from(config.mss));
        Plan {
            offset,
            payload: payload as u32,
            fin: self.finishing && offset + payload == self.written,
        }
    }

    /// Returns the segment at `offset`, if the window admits it in addition to `in_flight` bytes.
    #[inline]
    fn plan_next(&self, offset: u64, end: u64, in_flight: u64, config: &TcpConfig) -> Option<Plan> {
        if offset > self.written {
            return None;
        }
        let plan = self.piece(offset, end, config);
        let payload = u64::from(plan.payload);
        if payload == 0 {
            return plan.fin.then_some(plan);
        }
        // Segments of a burst bypass the check of the window. A burst reserved its part of the window when it began.
        // With nothing in flight, no ACK would arrive to end the wait for a larger burst.
        if in_flight == 0 || self.burst_left > 0 {
            return Some(plan);
        }
        let window = self.sending_window(config);
        if in_flight + payload > window {
            return None;
        }
        // Retransmissions and limited transmit do not wait, because a wait would prolong the recovery.
        let waits = config.lso_bytes > 0
            && self.nxt == self.high
            && self.duplicate_acks == 0
            && window - in_flight < self.burst_goal(config).max(payload);
        (!waits).then_some(plan)
    }

    /// Returns the window, including the segments that limited transmit adds (RFC 3042).
    #[inline]
    fn sending_window(&self, config: &TcpConfig) -> u64 {
        if self.duplicate_acks == 0 {
            return self.window.cwnd;
        }
        // With SACK, `plan_by_scoreboard` subtracts the reported bytes instead. The effect of both ways is the same.
        let extends = config.limited_transmit
            && !self.recovering
            && self.scoreboard.is_none()
            && self.nxt == self.high;
        if extends {
            self.window.cwnd + u64::from(self.duplicate_acks.min(2)) * u64::from(config.mss)
        } else {
            self.window.cwnd
        }
    }

    /// Returns the number of bytes that the window must admit before a large-send burst starts.
    fn burst_goal(&self, config: &TcpConfig) -> u64 {
        let left = self.written - self.nxt;
        u64::from(config.lso_bytes)
            // A burst is at most a third of the window, as in Linux (`tcp_tso_win_divisor`).
            .min(self.window.cwnd / 3)
            .min(left)
    }

    /// Returns the next segment. During recovery, NextSeg of RFC 6675 chooses it.
    /// Outside recovery, the segment contains the next bytes that no SACK block reports.
    #[cold]
    fn plan_by_scoreboard(&self, config: &TcpConfig) -> Option<Plan> {
        let board = self.scoreboard.as_ref()?;
        let mss = u64::from(config.mss);
        if !self.recovering {
            let resending = self.nxt < self.high;
            // Reported bytes have left the network, so new data may replace them, as in limited transmit.
            let reported = if resending || config.limited_transmit {
                board.reported_below(self.nxt)
            } else {
                0
            };
            let in_flight = self.nxt - self.una - reported;
            return match board.hole_from(self.nxt, self.high) {
                Some(hole) if resending => self.plan_next(hole.start, hole.end, in_flight, config),
                _ => self.plan_next(self.high, u64::MAX, in_flight, config),
            };
        }
        // A recovery sends only if the window admits a full segment (RFC 6675, 5, step C).
        if board.pipe() + mss > self.window.cwnd {
            return None;
        }
        if let Some(hole) = board.next_lost(self.una, self.high) {
            return Some(self.piece(hole.start, hole.end, config));
        }
        if let Some(plan) = self.plan_next(self.nxt, u64::MAX, board.pipe(), config) {
            return Some(plan);
        }
        // A FIN has an offset but no payload byte, so the range may be one offset longer than a segment.
        let longest = mss + u64::from(self.high > self.written);
        board
            .next_below_reported(self.una, self.high)
            .or_else(|| board.rescue(self.una, self.high, longest))
            .map(|hole| self.piece(hole.start, hole.end, config))
    }

    /// Records that `plan` leaves now. Returns whether it repeats bytes.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, plan: &Plan, config: &TcpConfig) -> bool {
        let end = plan.offset + u64::from(plan.payload) + u64::from(plan.fin);
        let again = plan.offset < self.high;
        self.payload_sent += u64::from(plan.payload);
        self.controller.on_sent(now, end, again);
        if again {
            self.retransmissions += 1;
            // The ACK would not show which of two transmissions it answers (Karn's algorithm).
            self.timed_end = UNTIMED;
        } else if self.timed_end == UNTIMED {
            self.timed_end = end;
            self.timed_at = now;
        }
        if config.detects_by_time() {
            self.on_sent_by_time(now, end, again, config);
        } else if self.rto_deadline == Time::MAX {
            // A transmission starts the timer, but does not restart it (RFC 6298, 5.1).
            self.rto_deadline = now.saturating_add(self.rtt.rto());
        }
        self.resend_first = false;
        if let Some(board) = &mut self.scoreboard {
            // After a timeout `nxt` starts again at `una`.
            // Bytes that are sent again therefore count in `pipe` like new bytes.
            if again && self.recovering {
                board.on_retransmit(self.una, plan.offset, end);
            } else {
                board.on_new_data(end - plan.offset);
            }
        }
        if !again && (config.lso_bytes > 0 || self.duplicate_acks > 0) {
            self.on_sent_slowly(plan.payload, config);
        }
        self.nxt = self.nxt.max(end);
        self.high = self.high.max(end);
        again
    }

    /// Updates the state of large-send bursts and of limited transmit.
    #[cold]
    fn on_sent_slowly(&mut self, payload: u32, config: &TcpConfig) {
        let in_flight = self.nxt - self.una;
        if self.duplicate_acks > 0 {
            // Limited transmit (RFC 3042) exceeds the window. Its bytes must not count as use of the window.
            if !self.recovering && in_flight + u64::from(payload) > self.window.cwnd {
                self.limited_bytes += payload;
            }
        } else if self.burst_left > 0 {
            self.burst_left -= payload.min(self.burst_left);
        } else if config.lso_bytes > 0 {
            let room = self
                .window
                .cwnd
                .saturating_sub(in_flight)
                .min(u64::from(config.lso_bytes));
            let left = self.written - self.nxt;
            // Only the last segment of the data may be short. Other large sends consist of full segments.
            let burst = if room >= left {
                left
            } else {
                room - room % u64::from(config.mss)
            };
            self.burst_left = (burst as u32).saturating_sub(payload);
        }
    }

    /// Ends a burst, because nothing more may leave now.
    /// If data remains, the window was the limit, so the window may grow.
    #[inline]
    pub(crate) fn on_blocked(&mut self) {
        self.burst_left = 0;
        if self.nxt < self.written {
            self.limited_until = self.nxt;
            if let Some(flight) = &mut self.flight {
                let out = self.nxt - self.una;
                flight.usage.record(self.una, self.nxt, out, true);
            }
        }
    }

    // Input from the peer.

    /// Handles an acceptable ACK. Returns whether it acknowledges new data.
    #[inline]
    pub(crate) fn on_ack(&mut self, input: &AckInput, config: &TcpConfig) -> bool {
        if config.detects_by_time() {
            return self.on_ack_by_time(input, config);
        }
        let advances = input.ack > self.una;
        // With SACK, an ACK is a duplicate exactly if it reports new blocks (RFC 6675, 2).
        // An ACK with new blocks may also move the cumulative acknowledgment.
        let duplicate = if config.sack {
            self.on_blocks(input, config)
        } else {
            input.ack == self.una && input.pure
        };
        if advances {
            self.on_new_ack(input, config);
        }
        // Without outstanding data, an ACK is no duplicate (RFC 5681, section 2).
        if duplicate && self.high > self.una {
            self.on_duplicate_ack(input.now, config);
        }
        advances
    }

    #[inline]
    fn on_new_ack(&mut self, input: &AckInput, config: &TcpConfig) {
        let (before, ack) = (self.una, input.ack);
        // The FIN has an offset but no byte, so it does not count as acknowledged data.
        let mut acked = ack.min(self.written) - before.min(self.written);
        if config.slow_start_limit.is_none() && !self.recovering {
            // Each duplicate ACK has already reported one segment as arrived.
            // The window must not grow twice for a segment (`tcp_remove_reno_sacks` of Linux).
            let reported = u64::from(self.duplicate_acks) * u64::from(config.mss);
            acked -= reported.min(acked.saturating_sub(u64::from(config.mss)));
        }
        self.una = ack;
        // After a timeout `nxt` is back at `una`. The ACK may cover more bytes than the sender has sent again.
        self.nxt = self.nxt.max(ack);
        // If no segment is timed, `timed_end` is above every offset, and there is no sample.
        let mut sample = None;
        if ack >= self.timed_end {
            let rtt = input.now.since(self.timed_at);
            self.rtt.on_sample(rtt, config);
            self.timed_end = UNTIMED;
            sample = Some(rtt);
        }
        self.timeouts_in_row = 0;
        let mut restart = true;
        // The window grows before a recovery may end, because ACKs of a recovery must not open the window.
        if acked > 0 {
            self.grow(input, (before, acked), sample, config);
        }
        if self.recovering {
            restart = self.on_ack_in_recovery(acked, config);
        } else {
            self.duplicate_acks = 0;
            self.limited_bytes = 0;
        }
        self.clamp_window(config);
        // Nothing is outstanding, so the timer is off (RFC 6298, 5.2).
        if self.nxt == self.una {
            self.rto_deadline = Time::MAX;
        } else if restart {
            self.rto_deadline = input.now.saturating_add(self.rtt.rto());
        }
    }

    /// Passes an ACK for `acked` new bytes after `before` to the controller, and then its ECN mark, if the ACK has one.
    /// `rtt` is the round-trip time that the ACK measured.
    #[inline]
    fn grow(
        &mut self,
        input: &AckInput,
        (before, acked): (u64, u64),
        rtt: Option<Duration>,
        config: &TcpConfig,
    ) {
        let mss = u64::from(config.mss);
        // After a timeout an ACK may cover much data that arrived earlier.
        // To avoid bursts, an ACK after a timeout counts as at most one segment (RFC 3465, 2.3).
        let after_timeout = self.una <= self.recover && !self.recovering;
        let ack = Ack {
            now: input.now,
            acked,
            marked: input.marked,
            una: self.una,
            nxt: self.nxt,
            mss,
            // The window may grow if it was the limit when the byte at `before` was sent.
            // If the window was not the limit, the flow does not use its whole window.
            may_grow: !self.recovering && !input.marked && before < self.limited_until,
            slow_start_limit: self.slow_start_limit(after_timeout, config),
            srtt: self.rtt.smoothed(),
            rtt,
        };
        self.controller.on_ack(&mut self.window, &ack);
        // The sender reacts once per window of data (RFC 3168, 6.1.2; RFC 8257, 3.3).
        if input.marked && !self.recovering && self.una > self.mark_answered {
            // RFC 3168 (6.1.2) halves the window, not the bytes in flight, which are fewer after this ACK.
            let congested = Congested {
                in_flight: self.window.cwnd,
                ..self.congested(input.now, config)
            };
            self.controller.on_mark(&mut self.window, &congested);
            self.mark_answered = self.nxt;
            // The next new data has the flag CWR, which ends the receiver's echo (RFC 3168, 6.1.2).
            self.reduced = true;
        }
    }

    /// Handles an expiry of the retransmission timer (RFC 6298, 5.4 to 5.6; RFC 5681, 3.1).
    /// Returns whether the connection fails.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &TcpConfig) -> bool {
        if self.on_other_timer(now, config) {
            return false;
        }
        self.timeouts += 1;
        self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
        if self.timeouts_in_row > config.max_data_retries {
            return true;
        }
        match self.flight.take() {
            Some(mut flight) => {
                self.enter_loss(now, &mut flight, config);
                self.flight = Some(flight);
            }
            None => self.go_back(now, config),
        }
        // The window limits the segments that are sent again, so ACKs of these segments may let the window grow.
        self.limited_until = self.high;
        self.burst_left = 0;
        self.timed_end = UNTIMED;
        let tags = config.tags.as_ref();
        if tags.is_some_and(|tags| tags.relieves(self.timeouts_in_row)) {
            self.relieved_at = Some(Box::new((self.high, self.payload_sent)));
        }
        self.rtt.back_off(config.max_rto);
        self.rto_deadline = if self.flight.is_some() {
            now.saturating_add(self.rtt.rto())
        } else {
            // The next segment that leaves starts the timer, with the doubled timeout.
            Time::MAX
        };
        false
    }

    /// Frees the state that a closed connection does not need.
    pub(crate) fn release(&mut self) {
        self.scoreboard = None;
        self.flight = None;
        self.resend_first = false;
    }
}
