//! Detection of losses by the times at which segments were sent (RACK, RFC 8985, 6).

use super::{Duration, Episode, Flight, Mark, News, Phase, Sender, Time, Timer};
use crate::tcp::config::TcpConfig;

impl Sender {
    /// Marks lost segments after an ACK (`tcp_identify_packet_loss`).
    /// Sets the reordering timer if a later search may find more losses.
    pub(super) fn find_losses(
        &mut self,
        now: Time,
        news: &mut News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        if !core::mem::take(&mut episode.rack.advanced) || flight.segments.is_empty() {
            return;
        }
        let (lost, resent) = (episode.counts.lost, episode.counts.resent);
        let wait = self.mark_losses(now, flight, episode);
        news.retransmission_lost |= episode.counts.resent < resent;
        news.lost |= episode.counts.lost > lost || episode.counts.resent < resent;
        if wait > Duration::ZERO {
            flight.timer = Timer::Reordering;
            // The reordering timer replaces the timer that the ACK would set. Two ticks are the rounding of Linux.
            self.rto_deadline = now.saturating_add(wait + config.tick.saturating_mul(2));
            news.sets_timer = false;
        }
    }

    /// Marks lost segments (`tcp_rack_detect_loss`).
    /// A segment is lost if a later segment has arrived and the reordering window has passed.
    /// Returns the longest time until another segment counts as lost, or zero without such a segment.
    fn mark_losses(&self, now: Time, flight: &mut Flight, episode: &mut Episode) -> Duration {
        let window = episode.reordering_window(flight.least_rtt, self.rtt.smoothed());
        let limit = episode.rack.newest_rtt + window;
        let mut wait = Duration::ZERO;
        let mut start = self.una;
        for sent in &mut flight.segments {
            let (begin, end) = (start.max(self.una), sent.end());
            start = end;
            let waits = sent.has(Mark::LOST) && !sent.has(Mark::RESENT);
            let newer = (sent.at, end) >= episode.rack.newest;
            if newer && !sent.has(Mark::EVER_RESENT) {
                // Later segments were first sent after this segment.
                // Segments that were first sent later are also newer, even if they were sent again.
                break;
            }
            if newer || waits || sent.has(Mark::SACKED) {
                continue;
            }
            let age = now.since(sent.at);
            if age >= limit {
                episode.mark_lost(sent, begin);
            } else {
                wait = wait.max(limit - age);
            }
        }
        wait
    }

    /// Handles an expiry of the reordering timer (`tcp_rack_reo_timeout`).
    pub(super) fn on_reordering_timer(
        &mut self,
        now: Time,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        let before = self.in_network(Some(episode));
        flight.timer = Timer::Retransmission;
        let wait = self.mark_losses(now, flight, episode);
        if self.in_network(Some(episode)) != before && episode.phase != Phase::Recovery {
            self.enter_recovery(now, false, flight, episode, config);
            // As in Linux, one segment counts as delivered, although no ACK has arrived.
            self.reduce_by_rate(u64::from(config.mss), &News::default(), episode, config);
        }
        if wait > Duration::ZERO {
            flight.timer = Timer::Reordering;
            self.rto_deadline = now.saturating_add(wait + config.tick.saturating_mul(2));
        } else {
            self.set_remaining_timeout(now, flight);
        }
    }
}
