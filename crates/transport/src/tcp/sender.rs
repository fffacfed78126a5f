//! The sending half of a connection: what may be sent, what must be sent again, and when the
//! retransmission timer runs. RFC 5681, 6298 (section 5), 6582, 3042, 6675.

mod recovery;

use super::config::TcpConfig;
use super::congestion::{Ack, Congested, CongestionControl, Controller, Window};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::FlowStats;
use crate::tcp::SackBlock;
use alloc::boxed::Box;
use tailcut_units::Time;

/// No segment is being timed.
const UNTIMED: u64 = u64::MAX;

/// The state of the sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    /// The first byte not acknowledged.
    una: u64,
    /// The next byte to send; goes back to `una` on a timeout.
    nxt: u64,
    /// One past the highest offset ever sent.
    high: u64,
    /// Bytes that the application has written.
    written: u64,
    window: Window,
    /// When the retransmission timer expires; `Time::MAX` while it is off.
    pub(crate) rto_deadline: Time,
    /// The ACK that ends the round trip being timed.
    timed_end: u64,
    timed_at: Time,
    /// Up to here the window held the sender back; growth is allowed until this is acknowledged.
    limited_until: u64,
    /// Highest offset sent when the last loss was noticed (RFC 6582). 0 before any.
    recover: u64,
    /// Highest offset sent when a mark was last answered. 0 before any.
    mark_answered: u64,
    rtt: RttEstimator,
    scoreboard: Option<Box<Scoreboard>>,
    /// Bytes sent by limited transmit, which do not count as in flight when a loss is noticed.
    limited_bytes: u32,
    /// What is left of a large-send burst.
    burst_left: u32,
    retransmissions: u32,
    timeouts: u32,
    payload_sent: u64,
    duplicate_acks: u16,
    /// Timeouts since data was last acknowledged.
    timeouts_in_row: u8,
    recovering: bool,
    /// The first unacknowledged segment is to be sent again, whatever the window.
    resend_first: bool,
    /// A partial ACK has restarted the timer in this recovery (RFC 6582, 3.2, "impatient").
    partial_seen: bool,
    finishing: bool,
    /// Classic ECN: the next new data carries CWR.
    reduced: bool,
    controller: Controller,
}

/// A segment that may leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) offset: u64,
    pub(crate) payload: u32,
    pub(crate) fin: bool,
}

