//! Demand of receivers that give credits.
//! A symbol uses one credit of every receiver, and contains the number of this credit.
//!
//! A receiver requests a number of symbols of a block, starting after a given credit.
//! Only the sender can count the lost symbols of each block. Only the sender stores the block of each credit number.

use crate::scdp::common::header::{CreditHeader, Want};
use crate::scdp::common::limits::{ALL, MAX_WINDOW};
use crate::scdp::common::receivers::Receivers;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Number of used credits whose blocks are stored.
// The open credits of a receiver span at most two windows (`Credits::on_use`).
const MEMORY: usize = 2 * MAX_WINDOW as usize;

/// Symbol that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    block: u32,
    /// Number of symbols of the block that were sent before this symbol.
    before: u32,
}

/// Values of a receiver's latest pull, without its requests for blocks.
#[derive(Clone, Copy, Default, Debug)]
struct LastPull {
    /// First credit that is still open at the receiver.
    next: u32,
    fin: bool,
}

#[derive(Debug)]
pub(crate) struct CreditDemand {
    pub(crate) receivers: Receivers,
    /// Values of the latest pull of each receiver.
    told: Vec<LastPull>,
    /// Symbols that were sent last, oldest first.
    sent: VecDeque<Sent>,
    /// Number of blocks, counted from the first, that the application has provided.
    ready: u32,
}

impl CreditDemand {
    /// Returns the demand of receivers that have each given credits for the `pushed` symbols.
    pub(crate) fn new(receivers: usize, pushed: u32) -> Self {
        Self {
            receivers: Receivers::new(receivers, pushed),
            told: alloc::vec![LastPull::default(); receivers],
            sent: VecDeque::new(),
            ready: ALL,
        }
    }

    /// Sets the number of blocks that the application has provided.
    pub(crate) fn set_ready(&mut self, ready: u32) {
        self.ready = ready;
    }

    /// Returns the number of credits used so far.
    pub(crate) fn used(&self) -> u32 {
        self.receivers.sent()
    }

    /// Records that a symbol of `block` was sent. Returns the number of the credit that it uses.
    pub(crate) fn on_sent(&mut self, block: u32) -> u32 {
        let number = self.used();
        let before = self.receivers.on_sent(block);
        if self.sent.len() == MEMORY {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { block, before });
        number
    }

    /// Returns the number of symbols of a block that were sent before credit `number` was used.
    fn sent_before(&self, number: u32, block: u32) -> u32 {
        let all = self.receivers.sent_of(block);
        if all == 0 {
            return 0;
        }
        // Older entries were deleted, so the list starts at this credit.
        let oldest = self.used() - self.sent.len() as u32;
        let from = number.saturating_sub(oldest) as usize;
        let mut since = self.sent.range(from.min(self.sent.len())..);
        let first = since.find(|sent| sent.block == block);
        first.map_or(all, |sent| sent.before)
    }

    /// Processes a receiver's pull for an object of `blocks` blocks. Returns `false` if the pull is invalid.
    pub(crate) fn pull(&mut self, receiver: usize, header: &CreditHeader, blocks: u32) -> bool {
        if header.next > self.used() || header.whole > blocks {
            return false;
        }
        let told = &mut self.told[receiver];
        // A later pull has overtaken this pull.
        let is_older = header.granted < self.receivers.granted(receiver)
            || header.next < told.next
            || header.whole < self.receivers.whole(receiver);
        if is_older {
            return true;
        }
        told.next = header.next;
        told.fin = header.fin;
        // The limit keeps a faulty receiver from requesting more than a window.
        let most = header.next.saturating_add(MAX_WINDOW);
        self.receivers.grant(receiver, header.granted.min(most));
        self.receivers.set_whole(receiver, header.whole);
        for want in header.wants {
            let block = header.whole + u32::from(want.ahead);
            if want.ahead == Want::NONE.ahead || block >= blocks {
                continue;
            }
            let all = self.sent_before(header.next, block) + u32::from(want.symbols);
            // This receiver is too far ahead of the other receivers.
            // The credits stay valid, because later pulls repeat all requests, a few in each pull.
            let Some(wanted) = self.receivers.wanted(receiver, block) else {
                return false;
            };
            *wanted = all;
        }
        true
    }

