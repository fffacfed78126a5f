//! Receivers of the symbols of one sender.
//! The counts of each receiver contain the symbols that it has requested but not yet received.
//! Every symbol is sent to all receivers and uses one pull, or one credit, of each receiver.

use super::limits::{ALL, MAX_AHEAD};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[derive(Debug)]
pub(crate) struct Receivers {
    all: Vec<Receiver>,
    /// Total number of symbols sent. Each symbol has used one pull or credit of every receiver.
    sent: u32,
    /// First block that some receiver still needs. The state of earlier blocks is deleted.
    first: u32,
    /// For each block, starting with block `first`: number of symbols sent.
    sent_of: VecDeque<u32>,
}

#[derive(Clone, Default, Debug)]
struct Receiver {
    /// Total number of pulls or credits from this receiver.
    granted: u32,
    /// For each block, starting with block `first` of [`Receivers`]: total number of requested symbols.
    wanted: VecDeque<u32>,
    /// Number of leading entries of `wanted` for which enough symbols were sent.
    /// A search can start after these entries.
    served: usize,
    /// Number of blocks, counted from the first, that this receiver has completely or no longer needs.
    whole: u32,
}

impl Receiver {
    fn is_done(&self) -> bool {
        self.whole == ALL
    }

    /// Increases `served` past blocks for which enough symbols were sent.
    #[inline]
    fn pass_served(&mut self, sent_of: &VecDeque<u32>) {
        let sent = |place: usize| sent_of.get(place).copied().unwrap_or(0);
        while let Some(wanted) = self.wanted.get(self.served)
            && *wanted <= sent(self.served)
        {
            self.served += 1;
        }
    }
}

impl Receivers {
    /// Returns `count` receivers, each of which has granted `pushed` symbols.
    pub(crate) fn new(count: usize, pushed: u32) -> Self {
        let receiver = Receiver {
            granted: pushed,
            ..Receiver::default()
        };
        Self {
            all: alloc::vec![receiver; count],
            sent: 0,
            first: 0,
            sent_of: VecDeque::new(),
        }
    }

    /// Returns the total number of symbols sent.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// Returns the first block that some receiver still needs.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Returns the number of symbols of a block sent so far.
    pub(crate) fn sent_of(&self, block: u32) -> u32 {
        let place = block.checked_sub(self.first);
        let sent = place.and_then(|place| self.sent_of.get(place as usize));
        sent.copied().unwrap_or(0)
    }

    /// Records that a symbol of `block` was sent. Returns the number of symbols of the block that were sent before.
    pub(crate) fn on_sent(&mut self, block: u32) -> u32 {
        self.sent += 1;
        let place = block.checked_sub(self.first);
        // No receiver can request symbols of a block outside this range, so they are not counted.
        let Some(place) = place.filter(|place| *place < MAX_AHEAD) else {
            return 0;
        };
        let place = place as usize;
        if self.sent_of.len() <= place {
            self.sent_of.resize(place + 1, 0);
        }
        let sent = &mut self.sent_of[place];
        *sent += 1;
        let before = *sent - 1;
        for receiver in &mut self.all {
            receiver.pass_served(&self.sent_of);
        }
        before
    }

    pub(crate) fn granted(&self, receiver: usize) -> u32 {
        self.all[receiver].granted
    }

    /// Sets the total number of symbols that the receiver has granted.
    /// A smaller number comes from an older pull and is ignored.
    pub(crate) fn grant(&mut self, receiver: usize, granted: u32) {
        let receiver = &mut self.all[receiver];
        receiver.granted = granted.max(receiver.granted);
    }

    /// Returns the first block that a receiver has not reported as complete, or [`ALL`] if the receiver is done.
    pub(crate) fn whole(&self, receiver: usize) -> u32 {
        self.all[receiver].whole
    }

    /// Records that the receiver has the first `whole` blocks.
    /// A smaller number comes from an older pull and is ignored.
    pub(crate) fn set_whole(&mut self, receiver: usize, whole: u32) {
        let receiver = &mut self.all[receiver];
        if whole > receiver.whole {
            receiver.whole = whole;
            self.forget();
        }
    }

    /// Returns the entry for the number of symbols of a block that a receiver has requested.
    /// The number includes symbols already sent.
    /// Returns `None` if all receivers have the block, or if the block is too far ahead.
    pub(crate) fn wanted(&mut self, receiver: usize, block: u32) -> Option<&mut u32> {
        let place = block.checked_sub(self.first)?;
        if place >= MAX_AHEAD {
            return None;
        }
        let place = place as usize;
        let receiver = &mut self.all[receiver];
        // The caller may raise the entry, so the next search must include this block again.
        receiver.served = receiver.served.min(place);
        if receiver.wanted.len() <= place {
            receiver.wanted.resize(place + 1, 0);
        }
        receiver.wanted.get_mut(place)
    }

    /// Deletes the state of blocks that no receiver needs.
    fn forget(&mut self) {
        let open = self.all.iter().filter(|one| !one.is_done());
        let Some(first) = open.map(|one| one.whole).min() else {
            return;
        };
        let passed = first.saturating_sub(self.first) as usize;
        self.first = self.first.max(first);
        // The first symbol of a block adds an entry to the list.
        // A block without symbols has no entry, so the list may be shorter than the number of deleted blocks.
        self.sent_of.drain(..passed.min(self.sent_of.len()));
        for receiver in &mut self.all {
            let known = receiver.wanted.len();
            receiver.wanted.drain(..passed.min(known));
            receiver.served = receiver.served.saturating_sub(passed);
        }
    }

    /// Returns the positions of the receivers that are not done.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, one)| !one.is_done()).map(|(at, _)| at)
    }

    /// Returns the first block of which a receiver has requested more symbols than were sent.
    /// The search covers only the blocks that the receiver has open.
    pub(crate) fn first_wanted(&self, receiver: usize) -> Option<u32> {
        let receiver = &self.all[receiver];
        let from = receiver.whole.saturating_sub(self.first) as usize;
        let from = from.max(receiver.served);
        let wanted = receiver.wanted.range(from.min(receiver.wanted.len())..);
        let sent = |place: usize| self.sent_of.get(place).copied().unwrap_or(0);
        let mut wanted = wanted.zip(from..);
        let (_, place) = wanted.find(|(wanted, place)| **wanted > sent(*place))?;
        Some(self.first + place as u32)
    }

    /// Returns whether the sender must wait for this receiver.
    /// The sender waits if the receiver is not done, and all symbols that the receiver has granted were sent.
    pub(crate) fn holds_up(&self, receiver: usize) -> bool {
        let receiver = &self.all[receiver];
        !receiver.is_done() && receiver.granted <= self.sent
    }

    /// Returns the number of receivers that are done.
    pub(crate) fn done(&self) -> usize {
        self.all.iter().filter(|one| one.is_done()).count()
    }

    /// Records that a receiver needs no more symbols.
    pub(crate) fn finish(&mut self, receiver: usize) {
        self.all[receiver].whole = ALL;
        self.all[receiver].wanted = VecDeque::new();
        self.all[receiver].served = 0;
        self.forget();
    }

    /// Returns the number of blocks whose state is in memory.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        let wanted = self.all.iter().map(|one| one.wanted.len());
        wanted.max().unwrap_or(0).max(self.sent_of.len())
    }
}
