//! Loss recovery of Linux: RACK and TLP (RFC 8985), rate reduction (RFC 6937), and F-RTO with SACK (RFC 5682).
//! Needless reductions are undone by DSACK (RFC 3708) and by time stamps (RFC 3522).
//! The steps have the order of `tcp_ack` and `tcp_fastretrans_alert` of Linux 6.18.
//!
//! Deviations
//! - All counters are in bytes, where Linux counts segments. The difference is less than one segment.
//! - Without losses, SACK blocks and marks, the sender takes one sample per round trip, as RFC 6298 demands.
//!   Linux takes a sample from each ACK.
//! - The variation of the round-trip time is computed as in RFC 6298. Linux uses the largest variation of a round trip.
//! - The sender does not check for reneging (RFC 2018, 8). Receivers here never discard data that they have reported.

mod arrivals;
mod losses;
mod phases;
mod timers;

use super::episode::{Episode, Phase};
use super::flight::{Flight, Mark, Timer};
use super::{AckInput, Plan, Sender, UNTIMED};
use crate::tcp::Stamp;
use crate::tcp::config::{TcpConfig, WindowUse};
use crate::tcp::congestion::{Ack, CongestionControl};
use alloc::boxed::Box;
use tailcut_units::{Duration, Time};

/// Information in one ACK.
#[derive(Debug, Default)]
struct News {
    /// Bytes that the ACK reports as arrived for the first time, by its number or its SACK blocks.
    arrived: u64,
    /// First unacknowledged offset before the ACK.
    before: u64,
    /// Whether the ACK moves the first unacknowledged offset.
    advances: bool,
    /// Whether the segment that contains the ACK has no payload.
    pure: bool,
    /// Whether the ACK has the flag ECN-Echo.
    marked: bool,
    /// Whether a SACK block reports new segments.
    sacked: bool,
    /// Whether a SACK block reports a segment that arrived twice.
    repeated: bool,
    /// Whether the segment that arrived twice is the probe.
    probe_repeated: bool,
    /// Whether the ACK reports a segment that was sent only once, before the phase began.
    original: bool,
    /// Whether the acknowledged segments include one that was sent more than once.
    resent: bool,
    /// Whether the ACK echoes a time stamp from before the first retransmission (RFC 3522).
    answers_original: bool,
    /// Round-trip time that the ACK measured.
    rtt: Option<Duration>,
    /// Send time of the first segment that the ACK number acknowledges and that was sent only once.
    first_acked: Option<Time>,
    /// Send time of the first segment that a SACK block reports and that was sent only once.
    first_sacked: Option<Time>,
    /// One past the highest offset that had been reported before the ACK.
    highest_before: u64,
    /// Lowest offset that arrived after data at higher offsets.
    reordered: Option<u64>,
    /// Whether the ACK restarts the timer.
    sets_timer: bool,
    /// Whether the ACK shows that a retransmission was lost.
    retransmission_lost: bool,
    /// Whether the ACK shows that segments were lost.
    lost: bool,
}

impl News {
    /// Records that the byte at `low` arrived after data at higher offsets.
    fn note_reordering(&mut self, low: u64) {
        self.reordered = Some(self.reordered.map_or(low, |lowest| lowest.min(low)));
    }
}

impl Sender {
    /// Returns the number of bytes in the network: sent, not reported, not lost (`tcp_packets_in_flight` of Linux).
    fn in_network(&self, episode: Option<&Episode>) -> u64 {
        let outstanding = self.high - self.una;
        match episode {
            None => outstanding,
            Some(episode) => (outstanding + episode.counts.resent)
                .saturating_sub(episode.counts.sacked + episode.counts.lost),
        }
    }

    /// Returns the segment that may leave now, if the connection has state of loss recovery.
    #[cold]
    pub(super) fn plan_by_time(&self, flight: &Flight, config: &TcpConfig) -> Option<Plan> {
        let Some(episode) = flight.episode.as_deref() else {
            return self.plan_next(self.high, u64::MAX, self.high - self.una, config);
        };
        if episode.probe.due {
            return Some(self.probe(flight, config));
        }
        let in_network = self.in_network(Some(episode));
        let new = || self.plan_next(self.high, u64::MAX, in_network, config);
        if episode.phase < Phase::Recovery || episode.counts.lost <= episode.counts.resent {
            return new();
        }
        if episode.undo.frto_waits {
            // Retransmissions wait only if new data can leave instead (RFC 5682, 3.1, step 2b).
            let plan = new();
            if plan.is_some() || self.high > episode.phase_end {
                return plan;
            }
        }
        let Some((start, end)) = flight.next_lost(self.una) else {
            return new();
        };
        let plan = self.repeat(start, end);
        let fits = in_network == 0 || in_network + (end - start) <= self.window.cwnd;
        fits.then_some(plan)
    }

