//! How many symbols of each block a sender's receivers have asked for and not got. A symbol serves all
//! receivers, so one may be sent when each of them has asked for it (SCDP paper, section IV-D); with
//! one receiver that is unicast.

use alloc::vec;
use alloc::vec::Vec;

/// Counts of pulls, by block and receiver.
#[derive(Debug)]
pub(crate) struct Demand {
    /// By block and then by receiver: the highest count of pulls heard.
    pulled: Vec<u32>,
    /// By block: symbols sent in answer.
    answered: Vec<u32>,
    /// By receiver: how many blocks, from the first, it has whole and waits for nothing of.
    whole: Vec<u32>,
}

/// All blocks: of a receiver that is done.
const ALL: u32 = u32::MAX;

impl Demand {
    pub(crate) fn new(receivers: usize) -> Self {
        Self {
            pulled: Vec::new(),
            answered: Vec::new(),
            whole: vec![0; receivers],
        }
    }

    /// A receiver's pull for a block. Gives the number of symbols that may be sent by it.
    pub(crate) fn pull(&mut self, receiver: usize, block: u32, count: u32, most: u32) -> u32 {
        let (block, receivers) = (block as usize, self.whole.len());
        if self.answered.len() <= block {
            self.answered.resize(block + 1, 0);
            self.pulled.resize((block + 1) * receivers, 0);
        }
        let before = self.credit(block);
        let heard = &mut self.pulled[block * receivers + receiver];
        *heard = count.max(*heard);
        // What is beyond any honest demand is not owed.
        let after = self.credit(block);
        self.answered[block] += after.saturating_sub(most);
        after.min(most).saturating_sub(before)
    }

    /// A receiver has so many blocks whole. Gives the blocks of which symbols may be sent now that it
    /// waits for none of them.
    pub(crate) fn advance(&mut self, receiver: usize, whole: u32) -> impl Iterator<Item = u32> {
        let before = self.whole[receiver];
        self.whole[receiver] = whole.max(before);
        let known = self.answered.len() as u32;
        (before..whole.min(known)).filter(|block| self.credit(*block as usize) > 0)
    }

    /// Symbols of a block that may be sent now.
    fn credit(&self, block: usize) -> u32 {
        let receivers = self.whole.len();
        let of_block = &self.pulled[block * receivers..(block + 1) * receivers];
        let waiting = of_block.iter().zip(&self.whole);
        let waiting = waiting.filter(|(_, whole)| **whole as usize <= block);
        let least = waiting.map(|(pulled, _)| *pulled).min();
        least.unwrap_or(0).saturating_sub(self.answered[block])
    }

    /// Whether nothing is sent for want of this receiver's pulls: it has asked for nothing of a block
    /// that is not answered, nor has it all.
    pub(crate) fn holds_up(&self, receiver: usize) -> bool {
        if self.is_done(receiver) {
            return false;
        }
        let receivers = self.whole.len();
        let mut of_blocks = self.pulled.chunks_exact(receivers).zip(&self.answered);
        !of_blocks.any(|(pulled, answered)| pulled[receiver] > *answered)
    }

    pub(crate) fn is_done(&self, receiver: usize) -> bool {
        self.whole[receiver] == ALL
    }

    /// Receivers that need nothing more.
    pub(crate) fn done(&self) -> usize {
        self.whole.iter().filter(|whole| **whole == ALL).count()
    }

    /// The first block that a receiver has not said to have whole.
    pub(crate) fn first_wanted(&self, receiver: usize) -> u32 {
        self.whole[receiver]
    }

    /// A symbol of `block` is sent in answer. Says whether one was owed.
    pub(crate) fn answer(&mut self, block: u32) -> bool {
        let block = block as usize;
        let owed = block < self.answered.len() && self.credit(block) > 0;
        if owed {
            self.answered[block] += 1;
        }
        owed
    }

    /// A receiver needs nothing more. Gives the blocks of which symbols may be sent now.
    pub(crate) fn finish(&mut self, receiver: usize) -> impl Iterator<Item = u32> {
        self.advance(receiver, ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_has_been_served_is_ignored_and_a_gap_is_filled() {
        let mut demand = Demand::new(1);
        assert_eq!(demand.pull(0, 0, 3, 100), 3);
        assert_eq!(demand.pull(0, 0, 2, 100), 0);
        assert_eq!(demand.pull(0, 0, 5, 100), 2);
        assert_eq!((0..9).filter(|_| demand.answer(0)).count(), 5);
        assert_eq!(demand.pull(0, 2, 1, 100), 1, "blocks count apart");
        assert!(!demand.answer(1));
        assert!(demand.answer(2));
    }

    #[test]
    fn a_symbol_is_owed_once_every_receiver_that_is_not_done_has_asked() {
        let mut demand = Demand::new(2);
        assert_eq!(demand.pull(0, 0, 3, 100), 0);
        assert_eq!(demand.pull(1, 0, 2, 100), 2);
        assert_eq!(demand.finish(1).collect::<Vec<_>>(), [0]);
        assert_eq!((0..9).filter(|_| demand.answer(0)).count(), 3);
        assert_eq!(demand.done(), 1);
    }

    #[test]
    fn a_block_waits_only_for_those_who_do_not_have_it_whole() {
        let mut demand = Demand::new(2);
        assert_eq!(demand.pull(0, 0, 2, 100), 0, "the other has not asked");
        assert_eq!(demand.pull(1, 1, 1, 100), 0);
        assert_eq!(demand.advance(1, 1).collect::<Vec<_>>(), [0]);
        assert_eq!((0..9).filter(|_| demand.answer(0)).count(), 2);
        assert!(!demand.answer(1), "the first has not asked for it");
        assert!(demand.holds_up(0) && !demand.holds_up(1));
    }

    #[test]
    fn nobody_is_owed_more_than_there_is_reason_for() {
        let mut demand = Demand::new(1);
        assert_eq!(demand.pull(0, 0, u32::MAX, 100), 100);
        assert_eq!((0..999).filter(|_| demand.answer(0)).count(), 100);
    }
}