    /// Returns the first block of which a receiver has requested more symbols than were sent, if the block can be sent.
    fn wanted_of(&self, receiver: usize) -> Option<u32> {
        let block = self.receivers.first_wanted(receiver)?;
        (block < self.ready).then_some(block)
    }

    /// Returns the block of the symbol that may be sent now, if any.
    pub(crate) fn next(&self) -> Option<u32> {
        let mut first: Option<u32> = None;
        for receiver in self.receivers.open() {
            let held = self.receivers.holds_up(receiver);
            // The sender waits for a receiver without credit.
            // The sender does not wait for a receiver that has requested all that it needs (FIN).
            if held && !self.told[receiver].fin {
                return None;
            }
            let wanted = self.wanted_of(receiver);
            // This receiver has no credit left and needs more symbols, so the other receivers wait for it.
            if held && wanted.is_some() {
                return None;
            }
            first = match (first, wanted) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(granted: u32, next: u32, whole: u32, wants: &[(u16, u16)]) -> CreditHeader {
        let mut header = CreditHeader {
            granted,
            next,
            whole,
            ..CreditHeader::default()
        };
        for (want, &(ahead, symbols)) in header.wants.iter_mut().zip(wants) {
            *want = Want { ahead, symbols };
        }
        header
    }

    fn answers(demand: &mut CreditDemand) -> Vec<u32> {
        core::iter::from_fn(|| {
            let block = demand.next()?;
            demand.on_sent(block);
            Some(block)
        })
        .collect()
    }

    #[test]
    fn credits_go_to_the_lowest_block_that_is_wanted_and_a_later_pull_replaces_an_earlier_one() {
        let mut demand = CreditDemand::new(1, 0);
        assert!(demand.pull(0, &pull(4, 0, 0, &[(0, 2), (1, 9)]), 5));
        assert_eq!(answers(&mut demand), [0, 0, 1, 1]);
        // The second symbol of block 0 and the first symbol of block 1 are lost.
        // The pull that reports this replaces all earlier pulls.
        assert!(demand.pull(0, &pull(7, 4, 0, &[(0, 1), (1, 8)]), 5));
        assert_eq!(answers(&mut demand), [0, 1, 1]);
        // An older pull arrives late.
        assert!(demand.pull(0, &pull(6, 2, 0, &[(0, 9)]), 5));
        assert!(answers(&mut demand).is_empty());
    }

    #[test]
    fn a_group_is_sent_as_many_as_the_receiver_wants_that_lost_most() {
        let mut demand = CreditDemand::new(2, 0);
        for receiver in 0..2 {
            demand.pull(receiver, &pull(4, 0, 0, &[(0, 4)]), 5);
        }
        assert_eq!(answers(&mut demand).len(), 4);
        // Receiver 0 lost the first and the last symbol. Receiver 1 lost one of these symbols.
        demand.pull(0, &pull(8, 4, 0, &[(0, 2), (1, 2)]), 5);
        assert_eq!(demand.next(), None, "receiver 1 has no credit");
        demand.pull(1, &pull(8, 4, 0, &[(0, 1), (1, 3)]), 5);
        assert_eq!(answers(&mut demand), [0, 0, 1, 1]);
        assert!(demand.receivers.holds_up(0));
    }

    #[test]
    fn a_receiver_that_needs_nothing_more_does_not_hold_the_others_up() {
        let mut demand = CreditDemand::new(2, 2);
        for _ in 0..2 {
            demand.on_sent(0);
        }
        demand.pull(0, &pull(9, 0, 0, &[(0, 5)]), 5);
        assert_eq!(demand.next(), None);
        let content = CreditHeader {
            fin: true,
            ..pull(2, 1, 0, &[(0, 1)])
        };
        demand.pull(1, &content, 5);
        assert_eq!(answers(&mut demand), [0, 0, 0]);
    }

    #[test]
    fn nobody_is_owed_more_than_a_window_and_what_is_no_pull_is_refused() {
        let mut demand = CreditDemand::new(1, 0);
        assert!(
            !demand.pull(0, &pull(5, 1, 0, &[]), 5),
            "nothing was sent yet"
        );
        assert!(!demand.pull(0, &pull(5, 0, 6, &[]), 5), "no such block");
        assert!(demand.pull(0, &pull(u32::MAX, 0, 0, &[(0, u16::MAX - 1)]), 5));
        assert_eq!(answers(&mut demand).len(), MAX_WINDOW as usize);
    }
}
