//! Timers of the sender: the probe timeout (TLP, RFC 8985, 7) and the retransmission timeout.

use super::{
    AckInput, Box, CongestionControl, Episode, Flight, Mark, News, Phase, Plan, Sender, Time, Timer,
};
use crate::tcp::config::TcpConfig;

impl Sender {
    /// Sets the probe timeout if a probe is allowed, and the retransmission timeout otherwise (`tcp_set_xmit_timer`).
    /// `acked` is true if an ACK sets the timer, and false if a transmission sets it.
    #[inline]
    pub(super) fn set_timer(
        &mut self,
        now: Time,
        flight: &mut Flight,
        phase: Phase,
        acked: bool,
        config: &TcpConfig,
    ) {
        let Some(first) = flight.segments.front() else {
            flight.timer = Timer::Retransmission;
            self.rto_deadline = Time::MAX;
            return;
        };
        let probes = config.tail_loss_probe && matches!(phase, Phase::Open | Phase::Reduced);
        if !probes {
            self.set_remaining_timeout(now, flight);
            return;
        }
        // A single segment may wait for a delayed ACK (RFC 8985, 7.2).
        let span = if flight.segments.len() == 1 {
            self.rtt.probe_timeout_with(config.min_rto)
        } else {
            self.rtt.probe_timeout(config)
        };
        let latest = if acked { now } else { first.at.min(now) };
        self.rto_deadline = now
            .saturating_add(span)
            .min(latest.saturating_add(self.rtt.rto()))
            .max(now);
        flight.timer = Timer::Probe;
    }

    /// Sets the retransmission timeout.
    /// A timeout that replaces another timer counts from the transmission of the first segment (`tcp_rearm_rto`).
    pub(super) fn set_remaining_timeout(&mut self, now: Time, flight: &mut Flight) {
        let Some(first) = flight.segments.front() else {
            self.rto_deadline = Time::MAX;
            return;
        };
        let from = match flight.timer {
            Timer::Retransmission => now,
            Timer::Probe | Timer::Reordering => first.at,
        };
        self.rto_deadline = from.saturating_add(self.rtt.rto()).max(now);
        flight.timer = Timer::Retransmission;
    }

    /// Handles an expiry of a timer other than the retransmission timer.
    /// Returns `false` if the retransmission timer expired.
    #[cold]
    pub(in super::super) fn on_other_timer(&mut self, now: Time, config: &TcpConfig) -> bool {
        let Some(mut flight) = self.flight.take() else {
            return false;
        };
        let timer = flight.timer;
        if timer == Timer::Probe && self.moves_probe(now, &mut flight, config) {
            self.flight = Some(flight);
            return true;
        }
        if timer != Timer::Retransmission {
            let mut episode = self.take_episode(&mut flight, config);
            if timer == Timer::Probe {
                self.on_probe_timer(now, &mut flight, &mut episode);
            } else {
                self.on_reordering_timer(now, &mut flight, &mut episode, config);
            }
            flight.episode = Some(episode);
        }
        self.flight = Some(flight);
        timer != Timer::Retransmission
    }

    /// Moves the probe to a later time, if segments left since the timer was set. Returns whether it did so.
    fn moves_probe(&mut self, now: Time, flight: &mut Flight, config: &TcpConfig) -> bool {
        let Some(last) = flight.segments.back().map(|sent| sent.at) else {
            return false;
        };
        let (deadline, phase) = (self.rto_deadline, flight.phase());
        self.set_timer(last, flight, phase, false, config);
        let moves = self.rto_deadline > now && self.rto_deadline > deadline;
        if !moves {
            self.rto_deadline = deadline;
            flight.timer = Timer::Probe;
        }
        moves
    }

    /// Returns the state of loss recovery. Creates it if the connection has none.
    pub(super) fn take_episode(&self, flight: &mut Flight, config: &TcpConfig) -> Box<Episode> {
        let threshold = u16::from(config.duplicate_ack_threshold);
        let fresh = || Box::new(Episode::new(self.rtt.smoothed(), threshold));
        flight.episode.take().unwrap_or_else(fresh)
    }

