//! SACK reports: ranges above the cumulative ACK that the peer reported as received (RFC 6675).
//! The scoreboard also contains the retransmissions that SACK reports cause.
//! A scoreboard exists only while there are SACK reports.
//!
//! Deviation: the sender keeps the reports after a timeout and skips the reported ranges.
//! RFC 6675, 5.1 allows this deviation, because receivers here never discard data that they have reported.

use super::ranges::{Range, Ranges};
use crate::tcp::SackBlock;

/// SACK reports and recovery state of a sender.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: Ranges,
    /// One past the highest byte that was sent again in this recovery (HighRxt).
    retransmitted: u64,
    /// Whether this recovery has used its rescue retransmission.
    rescued: bool,
    /// Offset below which every unreported byte counts as lost (IsLost).
    lost_below: u64,
    /// Bytes that are assumed to be in the network.
    pipe: u64,
}

impl Scoreboard {
    /// Adds the SACK blocks of an ACK with the number `ack`.
    /// `una` is the first unacknowledged offset, and `high` is one past the highest offset sent. They limit the blocks.
    /// Returns whether the blocks report new bytes.
    pub(crate) fn on_blocks(
        &mut self,
        ack: u64,
        una: u64,
        high: u64,
        blocks: &[SackBlock],
    ) -> bool {
        let mut new = 0;
        for (start, end) in blocks.iter().filter_map(|block| block.offsets(ack)) {
            new += self.sacked.insert(start.max(una), end.min(high));
        }
        new > 0
    }

    /// Removes the reports below the cumulative ACK `una`.
    pub(crate) fn on_cumulative(&mut self, una: u64) {
        self.sacked.remove_below(una);
    }

    /// Recomputes the lost bytes and the bytes in the network (SetPipe).
    pub(crate) fn update(&mut self, una: u64, nxt: u64, mss: u64, threshold: u8) {
        // The search starts at the highest range, and ends at the first range with enough reports at or above it.
        let (mut ranges, mut bytes) = (0, 0);
        self.lost_below = una;
        for range in self.sacked.iter().rev() {
            ranges += 1;
            bytes += range.end - range.start;
            // IsLost: at least `threshold` ranges are above, or more than `threshold - 1` segments of bytes.
            if ranges >= u64::from(threshold) || bytes > u64::from(threshold - 1) * mss {
                self.lost_below = range.start;
                break;
            }
        }
        // Number of bytes between `una` and `offset` that no report covers.
        let below = |offset: u64| offset - una - self.sacked.bytes_below(offset);
        let not_lost = below(nxt.max(self.lost_below)) - below(self.lost_below);
        // Every byte that is not lost counts once. A retransmitted byte counts once more (RFC 6675, 4, SetPipe).
        self.pipe = not_lost + below(self.retransmitted.max(una));
    }

    /// Returns whether the byte at `offset` counts as lost.
    pub(crate) fn is_lost(&self, offset: u64) -> bool {
        offset < self.lost_below
    }

    pub(crate) fn start_recovery(&mut self, una: u64) {
        self.retransmitted = una;
        self.rescued = false;
    }

    /// Returns the next lost bytes that must be sent again (NextSeg, rule 1).
    pub(crate) fn next_lost(&self, una: u64, high: u64) -> Option<Range> {
        let hole = self.hole_from(self.retransmitted.max(una), high)?;
        (hole.start < self.lost_below).then_some(hole)
    }

    /// Returns the next bytes below the highest report that were not sent again, lost or not (NextSeg, rule 3).
    pub(crate) fn next_below_reported(&self, una: u64, high: u64) -> Option<Range> {
        let hole = self.hole_from(self.retransmitted.max(una), high)?;
        (hole.start < self.sacked.end()?).then_some(hole)
    }

    /// Returns the last unreported bytes, at most `longest`, once per recovery (NextSeg, rule 4).
    pub(crate) fn rescue(&self, una: u64, high: u64, longest: u64) -> Option<Range> {
        let reported = self.sacked.end().unwrap_or(una).max(una);
        if self.rescued || high <= reported {
            return None;
        }
        // Later reports show holes below the last report. No report shows a lost tail, so the tail is sent again.
        let start = high.saturating_sub(longest).max(reported);
        Some(Range { start, end: high })
    }

    /// Returns the first range at or above `offset` that no report covers.
    pub(crate) fn hole_from(&self, offset: u64, high: u64) -> Option<Range> {
        let start = self.sacked.containing(offset).map_or(offset, |r| r.end);
        let end = self.sacked.first_from(start).map_or(high, |r| r.start);
        (start < end).then_some(Range { start, end })
    }

    /// Records that `start..end` was sent again.
    /// The range is the rescue retransmission if it is above every report and is not the first segment.
    pub(crate) fn on_retransmit(&mut self, una: u64, start: u64, end: u64) {
        self.pipe += end - start;
        if start > una && start >= self.sacked.end().unwrap_or(una) {
            self.rescued = true;
        } else {
            self.retransmitted = self.retransmitted.max(end);
        }
    }

    pub(crate) fn on_new_data(&mut self, bytes: u64) {
        self.pipe += bytes;
    }

    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Returns the number of reported bytes below `offset`.
    pub(crate) fn reported_below(&self, offset: u64) -> u64 {
        self.sacked.bytes_below(offset)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }
}
