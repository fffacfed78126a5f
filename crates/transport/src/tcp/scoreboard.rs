//! What the peer reported as received above the cumulative ACK, and what follows for
//! retransmission: RFC 6675. Exists only while there are such reports.
//!
//! Deviation: after a timeout the reports are kept (6675, 5.1 allows it: receivers here never
//! renege), and the resent data skips them.

use super::ranges::{Range, Ranges};
use crate::tcp::SackBlock;

/// The sender's scoreboard.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: Ranges,
    /// One past the highest byte retransmitted in this recovery (HighRxt).
    retransmitted: u64,
    /// Whether the rescue retransmission of this recovery is spent.
    rescued: bool,
    /// Everything below that is not sacked counts as lost (IsLost).
    lost_below: u64,
    /// Bytes taken to be in the network.
    pipe: u64,
}

impl Scoreboard {
    /// Takes the blocks of an ACK for `una`; `high` bounds what can have been sent. Says whether
    /// they told something new.
    pub(crate) fn on_blocks(&mut self, una: u64, high: u64, blocks: &[SackBlock]) -> bool {
        let mut new = 0;
        for block in blocks {
            let end = (una + u64::from(block.end)).min(high);
            new += self.sacked.insert(una + u64::from(block.start), end);
        }
        new > 0
    }

    /// The cumulative ACK moved to `una`.
    pub(crate) fn on_cumulative(&mut self, una: u64) {
        self.sacked.remove_below(una);
    }

    /// Recomputes what is lost and what is in the network (SetPipe).
    pub(crate) fn update(&mut self, una: u64, nxt: u64, mss: u64, threshold: u8) {
        let (mut ranges, mut bytes) = (0, 0);
        self.lost_below = una;
        for range in self.sacked.iter().rev() {
            ranges += 1;
            bytes += range.end - range.start;
            if ranges >= u64::from(threshold) || bytes > u64::from(threshold - 1) * mss {
                self.lost_below = range.start;
                break;
            }
        }
        let below = |offset: u64| offset - una - self.sacked.bytes_below(offset);
        let not_lost = below(nxt.max(self.lost_below)) - below(self.lost_below);
        self.pipe = not_lost + below(self.retransmitted.max(una));
    }

    /// Whether the byte at `offset` counts as lost.
    pub(crate) fn is_lost(&self, offset: u64) -> bool {
        offset < self.lost_below
    }

    pub(crate) fn start_recovery(&mut self, una: u64) {
        self.retransmitted = una;
        self.rescued = false;
    }

    /// The next bytes to retransmit that count as lost (NextSeg, rule 1).
    pub(crate) fn next_lost(&self, una: u64, high: u64) -> Option<Range> {
        let hole = self.hole_from(self.retransmitted.max(una), high)?;
        (hole.start < self.lost_below).then_some(hole)
    }

    /// The next bytes to retransmit that lie below a report, lost or not (NextSeg, rule 3).
    pub(crate) fn next_below_reported(&self, una: u64, high: u64) -> Option<Range> {
        let hole = self.hole_from(self.retransmitted.max(una), high)?;
        (hole.start < self.sacked.end()?).then_some(hole)
    }

    /// The last `longest` unreported bytes, once a recovery (NextSeg, rule 4).
    pub(crate) fn rescue(&self, una: u64, high: u64, longest: u64) -> Option<Range> {
        let reported = self.sacked.end().unwrap_or(una).max(una);
        if self.rescued || high <= reported {
            return None;
        }
        let start = high.saturating_sub(longest).max(reported);
        Some(Range { start, end: high })
    }

    /// The first bytes from `offset` on that no report covers.
    pub(crate) fn hole_from(&self, offset: u64, high: u64) -> Option<Range> {
        let start = self.sacked.containing(offset).map_or(offset, |r| r.end);
        let end = self.sacked.first_from(start).map_or(high, |r| r.start);
        (start < end).then_some(Range { start, end })
    }

    /// `start..end` was sent again. Above every report and not first, it is the rescue.
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

    /// Bytes reported as received below `offset`.
    pub(crate) fn reported_below(&self, offset: u64) -> u64 {
        self.sacked.bytes_below(offset)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }
}
