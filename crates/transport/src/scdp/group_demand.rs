//! What the receivers of a group have asked for and not got. A symbol goes to all of them, so one is
//! sent when each receiver that is not done has a pull pending (SCDP paper, section IV-D), whichever
//! block that was for: no receiver is sent more than it has pulled.
//!
//! Which block it is of is another matter: the lowest that some receiver has asked for and that has not
//! been sent so often. It is in vain for those who have that block.

use super::header::ScdpHeader;
use super::limits::{ALL, MAX_AHEAD};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[derive(Debug)]
pub(crate) struct GroupDemand {
    receivers: Vec<Receiver>,
    /// Symbols sent in answer: each takes one pull of every receiver.
    answered: u32,
    /// The first block that some receiver waits for: what was asked and sent of those before it is
    /// forgotten.
    first: u32,
    /// Symbols sent in answer by block, from `first` on.
    answered_of: VecDeque<u32>,
}

#[derive(Clone, Default, Debug)]
struct Receiver {
    /// The highest count of pulls heard.
    pulled: u32,
    /// By block, from the first that some receiver waits for: the highest count of symbols wanted.
    wanted: VecDeque<u32>,
    /// How many blocks, from the first, it has whole and waits for nothing of.
    whole: u32,
}

impl Receiver {
    fn is_done(&self) -> bool {
        self.whole == ALL
    }
}

impl GroupDemand {
    pub(super) fn new(receivers: usize) -> Self {
        Self {
            receivers: alloc::vec![Receiver::default(); receivers],
            answered: 0,
            first: 0,
            answered_of: VecDeque::new(),
        }
    }

    /// A receiver's pull. Says whether it makes sense: it is not about a block too far ahead.
    pub(super) fn pull(&mut self, receiver: usize, header: &ScdpHeader, most: u32) -> bool {
        let Some(place) = header.block.checked_sub(self.first) else {
            // Every receiver has this block.
            self.count(receiver, header, most);
            return true;
        };
        if place >= MAX_AHEAD {
            return false;
        }
        let place = place as usize;
        if self.answered_of.len() <= place {
            self.answered_of.resize(place + 1, 0);
        }
        let of_block = self.answered_of[place];
        let wanted_of = &mut self.receivers[receiver].wanted;
        if wanted_of.len() <= place {
            wanted_of.resize(place + 1, 0);
        }
        // What is beyond any honest demand is not owed.
        let wanted = header.pull.min(of_block.saturating_add(most));
        wanted_of[place] = wanted.max(wanted_of[place]);
        self.count(receiver, header, most);
        true
    }

    /// The counts of all blocks that a pull tells.
    fn count(&mut self, receiver: usize, header: &ScdpHeader, most: u32) {
        let of_all = self.answered;
        let receiver = &mut self.receivers[receiver];
        let pulled = header.count.min(of_all.saturating_add(most));
        receiver.pulled = pulled.max(receiver.pulled);
        if header.blocks > receiver.whole {
            receiver.whole = header.blocks;
            self.forget();
        }
    }

    /// Forgets the blocks that no receiver waits for.
    fn forget(&mut self) {
        let open = self.receivers.iter().filter(|one| !one.is_done());
        let Some(first) = open.map(|one| one.whole).min() else {
            return;
        };
        let passed = first.saturating_sub(self.first) as usize;
        self.first = self.first.max(first);
        self.answered_of.drain(..passed.min(self.answered_of.len()));
        for receiver in &mut self.receivers {
            let known = receiver.wanted.len();
            receiver.wanted.drain(..passed.min(known));
        }
    }

    /// The block of the symbol that may be sent now. Looks at the blocks that receivers have open.
    pub(super) fn next(&self) -> Option<u32> {
        let open = || self.receivers.iter().filter(|one| !one.is_done());
        if open().any(|one| one.pulled <= self.answered) {
            return None;
        }
        let first_wanted = |one: &Receiver| {
            let whole = one.whole.saturating_sub(self.first) as usize;
            let wanted = one.wanted.range(whole.min(one.wanted.len())..);
            let answered = self.answered_of.range(whole.min(self.answered_of.len())..);
            let first = wanted
                .zip(answered)
                .position(|(wanted, answered)| wanted > answered);
            first.map(|place| one.whole + place as u32)
        };
        open().filter_map(first_wanted).min()
    }

    pub(super) fn answer(&mut self) -> Option<u32> {
        let block = self.next()?;
        self.answered += 1;
        self.answered_of[(block - self.first) as usize] += 1;
        Some(block)
    }