    /// Handles an expiry of the probe timeout (`tcp_send_loss_probe`).
    fn on_probe_timer(&mut self, now: Time, flight: &mut Flight, episode: &mut Episode) {
        flight.timer = Timer::Retransmission;
        if episode.probe.end.is_none() {
            episode.probe.repeats = !self.has_unsent();
            episode.probe.due = true;
            // The probe may contain new data. A probe with new data ends above `high`.
            episode.probe.end = Some(self.high);
            self.rto_deadline = now.saturating_add(self.rtt.rto());
        } else {
            flight.timer = Timer::Probe;
            self.set_remaining_timeout(now, flight);
        }
    }

    fn has_unsent(&self) -> bool {
        self.written > self.high || (self.finishing && self.written == self.high)
    }

    /// Returns the probe: new data, or the last segment again (RFC 8985, 7.3).
    pub(super) fn probe(&self, flight: &Flight, config: &TcpConfig) -> Plan {
        let last = flight.segments.len().saturating_sub(1);
        match flight.segments.get(last) {
            Some(sent) if !self.has_unsent() => {
                let start = flight.start(last, self.una);
                self.repeat(start, sent.end())
            }
            _ => self.piece(self.high, u64::MAX, config),
        }
    }

    /// Handles the answer to a probe (`tcp_process_tlp_ack`).
    /// If the probe repaired a loss, the window is reduced (RFC 8985, 7.4.2).
    pub(super) fn on_answer_to_probe(
        &mut self,
        input: &AckInput,
        news: &News,
        flight: &Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        let Some(end) = episode.probe.end.filter(|end| input.ack >= *end) else {
            return;
        };
        let duplicate = news.pure && !news.advances && !news.sacked;
        if !episode.probe.repeats || news.probe_repeated {
            episode.probe.end = None;
        } else if input.ack > end {
            self.start_reduction(input.now, false, episode, config);
            // The probe has repaired the loss, so the window falls to `ssthresh` immediately.
            self.window.cwnd = self.window.ssthresh;
            self.keep_open(flight, episode);
        } else if duplicate {
            // The segment and its copy in the probe have both arrived, so nothing was lost.
            episode.probe.end = None;
        }
    }

    /// Handles an expiry of the retransmission timer (`tcp_enter_loss`). The caller has counted it.
    #[cold]
    pub(in super::super) fn enter_loss(
        &mut self,
        now: Time,
        flight: &mut Flight,
        config: &TcpConfig,
    ) {
        let mut episode = self.take_episode(flight, config);
        let first_in_row = self.timeouts_in_row == 1;
        let fresh = episode.phase < Phase::Recovery;
        let mut start = self.una;
        for (place, sent) in flight.segments.iter_mut().enumerate() {
            let begin = start.max(self.una);
            start = sent.end();
            // Segments that left within the last round trip may still arrive.
            let recent = place > 0 && now.since(sent.at) < episode.rack.newest_rtt;
            if !recent && !sent.has(Mark::SACKED) {
                episode.mark_lost(sent, begin);
            }
        }
        let again = episode.phase == Phase::Loss && first_in_row;
        if episode.phase <= Phase::Disorder || self.una >= episode.phase_end || again {
            episode.undo.prior_ssthresh = self.present_ssthresh(&episode);
            episode.reduction.prior_cwnd = self.window.cwnd;
            let congested = self.congested(now, config);
            self.controller.on_timeout(&mut self.window, &congested);
            self.start_undo(&mut episode);
        }
        // A timeout after many SACK reports shows that the tolerance for reordering was too large.
        let threshold = u16::from(config.duplicate_ack_threshold);
        if fresh && episode.counts.sacked_segments >= u32::from(threshold) {
            episode.rack.reordering = episode.rack.reordering.min(threshold);
        }
        self.window.cwnd = self.in_network(Some(&episode)) + u64::from(config.mss);
        episode.phase = Phase::Loss;
        episode.phase_end = self.high;
        episode.probe.end = None;
        episode.probe.due = false;
        episode.undo.frto = config.frto && (fresh || !first_in_row);
        episode.undo.frto_waits = false;
        episode.counts.resend_from = self.una;
        self.reduced = true;
        flight.episode = Some(episode);
        flight.timer = Timer::Retransmission;
    }
}
