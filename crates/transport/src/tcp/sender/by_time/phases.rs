//! Phases of the sender: reductions of the window, recoveries, and their undo (`tcp_fastretrans_alert` of Linux).

use super::{AckInput, CongestionControl, Episode, Flight, Mark, News, Phase, Sender, Time};
use crate::tcp::Stamp;
use crate::tcp::config::TcpConfig;

impl Sender {
    /// Handles an ACK that reports a loss, a SACK block or a mark, or that arrives during a recovery or a reduction.
    pub(super) fn on_alert(
        &mut self,
        now: Time,
        news: &mut News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        if news.marked {
            // A mark demands the reduction, even if DSACKs show that nothing was lost.
            episode.undo.prior_ssthresh = 0;
        }
        self.end_phase(news, episode, config);
        match episode.phase {
            Phase::Recovery => {
                if news.advances && self.undo_partly(news, flight, episode, config) {
                    return;
                }
                if self.undo_by_dsack(episode, config) {
                    self.try_to_open(now, news, flight, episode, config);
                }
                self.find_losses(now, news, flight, episode, config);
                // The undo ended the recovery. If more losses are known, a new recovery starts.
                if episode.phase != Phase::Recovery && episode.counts.lost > 0 {
                    self.enter_recovery(now, news.marked, flight, episode, config);
                }
                return;
            }
            Phase::Loss => {
                self.on_ack_after_timeout(news, flight, episode, config);
                self.find_losses(now, news, flight, episode, config);
                if episode.phase != Phase::Open && !news.retransmission_lost {
                    return;
                }
            }
            Phase::Open | Phase::Disorder | Phase::Reduced => {}
        }
        if episode.phase <= Phase::Disorder {
            self.undo_by_dsack(episode, config);
        }
        self.find_losses(now, news, flight, episode, config);
        if episode.counts.lost == 0 {
            self.try_to_open(now, news, flight, episode, config);
        } else {
            self.enter_recovery(now, news.marked, flight, episode, config);
        }
    }

    /// Ends a reduction or a recovery whose last offset is acknowledged.
    fn end_phase(&mut self, news: &News, episode: &mut Episode, config: &TcpConfig) {
        if self.una < episode.phase_end {
            return;
        }
        match episode.phase {
            // The phase continues until the receiver has a segment with CWR, which is above `phase_end`.
            Phase::Reduced if self.una > episode.phase_end => {
                self.end_reduction(episode);
                episode.phase = Phase::Open;
            }
            Phase::Recovery => {
                self.end_recovery(news, episode, config);
                self.end_reduction(episode);
            }
            _ => {}
        }
    }

    /// Ends a recovery, and undoes the reduction if it was needless (`tcp_try_undo_recovery`).
    fn end_recovery(&mut self, news: &News, episode: &mut Episode, config: &TcpConfig) {
        if config.undo && episode.may_undo(news.answers_original) {
            self.undo_reduction(episode);
        } else {
            episode.on_recovered();
        }
        episode.phase = Phase::Open;
    }

