//! What receivers have given a sender credits for and not got. A symbol uses one credit of every
//! receiver, and has its number.
//!
//! A receiver tells how many symbols of a block are to use credits from one number on, so the sender,
//! who knows which block each number was of, counts those that are lost as the receiver cannot.

use super::header::{CreditHeader, Want};
use super::limits::{ALL, MAX_AHEAD, MAX_WINDOW};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Credits whose use is remembered at most.
const MEMORY: usize = 2 * MAX_WINDOW as usize;

/// A symbol that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    block: u32,
    /// Symbols of the block that were sent before it.
    before: u32,
}

#[derive(Clone, Default, Debug)]
struct Receiver {
    granted: u32,
    next: u32,
    /// How many blocks, from the first, it has whole and waits for nothing of.
    whole: u32,
    fin: bool,
    /// By block, from the first that some receiver waits for: how many are to be sent in all.
    wanted: VecDeque<u32>,
}

impl Receiver {
    fn is_done(&self) -> bool {
        self.whole == ALL
    }
}

#[derive(Debug)]
pub(crate) struct CreditDemand {
    receivers: Vec<Receiver>,
    /// Credits used so far.
    used: u32,
    /// The last of them.
    sent: VecDeque<Sent>,
    /// The first block that some receiver waits for.
    first: u32,
    /// By block, from `first` on: symbols sent.
    sent_of: VecDeque<u32>,
    /// Blocks before this one can be sent.
    ready: u32,
}

impl CreditDemand {
    /// Each receiver has given as many credits as symbols are `pushed`.
    pub(crate) fn new(receivers: usize, pushed: u32) -> Self {
        let receiver = Receiver {
            granted: pushed,
            ..Receiver::default()
        };
        Self {
            receivers: alloc::vec![receiver; receivers.max(1)],
            used: 0,
            sent: VecDeque::new(),
            first: 0,
            sent_of: VecDeque::new(),
            ready: ALL,
        }
    }

    /// The application has handed over the blocks before `ready`.
    pub(super) fn set_ready(&mut self, ready: u32) {
        self.ready = ready;
    }

    /// Credits used so far.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// A symbol of `block` is sent. Gives the number of its credit.
    pub(crate) fn on_sent(&mut self, block: u32) -> u32 {
        let number = self.used;
        self.used += 1;
        let before = match block.checked_sub(self.first) {
            Some(place) if place < MAX_AHEAD => {
                let place = place as usize;
                if self.sent_of.len() <= place {
                    self.sent_of.resize(place + 1, 0);
                }
                let sent = &mut self.sent_of[place];
                *sent += 1;
                *sent - 1
            }
            _ => 0,
        };
        if self.sent.len() == MEMORY {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { block, before });
        number
    }

    /// Symbols of a block that were sent before credit `number` was used.
    fn sent_before(&self, number: u32, block: u32) -> u32 {
        let place = (block - self.first) as usize;
        let Some(&all) = self.sent_of.get(place).filter(|all| **all > 0) else {
            return 0;
        };
        let oldest = self.used - self.sent.len() as u32;
        let from = number.saturating_sub(oldest) as usize;
        let mut since = self.sent.range(from.min(self.sent.len())..);
        let first = since.find(|sent| sent.block == block);
        first.map_or(all, |sent| sent.before)
    }

