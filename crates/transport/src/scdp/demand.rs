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
    /// By receiver: whether it is done and waits for nothing.
    done: Vec<bool>,
}

impl Demand {
    pub(crate) fn new(receivers: usize) -> Self {
        Self {
            pulled: Vec::new(),
            answered: Vec::new(),
            done: vec![false; receivers],
        }
    }

    /// A receiver's pull for a block. Gives the number of symbols that may be sent by it.
    pub(crate) fn pull(&mut self, receiver: usize, block: u32, count: u32, most: u32) -> u32 {
        let (block, receivers) = (block as usize, self.done.len());
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

    /// Symbols of a block that may be sent now.
    fn credit(&self, block: usize) -> u32 {
        let receivers = self.done.len();
        let of_block = &self.pulled[block * receivers..(block + 1) * receivers];
        let waiting = of_block.iter().zip(&self.done).filter(|(_, done)| !**done);
        let least = waiting.map(|(pulled, _)| *pulled).min();
        least.unwrap_or(0).saturating_sub(self.answered[block])
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

    /// A receiver needs nothing more. Says whether none does.
    pub(crate) fn finish(&mut self, receiver: usize) -> bool {
        self.done[receiver] = true;
        self.done.iter().all(|done| *done)
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
        assert!(!demand.finish(1));
        assert_eq!((0..9).filter(|_| demand.answer(0)).count(), 3);
        assert!(demand.finish(0));
    }

    #[test]
    fn nobody_is_owed_more_than_there_is_reason_for() {
        let mut demand = Demand::new(1);
        assert_eq!(demand.pull(0, 0, u32::MAX, 100), 100);
        assert_eq!((0..999).filter(|_| demand.answer(0)).count(), 100);
    }
}
