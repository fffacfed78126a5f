//! Segments that an ACK reports as arrived, by its SACK blocks and by its number.
//! The functions of Linux are `tcp_sacktag_write_queue` and `tcp_clean_rtx_queue`.

use super::{AckInput, Episode, Flight, Mark, News, Sender, Time, UNTIMED};
use crate::tcp::SackBlock;
use crate::tcp::config::TcpConfig;

impl Sender {
    /// Reads the SACK blocks of an ACK.
    pub(super) fn on_blocks_by_time(
        &mut self,
        input: &AckInput,
        news: &mut News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        let ranges = input.blocks.map(|block| range_of(block, input.ack));
        for (place, range) in ranges.iter().enumerate() {
            let Some((start, end)) = *range else { continue };
            if end > self.high {
                continue;
            }
            // The ACK number or the second block may cover the first block.
            // A first block below the ACK number or the second block reports data that arrived twice (RFC 2883, 4).
            let covered = |(from, to): (u64, u64)| from <= start && end <= to;
            let twice = place == 0 && (end <= input.ack || ranges[1].is_some_and(covered));
            if twice && !self.on_twice((start, end), news, episode, config) {
                continue;
            }
            if end > self.una {
                self.mark_sacked((start, end), twice, input.now, news, flight, episode);
            }
        }
    }

    /// Handles the report that the offsets from `start` to `end` arrived twice (`tcp_check_dsack`).
    /// Returns whether the report is plausible.
    fn on_twice(
        &mut self,
        (start, end): (u64, u64),
        news: &mut News,
        episode: &mut Episode,
        config: &TcpConfig,
    ) -> bool {
        let segments = (end - start).div_ceil(u64::from(config.mss)) as u32;
        episode.undo.dsacked = episode.undo.dsacked.saturating_add(segments);
        // The network may also duplicate packets.
        // With more reports of duplicates than retransmissions, the reports do not show that losses were spurious.
        if episode.undo.dsacked > self.retransmissions {
            return false;
        }
        news.repeated = true;
        news.arrived += end - start;
        if episode.probe.end == Some(end) {
            news.probe_repeated = true;
        } else {
            // A timer sends the probe, so a second arrival of the probe does not widen the reordering window.
            episode.rack.dsack_seen |= episode.rack.reordering_seen;
        }
        if end <= news.before && episode.undo.from.is_some_and(|from| end > from) {
            episode.on_repeated(segments);
        }
        true
    }

    /// Marks the segments from `start` to `end` as reported (`tcp_sacktag_one`).
    fn mark_sacked(
        &self,
        (start, end): (u64, u64),
        twice: bool,
        now: Time,
        news: &mut News,
        flight: &mut Flight,
        episode: &mut Episode,
    ) {
        let first = flight.position_above(start);
        let mut from = flight.start(first, self.una);
        let least = flight.least_rtt;
        for sent in flight.segments.range_mut(first..) {
            let (begin, length) = (from, sent.end() - from);
            from = sent.end();
            if sent.end() > end {
                break;
            }
            if begin < start {
                continue;
            }
            if twice && sent.has(Mark::EVER_RESENT) {
                if episode.undo.from.is_some_and(|from| sent.end() > from) {
                    episode.on_repeated(1);
                }
                if sent.has(Mark::SACKED) {
                    news.note_reordering(begin);
                }
            }
            if !sent.has(Mark::SACKED) {
                let repeated = sent.has(Mark::EVER_RESENT);
                episode.advance(now, (sent.at, sent.end()), repeated, least);
                if !repeated {
                    if begin < episode.counts.highest_sacked {
                        news.note_reordering(begin);
                    }
                    news.original |= sent.end() <= episode.phase_end;
                    news.first_sacked.get_or_insert(sent.at);
                }
                if sent.has(Mark::LOST) {
                    sent.clear(Mark::LOST);
                    episode.counts.lost -= length;
                    // Without the flag `LOST`, a retransmission may be in the network.
                    episode.clear_resent(sent, length);
                }
                sent.set(Mark::SACKED);
                episode.counts.sacked += length;
                episode.counts.sacked_segments += 1;
                episode.counts.highest_sacked = episode.counts.highest_sacked.max(sent.end());
                news.sacked = true;
                news.arrived += sent.end().min(self.written) - begin.min(self.written);
            }
            if twice {
                episode.clear_resent(sent, length);
            }
        }
    }

