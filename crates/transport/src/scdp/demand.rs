//! Symbols that receivers have requested from a sender and that were not yet sent.

use super::common::header::ScdpHeader;
use super::common::limits::{ALL, MAX_AHEAD};
use super::common::receivers::Receivers;
use super::credit::demand::CreditDemand;
use super::paper::group_demand::GroupDemand;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Demand for the symbols of a session.
#[derive(Debug)]
pub(crate) enum Demand {
    /// Demand of a single receiver.
    Unicast(UnicastDemand),
    /// Demand of several receivers. A symbol is sent when every receiver has a pull pending.
    Group(GroupDemand),
    /// Demand of receivers that give credits.
    Credit(CreditDemand),
}

/// Demand of a single receiver, which counts its pulls for each block.
#[derive(Default, Debug)]
pub(crate) struct UnicastDemand {
    /// For each block: highest count of pulls that has arrived.
    pulled: Vec<u32>,
    /// Number of symbols sent as answers to pulls, for each block.
    answered: Vec<u32>,
    /// Blocks with unanswered pulls, in the order of the pulls.
    owed: VecDeque<u32>,
    /// Number of blocks, counted from the first, that the receiver has completely or no longer needs.
    whole: u32,
    /// Blocks that cannot be sent yet. `None` if all blocks can be sent.
    missing: Option<Missing>,
}

/// Blocks that the application has not provided yet.
#[derive(Debug)]
struct Missing {
    /// First block that the application has not provided.
    from: u32,
    /// Missing blocks that the receiver has requested, in the order of the pulls.
    owed: Vec<u32>,
}

impl Demand {
    pub(crate) fn new(receivers: usize) -> Self {
        match receivers {
            0 | 1 => Self::Unicast(UnicastDemand::default()),
            _ => Self::Group(GroupDemand::new(receivers)),
        }
    }

    /// Processes a pull of a receiver. At most `most` symbols of a block remain to be sent to this receiver.
    /// For a single receiver, returns whether more symbols must be sent than before.
    /// Returns `None` if the block is too far ahead of the receiver's complete blocks.
    #[inline]
    pub(crate) fn pull(&mut self, receiver: usize, header: &ScdpHeader, most: u32) -> Option<bool> {
        match self {
            Self::Unicast(demand) => demand.pull(header, most),
            Self::Group(demand) => demand.pull(receiver, header, most).then_some(false),
            Self::Credit(_) => None,
        }
    }

    /// Sets the first block that the application has not provided, for a sender with one receiver.
    /// `None`: the application has provided all blocks.
    pub(crate) fn set_missing(&mut self, from: Option<u32>) {
        if let Self::Credit(demand) = self {
            demand.set_ready(from.unwrap_or(ALL));
        }
        if let Self::Unicast(demand) = self {
            let owed = demand
                .missing
                .take()
                .map_or(Vec::new(), |missing| missing.owed);
            let is_here = |block: &u32| from.is_none_or(|from| *block < from);
            let (here, still) = owed.into_iter().partition(is_here);
            let here: Vec<u32> = here;
            demand.owed.extend(here);
            demand.missing = from.map(|from| Missing { from, owed: still });
        }
    }

    /// Returns whether a symbol may be sent.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        match self {
            // All pulls in the queue for a block may be answered already.
            // The result can therefore be `true` although there is no symbol to send.
            Self::Unicast(demand) => !demand.owed.is_empty(),
            Self::Group(demand) => demand.next().is_some(),
            Self::Credit(demand) => demand.next().is_some(),
        }
    }

    /// Returns the block of the symbol that is sent now, if a symbol is due.
    #[inline]
    pub(crate) fn answer(&mut self) -> Option<u32> {
        match self {
            Self::Unicast(demand) => demand.answer(),
            Self::Group(demand) => demand.answer(),
            Self::Credit(demand) => demand.next(),
        }
    }

    /// Returns the receivers of a group or in credit mode; `None` for a single receiver without credits.
    fn receivers(&self) -> Option<&Receivers> {
        match self {
            Self::Unicast(_) => None,
            Self::Group(demand) => Some(&demand.receivers),
            Self::Credit(demand) => Some(&demand.receivers),
        }
    }

    /// Returns whether the sender must wait for pulls of this receiver.
    pub(crate) fn holds_up(&self, receiver: usize) -> bool {
        let receivers = self.receivers();
        receivers.is_some_and(|receivers| receivers.holds_up(receiver))
    }

    pub(crate) fn is_done(&self, receiver: usize) -> bool {
        self.first_wanted(receiver) == ALL
    }

    /// Returns the number of receivers that need no more symbols.
    pub(crate) fn done(&self) -> usize {
        match self {
            Self::Unicast(demand) => usize::from(demand.whole == ALL),
            Self::Group(demand) => demand.receivers.done(),
            Self::Credit(demand) => demand.receivers.done(),
        }
    }

    /// Returns whether the single receiver needs no more symbols of a block.
    #[inline]
    pub(crate) fn is_closed(&self, block: u32) -> bool {
        match self {
            Self::Unicast(demand) => demand.whole > block,
            Self::Group(_) | Self::Credit(_) => false,
        }
    }

    /// Returns the first block that a receiver has not reported as complete.
    pub(crate) fn first_wanted(&self, receiver: usize) -> u32 {
        match self {
            Self::Unicast(demand) => demand.whole,
            Self::Group(demand) => demand.receivers.whole(receiver),
            Self::Credit(demand) => demand.receivers.whole(receiver),
        }
    }

    /// Records that a receiver needs no more symbols.
    pub(crate) fn finish(&mut self, receiver: usize) {
        match self {
            Self::Unicast(demand) => demand.whole = ALL,
            Self::Group(demand) => demand.receivers.finish(receiver),
            Self::Credit(demand) => demand.receivers.finish(receiver),
        }
    }
}