/// An ACK as the sender sees it.
pub(crate) struct AckInput<'a> {
    pub(crate) now: Time,
    pub(crate) ack: u64,
    /// Whether the segment carried nothing but the ACK.
    pub(crate) pure: bool,
    /// Whether it carried ECN-Echo and ECN was negotiated.
    pub(crate) marked: bool,
    pub(crate) blocks: &'a [SackBlock; 3],
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
            limited_bytes: 0,
            burst_left: 0,
            retransmissions: 0,
            timeouts: 0,
            payload_sent: 0,
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
    /// Bytes written that have never left; `None` after the end was written.
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
    /// Whether the peer has acknowledged the FIN.
    #[inline]
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.una > self.written
    }
    /// Whether `ack` acknowledges only what has been sent.
    #[inline]
    pub(crate) fn accepts(&self, ack: u64) -> bool {
        ack <= self.high
    }
    /// The offset that a segment without payload carries.
    #[inline]
    pub(crate) fn next_offset(&self) -> u64 {
        self.nxt
    }
    /// Whether the sender is in the middle of a large-send burst.
    #[inline]
    pub(crate) fn in_burst(&self) -> bool {
        self.burst_left > 0
    }
    /// Takes the duty to tell the peer that the window was reduced.
    pub(crate) fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.reduced)
    }

    // The handshake uses the same timer and estimator.

    pub(crate) fn on_syn_sent(&mut self, now: Time, again: bool) {
        self.timed_at = now;
        self.retransmissions += u32::from(again);
        self.rto_deadline = now.saturating_add(self.rtt.rto());
    }

    pub(crate) fn on_syn_timeout(&mut self, config: &TcpConfig) {
        self.timeouts += 1;
        self.rtt.back_off(config.max_rto);
        self.rto_deadline = Time::MAX;
    }

    /// If this end's SYN or SYN-ACK was sent again there is no sample (Karn); if because it was
    /// lost, the window starts at one segment (RFC 5681, 3.1).
    pub(crate) fn on_established(&mut self, now: Time, resent: bool, config: &TcpConfig) {
        self.rto_deadline = Time::MAX;
        if self.timeouts > 0 {
            self.window.cwnd = u64::from(config.mss);
        }
        if !resent {
            let sample = now.since(self.timed_at);
            self.rtt.on_sample(sample, config);
        }
    }

    // What may be sent.

    /// The segment that may leave now, if any.
    #[inline]
    pub(crate) fn plan(&self, config: &TcpConfig) -> Option<Plan> {
        if self.resend_first {
            return Some(self.piece(self.una, u64::MAX, config));
        }
        if self.scoreboard.is_some() {
            return self.plan_by_scoreboard(config);
        }
        self.plan_next(self.nxt, u64::MAX, self.nxt - self.una, config)
    }

    /// The segment at `offset`, ending at `end` or earlier. A FIN rides on the last byte.
    #[inline]
    fn piece(&self, offset: u64, end: u64, config: &TcpConfig) -> Plan {
        let payload = (self.written.min(end) - offset.min(self.written)).min(u64::from(config.mss));
        Plan {
            offset,
            payload: payload as u32,
            fin: self.finishing && offset + payload == self.written,
        }
    }

    /// The segment at `offset` if the window admits it beside `in_flight` bytes.
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
        if in_flight == 0 || self.burst_left > 0 {
            return Some(plan);
        }
        let window = self.sending_window(config);
        if in_flight + payload > window {
            return None;
        }
        let waits = config.lso_bytes > 0
            && self.nxt == self.high
            && self.duplicate_acks == 0
            && window - in_flight < self.burst_goal(config).max(payload);
        (!waits).then_some(plan)
    }

    /// The window, with what limited transmit adds to it (RFC 3042).
    #[inline]
    fn sending_window(&self, config: &TcpConfig) -> u64 {
        let extends = self.duplicate_acks > 0
            && config.limited_transmit
            && !self.recovering
            && self.scoreboard.is_none()
            && self.nxt == self.high;
        if extends {
            self.window.cwnd + u64::from(self.duplicate_acks.min(2)) * u64::from(config.mss)
        } else {
            self.window.cwnd
        }
    }

    /// What a large-send burst waits for.
    fn burst_goal(&self, config: &TcpConfig) -> u64 {
        let left = self.written - self.nxt;
        u64::from(config.lso_bytes)
            .min(self.window.cwnd / 3)
            .min(left)
    }

    /// RFC 6675: NextSeg during recovery; otherwise the next bytes that no report covers.
    #[cold]
    fn plan_by_scoreboard(&self, config: &TcpConfig) -> Option<Plan> {
        let board = self.scoreboard.as_ref()?;
        let mss = u64::from(config.mss);
        if !self.recovering {
            let resending = self.nxt < self.high;
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
        if board.pipe() + mss > self.window.cwnd {
            return None;
        }
        if let Some(hole) = board.next_lost(self.una, self.high) {
            return Some(self.piece(hole.start, hole.end, config));
        }
        if let Some(plan) = self.plan_next(self.nxt, u64::MAX, board.pipe(), config) {
            return Some(plan);
        }
        // The FIN takes a number but no room in the segment.
        let longest = mss + u64::from(self.high > self.written);
        board
            .next_below_reported(self.una, self.high)
            .or_else(|| board.rescue(self.una, self.high, longest))
            .map(|hole| self.piece(hole.start, hole.end, config))
    }

    /// `plan` leaves now. Says whether it repeats bytes.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, plan: &Plan, config: &TcpConfig) -> bool {
        let end = plan.offset + u64::from(plan.payload) + u64::from(plan.fin);
        let again = plan.offset < self.high;
        self.payload_sent += u64::from(plan.payload);
        self.controller.on_sent(now, end, again);
        if again {
            self.retransmissions += 1;
            self.timed_end = UNTIMED;
        } else if self.timed_end == UNTIMED {
            self.timed_end = end;
            self.timed_at = now;
        }
        if self.rto_deadline == Time::MAX {
            self.rto_deadline = now.saturating_add(self.rtt.rto());
        }
        self.resend_first = false;
        if let Some(board) = &mut self.scoreboard {
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

    /// Accounts for large-send bursts and limited transmit.
    #[cold]
    fn on_sent_slowly(&mut self, payload: u32, config: &TcpConfig) {
        let in_flight = self.nxt - self.una;
        if self.duplicate_acks > 0 {
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
            let burst = if room >= left {
                left
            } else {
                room - room % u64::from(config.mss)
            };
            self.burst_left = (burst as u32).saturating_sub(payload);
        }
    }

    /// Nothing more may leave now: remembers whether that is for want of window.
    #[inline]
    pub(crate) fn on_blocked(&mut self) {
        self.burst_left = 0;
        if self.nxt < self.written {
            self.limited_until = self.nxt;
        }
    }

    // What the peer says.

    /// An acceptable ACK. Says whether it acknowledged something new.
    #[inline]
    pub(crate) fn on_ack(&mut self, input: &AckInput, config: &TcpConfig) -> bool {
        let advances = input.ack > self.una;
        // With SACK an ACK that tells of new blocks is a duplicate, even where it moves the
        // cumulative point too, and no other is (RFC 6675, 2).
        let duplicate = if config.sack {
            self.on_blocks(input, config)
        } else {
            input.ack == self.una && input.pure
        };
        if advances {
            self.on_new_ack(input, config);
        }
        if duplicate && self.high > self.una {
            self.on_duplicate_ack(input.now, config);
        }
        advances
    }

    #[inline]
    fn on_new_ack(&mut self, input: &AckInput, config: &TcpConfig) {
        let (before, ack) = (self.una, input.ack);
        let acked = ack.min(self.written) - before.min(self.written);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if ack >= self.timed_end {
            let sample = input.now.since(self.timed_at);
            self.rtt.on_sample(sample, config);
            self.timed_end = UNTIMED;
        }
        self.timeouts_in_row = 0;
        let mut restart = true;
        if acked > 0 {
            self.grow(input, acked, before, config);
        }
        if self.recovering {
            restart = self.on_ack_in_recovery(acked, config);
        } else {
            self.duplicate_acks = 0;
            self.limited_bytes = 0;
        }
        self.window.cwnd = self
            .window
            .cwnd
            .clamp(u64::from(config.mss), config.max_cwnd);
        if self.nxt == self.una {
            self.rto_deadline = Time::MAX;
        } else if restart {
            self.rto_deadline = input.now.saturating_add(self.rtt.rto());
        }
    }

    /// Lets the controller see an ACK for `acked` new bytes.
    #[inline]
    fn grow(&mut self, input: &AckInput, acked: u64, before: u64, config: &TcpConfig) {
        let mss = u64::from(config.mss);
        let after_timeout = self.una <= self.recover && !self.recovering;
        let ack = Ack {
            now: input.now,
            acked,
            marked: input.marked,
            una: self.una,
            nxt: self.nxt,
            mss,
            may_grow: !self.recovering && !input.marked && before < self.limited_until,
            slow_start_limit: if after_timeout { mss } else { 2 * mss },
            srtt: self.rtt.smoothed(),
        };
        self.controller.on_ack(&mut self.window, &ack);
        if input.marked && !self.recovering && self.una > self.mark_answered {
            let congested = self.congested(input.now, config);
            self.controller.on_mark(&mut self.window, &congested);
            self.mark_answered = self.nxt;
            self.reduced = true;
        }
    }

    /// What a controller is told of congestion. The flight is that of RFC 5681, but never more than
    /// the window: what SACK blocks report still counts as sent and not acknowledged, and a recovery
    /// ends with a flight above the window, so that without this a loss could raise the window.
    fn congested(&self, now: Time, config: &TcpConfig) -> Congested {
        let flight = (self.nxt - self.una).saturating_sub(u64::from(self.limited_bytes));
        Congested {
            now,
            in_flight: flight.min(self.window.cwnd),
            mss: u64::from(config.mss),
        }
    }

    /// The retransmission timer expired (RFC 6298, 5.4 to 5.6; RFC 5681, 3.1). Says whether to give
    /// up.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &TcpConfig) -> bool {
        self.timeouts += 1;
        self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
        if self.timeouts_in_row > config.max_data_retries {
            return true;
        }
        if self.recovering {
            // The same loss as recovery's: `ssthresh` is halved already. The flight is no measure
            // of the network here, since what duplicate ACKs released is in it, but is still the
            // upper bound (RFC 5681, 3.1).
            let flight = self.nxt - self.una;
            let most = (flight / 2).max(2 * u64::from(config.mss));
            self.window.ssthresh = self.window.ssthresh.min(most);
        } else if self.timeouts_in_row == 1 {
            let congested = self.congested(now, config);
            self.controller.on_timeout(&mut self.window, &congested);
        }
        self.window.cwnd = u64::from(config.mss);
        self.recovering = false;
        self.resend_first = false;
        self.recover = self.high;
        self.limited_until = self.high;
        self.nxt = self.una;
        self.duplicate_acks = 0;
        self.limited_bytes = 0;
        self.burst_left = 0;
        self.timed_end = UNTIMED;
        self.rtt.back_off(config.max_rto);
        self.rto_deadline = Time::MAX;
        false
    }

    /// Drops what only a live connection needs.
    pub(crate) fn release(&mut self) {
        self.scoreboard = None;
        self.resend_first = false;
    }
}
