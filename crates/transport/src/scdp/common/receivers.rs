//! The receivers of one sender's symbols: what each has asked for and not got. A symbol goes to all of
//! them, and takes one pull, or one credit, of each.

use super::limits::{ALL, MAX_AHEAD};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[derive(Debug)]
pub(crate) struct Receivers {
    all: Vec<Receiver>,
    /// Symbols sent that took a pull or a credit of every receiver.
    sent: u32,
    /// The first block that some receiver waits for: what was asked and sent of those before it is
    /// forgotten.
    first: u32,
    /// Of those symbols, by block from `first` on.
    sent_of: VecDeque<u32>,
}

#[derive(Clone, Default, Debug)]
struct Receiver {
    /// Pulls heard, or credits given.
    granted: u32,
    /// By block, from the first that some receiver waits for: symbols wanted in all.
    wanted: VecDeque<u32>,
    /// Of so many of them, from the first, no more is wanted than was sent.
    served: usize,
    /// How many blocks, from the first, it has whole and waits for nothing of.
    whole: u32,
}

impl Receiver {
    fn is_done(&self) -> bool {
        self.whole == ALL
    }

    /// Looks beyond blocks of which no more is wanted than was sent.
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
    /// Each has granted as many symbols as are `pushed`.
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

    /// Symbols sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// The first block that some receiver waits for.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Symbols of a block sent so far.
    pub(crate) fn sent_of(&self, block: u32) -> u32 {
        let place = block.checked_sub(self.first);
        let sent = place.and_then(|place| self.sent_of.get(place as usize));
        sent.copied().unwrap_or(0)
    }

    /// A symbol of `block` is sent. Gives how many of the block were sent before.
    pub(crate) fn on_sent(&mut self, block: u32) -> u32 {
        self.sent += 1;
        let place = block.checked_sub(self.first);
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

    /// The receiver has granted so many symbols in all. A lower number than before is an older word.
    pub(crate) fn grant(&mut self, receiver: usize, granted: u32) {
        let receiver = &mut self.all[receiver];
        receiver.granted = granted.max(receiver.granted);
    }

    /// The first block that a receiver has not said to have whole; [`ALL`] if it is done.
    pub(crate) fn whole(&self, receiver: usize) -> u32 {
        self.all[receiver].whole
    }

    /// The receiver has the first `whole` blocks. A lower number than before is an older word.
    pub(crate) fn set_whole(&mut self, receiver: usize, whole: u32) {
        let receiver = &mut self.all[receiver];
        if whole > receiver.whole {
            receiver.whole = whole;
            self.forget();
        }
    }

    /// How many symbols of a block, sent ones included, a receiver is known to want. `None` for a block
    /// that all receivers have, or that is too far ahead of those that they wait for.
    pub(crate) fn wanted(&mut self, receiver: usize, block: u32) -> Option<&mut u32> {
        let place = block.checked_sub(self.first)?;
        if place >= MAX_AHEAD {
            return None;
        }
        let place = place as usize;
        let receiver = &mut self.all[receiver];
        receiver.served = receiver.served.min(place);
        if receiver.wanted.len() <= place {
            receiver.wanted.resize(place + 1, 0);
        }
        receiver.wanted.get_mut(place)
    }

    /// Forgets the blocks that no receiver waits for.
    fn forget(&mut self) {
        let open = self.all.iter().filter(|one| !one.is_done());
        let Some(first) = open.map(|one| one.whole).min() else {
            return;
        };
        let passed = first.saturating_sub(self.first) as usize;
        self.first = self.first.max(first);
        self.sent_of.drain(..passed.min(self.sent_of.len()));
        for receiver in &mut self.all {
            let known = receiver.wanted.len();
            receiver.wanted.drain(..passed.min(known));
            receiver.served = receiver.served.saturating_sub(passed);
        }
    }

    /// Those that are not done.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, one)| !one.is_done()).map(|(at, _)| at)
    }

    /// The first block of which a receiver wants more than was sent. Looks at the blocks that it has open.
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

    /// Whether a receiver that is not done has granted no more than was sent.
    pub(crate) fn holds_up(&self, receiver: usize) -> bool {
        let receiver = &self.all[receiver];
        !receiver.is_done() && receiver.granted <= self.sent
    }

    /// How many are done.
    pub(crate) fn done(&self) -> usize {
        self.all.iter().filter(|one| one.is_done()).count()
    }

    /// A receiver needs nothing more.
    pub(crate) fn finish(&mut self, receiver: usize) {
        self.all[receiver].whole = ALL;
        self.all[receiver].wanted = VecDeque::new();
        self.all[receiver].served = 0;
        self.forget();
    }

    /// Blocks of which something is remembered.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        let wanted = self.all.iter().map(|one| one.wanted.len());
        wanted.max().unwrap_or(0).max(self.sent_of.len())
    }
}