    /// Returns the segment that repeats the offsets from `start` to `end`.
    fn repeat(&self, start: u64, end: u64) -> Plan {
        Plan {
            offset: start,
            payload: (end.min(self.written) - start) as u32,
            fin: end > self.written,
        }
    }

    /// Records that a segment that ends at `end` leaves. `again` is true if it repeats bytes.
    #[inline]
    pub(super) fn on_sent_by_time(&mut self, now: Time, end: u64, again: bool, config: &TcpConfig) {
        let fresh = || Box::new(Flight::new(self.rtt.probe_timeout(config)));
        let flight = self.flight.get_or_insert_with(fresh);
        let usual = !again && flight.episode.is_none();
        if !usual || flight.sets_timer_next() {
            self.on_unusual_sent(now, end, again, config);
            return;
        }
        flight.push(end, now);
        let out = end - self.una;
        let full = out + u64::from(config.mss) > self.window.cwnd;
        flight.usage.record(self.una, end, out, full);
    }

    /// Records the segment like `on_sent_by_time`, if it sets a timer or the connection has state of loss recovery.
    fn on_unusual_sent(&mut self, now: Time, end: u64, again: bool, config: &TcpConfig) {
        let Some(mut flight) = self.flight.take() else {
            return;
        };
        if again {
            self.on_repeated(now, end, &mut flight, config);
        } else {
            let sets_timer = flight.sets_timer_next();
            flight.push(end, now);
            if let Some(episode) = flight.episode.as_deref_mut() {
                if core::mem::take(&mut episode.probe.due) {
                    episode.probe.end = Some(end);
                }
                // `high` still excludes the new segment, so the difference is the length of this segment.
                if episode.reduces() {
                    episode.reduction.out += end - self.high;
                }
            }
            if sets_timer {
                let phase = flight.phase();
                self.set_timer(now, &mut flight, phase, false, config);
            }
        }
        // `out` includes the new segment, and `high` does not. The sum adds the segment to the bytes in the network.
        let out = end.max(self.high) - self.una;
        let in_network = out - (self.high - self.una) + self.in_network(flight.episode.as_deref());
        let full = in_network + u64::from(config.mss) > self.window.cwnd;
        flight.usage.record(self.una, end.max(self.high), out, full);
        self.flight = Some(flight);
    }

    #[cold]
    fn on_repeated(&mut self, now: Time, end: u64, flight: &mut Flight, config: &TcpConfig) {
        let at = flight.position_above(end - 1);
        let length = end - flight.start(at, self.una);
        let Flight {
            segments,
            episode,
            timer,
            ..
        } = flight;
        let (Some(sent), Some(episode)) = (segments.get_mut(at), episode.as_deref_mut()) else {
            return;
        };
        sent.at = now;
        sent.set(Mark::EVER_RESENT);
        if core::mem::take(&mut episode.probe.due) {
            // A probe does not count as the retransmission of a lost segment. The original may still be in the network.
            return;
        }
        sent.set(Mark::RESENT);
        if config.timestamps && episode.undo.first_resent == Stamp::NONE {
            episode.undo.first_resent = Stamp::at(now);
        }
        episode.counts.resent += length;
        episode.counts.resent_segments += 1;
        episode.undo.resent = Some(episode.undo.resent.unwrap_or(0) + 1);
        episode.counts.resend_from = end;
        if episode.reduces() {
            episode.reduction.out += length;
        }
        // The retransmission of the first segment starts the timer (RFC 6298, 5.1).
        if at == 0 && *timer != Timer::Reordering {
            *timer = Timer::Retransmission;
            self.rto_deadline = now.saturating_add(self.rtt.rto());
        }
    }

    /// Handles an acceptable ACK. Returns whether it acknowledges new data.
    #[inline]
    pub(super) fn on_ack_by_time(&mut self, input: &AckInput, config: &TcpConfig) -> bool {
        // `flight` is moved out during the call, because the functions below borrow the whole sender.
        let Some(mut flight) = self.flight.take() else {
            return false;
        };
        let advances = input.ack > self.una;
        let block = input.blocks[0];
        // The first block is empty if the ACK reports no block.
        if !flight.is_calm() || block.start != block.end || input.marked {
            self.on_unusual_ack(input, &mut flight, config);
        } else if advances {
            self.on_usual_ack(input, &mut flight, config);
        }
        self.flight = Some(flight);
        advances
    }