    fn end_reduction(&mut self, episode: &Episode) {
        // After an undo the window is larger than `ssthresh`, and the window keeps this size.
        let holds = episode.phase == Phase::Reduced || episode.undo.from.is_some();
        if holds && self.window.ssthresh < u64::MAX {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Chooses the phase while no loss is known (`tcp_try_to_open`).
    fn try_to_open(
        &mut self,
        now: Time,
        news: &News,
        flight: &Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        self.forget_retransmissions(flight, episode);
        if news.marked {
            self.enter_reduction(now, episode, config);
        }
        if episode.phase != Phase::Reduced {
            self.keep_open(flight, episode);
        }
    }

    /// Sets the phase to open. If SACK reports or retransmissions are outstanding, sets it to disorder.
    pub(super) fn keep_open(&self, flight: &Flight, episode: &mut Episode) {
        let outstanding = episode.counts.sacked + episode.counts.lost + episode.counts.resent > 0;
        let phase = if outstanding || flight.repeats_first() {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if phase != episode.phase {
            episode.phase = phase;
            episode.phase_end = self.high;
        }
    }

    /// Reduces the window after a mark, once in a window of data (`tcp_enter_cwr`).
    fn enter_reduction(&mut self, now: Time, episode: &mut Episode, config: &TcpConfig) {
        episode.undo.prior_ssthresh = 0;
        if episode.phase < Phase::Reduced {
            episode.undo.from = None;
            self.start_reduction(now, true, episode, config);
            episode.phase = Phase::Reduced;
        }
    }

    /// Starts a recovery. `marked` is true if the ACK has a mark, which forbids an undo.
    pub(super) fn enter_recovery(
        &mut self,
        now: Time,
        marked: bool,
        flight: &Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        self.start_undo(episode);
        self.forget_retransmissions(flight, episode);
        episode.undo.prior_ssthresh = 0;
        // A mark and a loss in the same window reduce the window only once (RFC 3168, 6.1.2).
        if !episode.reduces() {
            if !marked {
                episode.undo.prior_ssthresh = self.present_ssthresh(episode);
            }
            self.start_reduction(now, false, episode, config);
        }
        episode.phase = Phase::Recovery;
    }

    /// Clears the time of the first retransmission if no retransmission is in flight (`tcp_any_retrans_done`).
    fn forget_retransmissions(&self, flight: &Flight, episode: &mut Episode) {
        if episode.counts.resent == 0 && !flight.repeats_first() {
            episode.undo.first_resent = Stamp::NONE;
        }
    }

    /// Records the state that an undo needs (`tcp_init_undo`).
    pub(super) fn start_undo(&self, episode: &mut Episode) {
        let probes = u32::from(episode.probe.end.is_some() && episode.probe.repeats);
        let resent = episode.counts.resent_segments + probes;
        episode.undo.from = Some(self.una);
        // Without a retransmission a DSACK has nothing to report.
        episode.undo.resent = (resent > 0).then_some(resent);
    }

    /// Returns the `ssthresh` that an undo restores (`tcp_current_ssthresh`).
    pub(super) fn present_ssthresh(&self, episode: &Episode) -> u64 {
        if episode.reduces() {
            self.window.ssthresh
        } else {
            // The flow has reached three quarters of its window without a loss, so `ssthresh` is at least this value.
            let cwnd = self.window.cwnd;
            self.window.ssthresh.max(cwnd / 2 + cwnd / 4)
        }
    }

    /// Starts a reduction of the window, after a mark or a loss (`tcp_init_cwnd_reduction`).
    pub(super) fn start_reduction(
        &mut self,
        now: Time,
        marked: bool,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        episode.phase_end = self.high;
        episode.probe.end = None;
        episode.reduction.prior_cwnd = self.window.cwnd;
        episode.reduction.delivered = 0;
        episode.reduction.out = 0;
        let congested = self.congested(now, config);
        if marked {
            self.controller.on_mark(&mut self.window, &congested);
        } else {
            self.controller.on_loss(&mut self.window, &congested);
        }
        if config.rate_reduction {
            // `reduce_by_rate` reduces the window with each ACK.
            self.window.cwnd = episode.reduction.prior_cwnd;
        }
        // A burst has reserved its part of the window before the reduction.
        self.burst_left = 0;
        self.reduced = true;
    }

    /// Undoes a reduction if DSACKs show that nothing was lost (`tcp_try_undo_dsack`). Returns whether it did so.
    fn undo_by_dsack(&mut self, episode: &mut Episode, config: &TcpConfig) -> bool {
        let undoes = config.undo && episode.all_repeated();
        if undoes {
            episode.on_undone_by_dsack();
            self.undo_reduction(episode);
        }
        undoes
    }

    /// Undoes a reduction after a partial ACK (`tcp_try_undo_partial`).
    /// The ACK answers an original segment and not its retransmission.
    /// An ACK of the original segment shows that the segment was late and not lost.
    /// Returns `true` if retransmissions are in flight.
    /// With `true`, the undo waits, and no further segment counts as lost.
    fn undo_partly(
        &mut self,
        news: &News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) -> bool {
        if !config.undo || episode.undo.from.is_none() || !news.answers_original {
            return false;
        }
        self.on_reordering(news.before, episode, config);
        if episode.counts.resent > 0 {
            return true;
        }
        self.forget_retransmissions(flight, episode);
        self.forget_losses(flight, episode);
        self.undo_reduction(episode);
        self.keep_open(flight, episode);
        false
    }

    /// Restores the window from before the reduction (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, episode: &mut Episode) {
        if episode.undo.prior_ssthresh > 0 {
            self.window.cwnd = self.window.cwnd.max(episode.reduction.prior_cwnd);
            if episode.undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = episode.undo.prior_ssthresh;
                self.reduced = false;
            }
        }
        episode.undo.from = None;
        episode.rack.advanced = true;
    }

    /// Undoes the reduction after a timeout and clears all loss marks (`tcp_try_undo_loss`).
    fn undo_timeout(&mut self, flight: &mut Flight, episode: &mut Episode) {
        self.forget_losses(flight, episode);
        self.undo_reduction(episode);
        episode.phase = Phase::Open;
    }

    fn forget_losses(&self, flight: &mut Flight, episode: &mut Episode) {
        for sent in &mut flight.segments {
            sent.clear(Mark::LOST);
        }
        episode.counts.lost = 0;
    }

    /// Handles an ACK after a timeout (`tcp_process_loss`). F-RTO (RFC 5682, 3.1) sends new data first.
    /// The timeout was spurious if the ACK reports new data, or segments that were not sent again.
    fn on_ack_after_timeout(
        &mut self,
        news: &News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        let recovered = self.una >= episode.phase_end;
        let spurious = news.advances && config.undo && episode.may_undo(news.answers_original);
        if spurious || (episode.undo.frto && news.original) {
            self.undo_timeout(flight, episode);
            return;
        }
        if episode.undo.frto {
            if self.high > episode.phase_end {
                // No ACK has reported the new data, so the loss was real (step 3a).
                let duplicate = news.pure && !news.advances && !news.repeated;
                episode.undo.frto &= !(news.sacked || duplicate);
            } else if news.advances && !recovered {
                episode.phase_end = self.high;
                if self.written > self.high {
                    episode.undo.frto_waits = true;
                    return;
                }
                episode.undo.frto = false;
            }
        }
        if recovered {
            self.end_recovery(news, episode, config);
        }
    }

    /// Sets the window after an ACK: a reduction continues, or the window grows (`tcp_cong_control`).
    pub(super) fn control_window(
        &mut self,
        input: &AckInput,
        news: &News,
        flight: &Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        if news.arrived == 0 {
            return;
        }
        let reduces = episode.reduces();
        if reduces {
            self.reduce_by_rate(news.arrived, news, episode, config);
        }
        if !self.counts_first(news, episode) {
            // If the network reorders much, the window may also grow by SACK reports.
            let threshold = u16::from(config.duplicate_ack_threshold);
            let progress = news.advances || (news.sacked && episode.rack.reordering > threshold);
            let cwnd = self.window.cwnd;
            let arrived = (news.before, news.arrived);
            self.grow_by_time(
                input,
                arrived,
                news.rtt,
                flight,
                progress && !reduces,
                config,
            );
            if reduces {
                self.window.cwnd = cwnd;
            }
        }
    }

    /// Returns whether the controller handles the ACK before the reaction to its mark.
    /// The controller first updates the estimate of marked bytes (RFC 8257, 3.3).
    /// After a timeout a mark causes no reaction.
    pub(super) fn counts_first(&self, news: &News, episode: &Episode) -> bool {
        news.marked && episode.phase != Phase::Loss
    }

    /// Reduces the window in proportion to the bytes that arrived (`tcp_cwnd_reduction`).
    pub(super) fn reduce_by_rate(
        &mut self,
        arrived: u64,
        news: &News,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        if !config.rate_reduction {
            return;
        }
        let in_network = self.in_network(Some(episode));
        let progress = news.advances && !news.lost;
        let mss = u64::from(config.mss);
        let allowance = episode.allowance(arrived, self.window.ssthresh, in_network, mss, progress);
        self.window.cwnd = in_network + allowance;
        self.clamp_window(config);
    }
}