    /// A receiver's pull of an object of so many `blocks`. Says whether it makes sense.
    pub(crate) fn pull(&mut self, receiver: usize, header: &CreditHeader, blocks: u32) -> bool {
        if header.next > self.used || header.whole > blocks {
            return false;
        }
        let known = &mut self.receivers[receiver];
        // An older one was overtaken.
        let is_older = header.granted < known.granted
            || header.next < known.next
            || header.whole < known.whole;
        if is_older {
            return true;
        }
        // What is beyond any honest window is not owed.
        let most = header.next.saturating_add(MAX_WINDOW);
        known.granted = header.granted.min(most).max(known.granted);
        known.next = header.next;
        known.fin = header.fin;
        if header.whole > known.whole {
            known.whole = header.whole;
            self.forget();
        }
        for want in header.wants {
            let block = header.whole + u32::from(want.ahead);
            if want.ahead == Want::NONE.ahead || block >= blocks {
                continue;
            }
            // A receiver that is far ahead of others.
            if block - self.first >= MAX_AHEAD {
                return false;
            }
            let place = (block - self.first) as usize;
            let wanted = self.sent_before(header.next, block) + u32::from(want.symbols);
            let of_receiver = &mut self.receivers[receiver].wanted;
            if of_receiver.len() <= place {
                of_receiver.resize(place + 1, 0);
            }
            of_receiver[place] = wanted;
        }
        true
    }

    /// Forgets the blocks that no receiver waits for.
    fn forget(&mut self) {
        let open = self.receivers.iter().filter(|one| !one.is_done());
        let Some(first) = open.map(|one| one.whole).min() else {
            return;
        };
        let passed = first.saturating_sub(self.first) as usize;
        self.first = self.first.max(first);
        self.sent_of.drain(..passed.min(self.sent_of.len()));
        for receiver in &mut self.receivers {
            let known = receiver.wanted.len();
            receiver.wanted.drain(..passed.min(known));
        }
    }

    /// The first block of which a receiver wants more than was sent.
    fn wanted_of(&self, receiver: &Receiver) -> Option<u32> {
        let from = receiver.whole.saturating_sub(self.first) as usize;
        let wanted = receiver.wanted.range(from.min(receiver.wanted.len())..);
        let sent = |place: usize| self.sent_of.get(place).copied().unwrap_or(0);
        let mut wanted = wanted.zip(from..);
        let (_, place) = wanted.find(|(wanted, place)| **wanted > sent(*place))?;
        let block = self.first + place as u32;
        (block < self.ready).then_some(block)
    }

    /// The block of the symbol that may be sent now.
    pub(crate) fn next(&self) -> Option<u32> {
        if let [only] = &*self.receivers {
            return match only.granted > self.used && !only.is_done() {
                true => self.wanted_of(only),
                false => None,
            };
        }
        let open = self.receivers.iter().filter(|one| !one.is_done());
        let mut first: Option<u32> = None;
        for receiver in open {
            let wanted = self.wanted_of(receiver);
            let may_send = receiver.granted > self.used || (receiver.fin && wanted.is_none());
            if !may_send {
                return None;
            }
            first = match (first, wanted) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        first
    }

    pub(super) fn holds_up(&self, receiver: usize) -> bool {
        let receiver = &self.receivers[receiver];
        !receiver.is_done() && receiver.granted <= self.used
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
        // The second of block 0 is lost, and the first of block 1; the pull that said so is lost too.
        assert!(demand.pull(0, &pull(7, 4, 0, &[(0, 1), (1, 8)]), 5));
        assert_eq!(answers(&mut demand), [0, 1, 1]);
        // An older one comes late.
        assert!(demand.pull(0, &pull(6, 2, 0, &[(0, 9)]), 5));
        assert_eq!(answers(&mut demand), []);
    }

    #[test]
    fn a_group_is_sent_as_many_as_the_receiver_wants_that_lost_most() {
        let mut demand = CreditDemand::new(2, 0);
        for receiver in 0..2 {
            demand.pull(receiver, &pull(4, 0, 0, &[(0, 4)]), 5);
        }
        assert_eq!(answers(&mut demand).len(), 4);
        // One lost the first and the last, the other one of them.
        demand.pull(0, &pull(8, 4, 0, &[(0, 2), (1, 2)]), 5);
        assert_eq!(demand.next(), None, "the other has no credit");
        demand.pull(1, &pull(8, 4, 0, &[(0, 1), (1, 3)]), 5);
        assert_eq!(answers(&mut demand), [0, 0, 1, 1]);
        assert!(demand.holds_up(0));
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