    pub(super) fn holds_up(&self, receiver: usize) -> bool {
        let receiver = &self.receivers[receiver];
        !receiver.is_done() && receiver.pulled <= self.answered
    }

    pub(super) fn done(&self) -> usize {
        self.receivers.iter().filter(|one| one.is_done()).count()
    }

    pub(super) fn first_wanted(&self, receiver: usize) -> u32 {
        self.receivers[receiver].whole
    }

    pub(super) fn finish(&mut self, receiver: usize) {
        self.receivers[receiver].whole = ALL;
        self.receivers[receiver].wanted = VecDeque::new();
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pull that says: so many pulls so far, so many symbols of `block` wanted, `whole` blocks there.
    fn pull(pulls: u32, block: u32, pull: u32, whole: u32) -> ScdpHeader {
        ScdpHeader {
            count: pulls,
            block,
            pull,
            blocks: whole,
            ..ScdpHeader::default()
        }
    }

    #[test]
    fn what_every_receiver_has_is_forgotten_so_that_the_last_block_costs_as_little_as_the_first() {
        let mut demand = GroupDemand::new(2);
        for block in 0..1_000 {
            for receiver in 0..2 {
                assert!(demand.pull(receiver, &pull(block + 1, block, 1, block), 100));
            }
            assert_eq!(answers(&mut demand), [block]);
            assert!(demand.answered_of.len() <= 2);
        }
        // A word that is late.
        assert!(demand.pull(0, &pull(1_001, 3, 1, 3), 100));
        assert_eq!(demand.next(), None);
    }

    #[test]
    fn a_block_far_ahead_of_all_that_is_open_is_refused() {
        let mut demand = GroupDemand::new(2);
        assert!(!demand.pull(0, &pull(1, MAX_AHEAD, 1, 0), 100));
        assert!(demand.answered_of.is_empty());
        assert!(demand.pull(0, &pull(1, MAX_AHEAD - 1, 1, 0), 100));
    }

    fn answers(demand: &mut GroupDemand) -> Vec<u32> {
        core::iter::from_fn(|| demand.answer()).collect()
    }

    #[test]
    fn a_symbol_is_due_once_every_receiver_that_is_not_done_has_a_pull_pending() {
        let mut demand = GroupDemand::new(2);
        demand.pull(0, &pull(3, 0, 3, 0), 100);
        assert_eq!(demand.next(), None);
        demand.pull(1, &pull(2, 0, 2, 0), 100);
        assert_eq!(answers(&mut demand), [0, 0]);
        assert!(demand.holds_up(1) && !demand.holds_up(0));
        demand.finish(1);
        assert_eq!(answers(&mut demand), [0]);
        assert_eq!(demand.done(), 1);
    }

    #[test]
    fn the_lowest_block_that_anybody_wants_goes_first_on_pulls_for_any() {
        let mut demand = GroupDemand::new(2);
        demand.pull(0, &pull(2, 0, 2, 0), 100);
        demand.pull(1, &pull(3, 1, 3, 1), 100);
        // Two for the first, then the second has one pull left, and the first none.
        assert_eq!(answers(&mut demand), [0, 0]);
        assert!(demand.holds_up(0));
        demand.pull(0, &pull(5, 1, 3, 1), 100);
        assert_eq!(answers(&mut demand), [1]);
        // The second has had three symbols, two of them in vain: it pulls again for what it wants.
        demand.pull(1, &pull(5, 1, 3, 1), 100);
        assert_eq!(answers(&mut demand), [1, 1]);
        assert!(demand.next().is_none());
    }

    #[test]
    fn what_was_sent_of_a_block_before_a_receiver_asked_serves_it_too() {
        let mut demand = GroupDemand::new(2);
        demand.pull(0, &pull(3, 0, 3, 0), 100);
        demand.pull(1, &pull(3, 1, 3, 0), 100);
        assert_eq!(answers(&mut demand), [0, 0, 0]);
        demand.pull(0, &pull(9, 1, 3, 1), 100);
        demand.pull(1, &pull(9, 0, 3, 0), 100);
        assert_eq!(answers(&mut demand), [1, 1, 1], "none of block 0 again");
    }

    #[test]
    fn nobody_is_owed_more_than_there_is_reason_for() {
        let mut demand = GroupDemand::new(2);
        for receiver in 0..2 {
            demand.pull(receiver, &pull(u32::MAX, 0, u32::MAX, 0), 100);
        }
        assert_eq!(answers(&mut demand).len(), 100);
    }
}