    /// Handles an ACK of new data while there are no losses, SACK blocks or marks to handle.
    #[inline]
    fn on_usual_ack(&mut self, input: &AckInput, flight: &mut Flight, config: &TcpConfig) {
        let before = self.una;
        self.una = input.ack;
        // Linux counts segments. A segment counts when it is acknowledged as a whole.
        let (from, to) = flight.acknowledge(input.ack);
        let acked = to.min(self.written) - from.min(self.written);
        let mut sample = None;
        if input.ack >= self.timed_end {
            let rtt = input.now.since(self.timed_at);
            self.timed_end = UNTIMED;
            sample = Some(rtt);
            self.on_round_trip(rtt, flight, config);
        }
        self.timeouts_in_row = 0;
        if acked > 0 {
            self.grow_by_time(input, (before, acked), sample, flight, true, config);
        }
        if flight.episode.is_none() && flight.timer == Timer::Probe && flight.segments.len() > 1 {
            // The next line does the same as `set_timer` in the usual case.
            self.rto_deadline = input.now.saturating_add(flight.probe_timeout);
        } else {
            self.set_timer(input.now, flight, Phase::Open, true, config);
        }
    }

    fn on_round_trip(&mut self, rtt: Duration, flight: &mut Flight, config: &TcpConfig) {
        flight.least_rtt = flight.least_rtt.min(rtt);
        self.rtt.on_sample(rtt, config);
        flight.probe_timeout = self.rtt.probe_timeout(config);
    }

    /// Passes an ACK to the controller. The ACK reports `arrived` new bytes.
    /// `before` was the first unacknowledged offset.
    #[inline]
    fn grow_by_time(
        &mut self,
        input: &AckInput,
        (before, arrived): (u64, u64),
        rtt: Option<Duration>,
        flight: &Flight,
        may_grow: bool,
        config: &TcpConfig,
    ) {
        let mss = u64::from(config.mss);
        let used = match config.window_use {
            WindowUse::Full => before < self.limited_until,
            WindowUse::Half => flight.usage.lets_grow(&self.window),
        };
        let ack = Ack {
            now: input.now,
            acked: arrived,
            marked: input.marked,
            una: self.una,
            nxt: self.nxt,
            mss,
            may_grow: may_grow && used,
            slow_start_limit: self.slow_start_limit(false, config),
            srtt: self.rtt.smoothed(),
            rtt,
        };
        self.controller.on_ack(&mut self.window, &ack);
        // The controller does not know the limits of the window.
        self.clamp_window(config);
    }

    /// Handles an ACK that reports a SACK block or a mark.
    /// Also handles all ACKs while the connection has state of loss recovery.
    #[cold]
    fn on_unusual_ack(&mut self, input: &AckInput, flight: &mut Flight, config: &TcpConfig) {
        let mut episode = self.take_episode(flight, config);
        let mut news = News {
            before: self.una,
            advances: input.ack > self.una,
            pure: input.pure,
            marked: input.marked,
            highest_before: self.highest_sacked(&episode),
            answers_original: input.echo.is_before(episode.undo.first_resent),
            ..News::default()
        };
        episode.undo.frto_waits = false;
        if news.advances && core::mem::take(&mut episode.probe.due) {
            // The ACK arrived before the probe could leave.
            episode.probe.end = None;
        }
        self.on_blocks_by_time(input, &mut news, flight, &mut episode, config);
        // An ACK below the first unacknowledged offset is outdated, except for its blocks (RFC 6675, 3).
        let outdated = input.ack < self.una;
        let outstanding = self.high > self.una;
        if !outdated {
            self.on_number(input, &mut news, flight, &mut episode, config);
            episode.adapt_reordering_window(self.una, self.high);
            self.on_answer_to_probe(input, &news, flight, &mut episode, config);
        }
        if !outstanding && news.repeated {
            // All data is acknowledged, but the report may still show that the last reduction was needless.
            self.on_alert(input.now, &mut news, flight, &mut episode, config);
        }
        if outstanding && (!outdated || news.sacked || news.repeated) {
            let unusual = news.sacked
                || news.repeated
                || news.marked
                || (news.pure && !news.advances)
                || episode.phase != Phase::Open;
            if self.counts_first(&news, &episode) {
                let arrived = (news.before, news.arrived);
                self.grow_by_time(input, arrived, news.rtt, flight, false, config);
            }
            if unusual {
                self.on_alert(input.now, &mut news, flight, &mut episode, config);
            }
            if news.sets_timer {
                self.set_timer(input.now, flight, episode.phase, true, config);
            }
            if !outdated {
                self.control_window(input, &news, flight, &mut episode, config);
            }
        }
        flight.episode = Some(episode);
        if self.una == self.high {
            self.rto_deadline = Time::MAX;
        }
    }
}