    /// Removes the segments below the ACK number, and takes samples of the round-trip time.
    pub(super) fn on_number(
        &mut self,
        input: &AckInput,
        news: &mut News,
        flight: &mut Flight,
        episode: &mut Episode,
        config: &TcpConfig,
    ) {
        let mut lowest = None;
        while let Some(&sent) = flight.segments.front() {
            if sent.end() > input.ack {
                break;
            }
            flight.segments.pop_front();
            flight.last_sent = sent.at;
            let whole = core::mem::replace(&mut flight.acknowledged, sent.end());
            let length = sent.end() - self.una;
            let repeated = sent.has(Mark::EVER_RESENT);
            if repeated {
                news.resent = true;
                if sent.has(Mark::RESENT) {
                    episode.counts.resent -= length;
                    episode.counts.resent_segments -= 1;
                }
            } else if !sent.has(Mark::SACKED) {
                news.first_acked.get_or_insert(sent.at);
                lowest.get_or_insert(self.una);
                news.original |= sent.end() <= episode.phase_end;
            }
            if sent.has(Mark::SACKED) {
                episode.counts.sacked -= length;
                episode.counts.sacked_segments -= 1;
            } else {
                news.arrived += sent.end().min(self.written) - whole.min(self.written);
                episode.advance(input.now, (sent.at, sent.end()), repeated, flight.least_rtt);
            }
            if sent.has(Mark::LOST) {
                episode.counts.lost -= length;
            }
            self.una = sent.end();
        }
        if news.advances {
            self.split_first(input.ack, flight, episode);
            self.una = input.ack;
            self.timeouts_in_row = 0;
            if input.ack >= self.timed_end {
                self.timed_end = UNTIMED;
            }
        }
        self.measure(input.now, news, flight, config);
        // A hole that was filled without a retransmission shows reordering.
        if let Some(low) = lowest.filter(|low| *low < news.highest_before) {
            news.note_reordering(low);
        }
        if let Some(low) = news.reordered {
            self.on_reordering(low, episode, config);
        }
    }

    /// Subtracts from the counts the bytes below `ack`, if `ack` divides the first segment.
    fn split_first(&self, ack: u64, flight: &Flight, episode: &mut Episode) {
        let Some(first) = flight.segments.front() else {
            return;
        };
        let part = ack.saturating_sub(self.una);
        if first.has(Mark::SACKED) {
            episode.counts.sacked -= part;
        }
        if first.has(Mark::LOST) {
            episode.counts.lost -= part;
        }
        if first.has(Mark::RESENT) {
            episode.counts.resent -= part;
        }
    }

    /// Takes a sample of the round-trip time from segments that were sent once (Karn's algorithm).
    /// Decides whether the timer restarts.
    fn measure(&mut self, now: Time, news: &mut News, flight: &mut Flight, config: &TcpConfig) {
        let acked = news.first_acked.filter(|_| !news.resent);
        news.rtt = acked.or(news.first_sacked).map(|at| now.since(at));
        if let Some(rtt) = news.rtt {
            self.on_round_trip(rtt, flight, config);
        }
        // A block for data that was sent after the first segment does not restart the timer.
        // If a block for later data restarted the timer, the timer would never expire while blocks arrive.
        let first = flight.segments.front();
        let older = |at: Time| first.is_some_and(|first| at < first.at);
        news.sets_timer = news.advances || news.first_sacked.is_some_and(older);
    }

    /// Returns one past the highest reported offset. Without reports this is the first unacknowledged offset.
    pub(super) fn highest_sacked(&self, episode: &Episode) -> u64 {
        if episode.counts.sacked == 0 {
            self.una
        } else {
            episode.counts.highest_sacked
        }
    }

    /// Handles the arrival of the byte at `low` after data above it (`tcp_check_sack_reordering`).
    pub(super) fn on_reordering(&self, low: u64, episode: &mut Episode, config: &TcpConfig) {
        /// Largest number of segments above a hole that can count as reordering (`tcp_max_reordering` of Linux).
        const MOST: u64 = 300;
        let highest = self.highest_sacked(episode);
        if low >= highest {
            return;
        }
        let distance = (highest - low).div_ceil(u64::from(config.mss)).min(MOST) as u16;
        episode.rack.reordering = episode.rack.reordering.max(distance);
        episode.rack.reordering_seen = true;
    }
}

/// Returns the offsets of a SACK block of an ACK with the number `ack`.
/// Returns `None` if the block is unused or impossible.
fn range_of(block: SackBlock, ack: u64) -> Option<(u64, u64)> {
    let (start, end) = block.offsets(ack)?;
    (start < end).then_some((start, end))
}