impl UnicastDemand {
    fn pull(&mut self, header: &ScdpHeader, most: u32) -> Option<bool> {
        let first = self.whole.max(header.blocks);
        if header.block.saturating_sub(first) >= MAX_AHEAD {
            return None;
        }
        let block = header.block as usize;
        if self.answered.len() <= block {
            self.answered.resize(block + 1, 0);
            self.pulled.resize(block + 1, 0);
        }
        if header.blocks > self.whole {
            self.leave_unanswered(header.blocks);
        } else if header.blocks <= header.block && header.pull > self.pulled[block] {
            // A new pull for a complete block shows that its decoding has failed.
            self.whole = self.whole.min(header.block);
        }
        let before = self.credit(block);
        self.pulled[block] = header.pull.max(self.pulled[block]);
        // Pulls above the limit count as answered, so that a faulty receiver cannot request without limit.
        let after = self.credit(block);
        self.answered[block] += after.saturating_sub(most);
        let owes_more = after.min(most) > before;
        if owes_more {
            match &mut self.missing {
                Some(missing) if missing.from <= header.block => missing.owed.push(header.block),
                _ => self.owed.push_back(header.block),
            }
        }
        Some(owes_more)
    }

    /// Cancels all pulls for the first `whole` blocks, because the receiver does not need them.
    fn leave_unanswered(&mut self, whole: u32) {
        // The range starts at the first newly completed block, so that each block is visited only once.
        let end = self.answered.len().min(whole as usize);
        let closed = (self.whole as usize).min(end)..end;
        self.answered[closed.clone()].copy_from_slice(&self.pulled[closed]);
        self.whole = whole;
    }

    /// Returns the number of symbols of a block that may be sent now.
    fn credit(&self, block: usize) -> u32 {
        if self.whole as usize > block {
            return 0;
        }
        self.pulled[block].saturating_sub(self.answered[block])
    }

    fn answer(&mut self) -> Option<u32> {
        while let Some(&block) = self.owed.front() {
            if self.credit(block as usize) > 0 {
                self.answered[block as usize] += 1;
                return Some(block);
            }
            self.owed.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(block: u32, pull: u32) -> ScdpHeader {
        ScdpHeader {
            block,
            pull,
            ..ScdpHeader::default()
        }
    }

    fn answers(demand: &mut Demand) -> Vec<u32> {
        core::iter::from_fn(|| demand.answer()).collect()
    }

    #[test]
    fn a_count_that_has_been_served_is_ignored_and_a_gap_is_filled() {
        let mut demand = Demand::new(1);
        assert_eq!(demand.pull(0, &pull(0, 3), 100), Some(true));
        assert_eq!(demand.pull(0, &pull(0, 2), 100), Some(false));
        assert_eq!(demand.pull(0, &pull(0, 5), 100), Some(true));
        let apart = demand.pull(0, &pull(2, 1), 100);
        assert_eq!(apart, Some(true), "blocks count apart");
        assert_eq!(answers(&mut demand), [0, 0, 0, 0, 0, 2]);
        assert!(!demand.is_due());
    }

    #[test]
    fn what_a_receiver_does_not_wait_for_any_more_is_not_sent_unless_it_asks_again() {
        let enough_of = |blocks, block, pull_count| ScdpHeader {
            blocks,
            ..pull(block, pull_count)
        };
        let mut demand = Demand::new(1);
        demand.pull(0, &pull(0, 4), 100);
        demand.pull(0, &pull(1, 2), 100);
        assert_eq!(demand.answer(), Some(0));
        demand.pull(0, &enough_of(2, 1, 2), 100);
        assert!(answers(&mut demand).is_empty());
        // Block 0 could not be decoded: the receiver needs one more symbol, not the three that were cancelled.
        demand.pull(0, &enough_of(0, 0, 5), 100);
        assert_eq!(answers(&mut demand), [0]);
    }

    #[test]
    fn nobody_is_owed_more_than_there_is_reason_for() {
        let mut demand = Demand::new(1);
        assert_eq!(demand.pull(0, &pull(0, u32::MAX), 100), Some(true));
        assert_eq!(demand.pull(0, &pull(MAX_AHEAD, 1), 100), None);
        assert_eq!(answers(&mut demand).len(), 100);
    }
}
