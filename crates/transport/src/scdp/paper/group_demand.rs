//! Demand of a group of receivers. Every symbol is sent to all receivers.
//! So the sender waits until each receiver that is not done has a pull pending (SCDP paper, section IV-D).
//! Each pending pull may be for any block. So no receiver gets more symbols than it has pulled.
//!
//! The symbol belongs to the lowest block of which a receiver has requested more symbols than were sent.
//! Receivers that already have the lowest block cannot use its symbol.

use crate::scdp::common::header::ScdpHeader;
use crate::scdp::common::receivers::Receivers;

#[derive(Debug)]
pub(crate) struct GroupDemand {
    pub(crate) receivers: Receivers,
}

impl GroupDemand {
    pub(crate) fn new(receivers: usize) -> Self {
        Self {
            receivers: Receivers::new(receivers, 0),
        }
    }

    /// Processes a pull of a receiver. Returns `false` if the block of the pull is too far ahead.
    pub(crate) fn pull(&mut self, receiver: usize, header: &ScdpHeader, most: u32) -> bool {
        let receivers = &mut self.receivers;
        // All receivers have the blocks before the first stored block, so no state is needed for them.
        if header.block >= receivers.first() {
            // This limit stops a faulty receiver that would request without end.
            let allowed = receivers.sent_of(header.block).saturating_add(most);
            let Some(wanted) = receivers.wanted(receiver, header.block) else {
                return false;
            };
            *wanted = header.pull.min(allowed).max(*wanted);
        }
        let allowed = receivers.sent().saturating_add(most);
        receivers.grant(receiver, header.count.min(allowed));
        receivers.set_whole(receiver, header.blocks);
        true
    }

    /// Returns the block of the symbol that may be sent now, if any.
    /// The search covers only the blocks that receivers have open.
    pub(crate) fn next(&self) -> Option<u32> {
        let receivers = &self.receivers;
        if receivers.open().any(|one| receivers.holds_up(one)) {
            return None;
        }
        receivers
            .open()
            .filter_map(|one| receivers.first_wanted(one))
            .min()
    }

    pub(crate) fn answer(&mut self) -> Option<u32> {
        let block = self.next()?;
        self.receivers.on_sent(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::common::limits::MAX_AHEAD;
    use alloc::vec::Vec;

    /// Returns a pull with three counts: all pulls so far, symbols wanted of `block`, and complete blocks.
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
            assert!(demand.receivers.remembered() <= 2);
        }
        // This pull arrives late.
        assert!(demand.pull(0, &pull(1_001, 3, 1, 3), 100));
        assert_eq!(demand.next(), None);
    }

    #[test]
    fn a_block_far_ahead_of_all_that_is_open_is_refused() {
        let mut demand = GroupDemand::new(2);
        assert!(!demand.pull(0, &pull(1, MAX_AHEAD, 1, 0), 100));
        assert_eq!(demand.receivers.remembered(), 0);
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
        assert!(demand.receivers.holds_up(1) && !demand.receivers.holds_up(0));
        demand.receivers.finish(1);
        assert_eq!(answers(&mut demand), [0]);
        assert_eq!(demand.receivers.done(), 1);
    }

    #[test]
    fn the_lowest_block_that_anybody_wants_goes_first_on_pulls_for_any() {
        let mut demand = GroupDemand::new(2);
        demand.pull(0, &pull(2, 0, 2, 0), 100);
        demand.pull(1, &pull(3, 1, 3, 1), 100);
        // Two symbols of block 0 are sent. Then receiver 1 has one pull left, and receiver 0 has none.
        assert_eq!(answers(&mut demand), [0, 0]);
        assert!(demand.receivers.holds_up(0));
        demand.pull(0, &pull(5, 1, 3, 1), 100);
        assert_eq!(answers(&mut demand), [1]);
        // Receiver 1 got three symbols and needed only one of them, so it pulls two more.
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
