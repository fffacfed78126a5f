//! Pieces that each copy has requested, in order, with `Split::Ranges`. [`Ranges`] chooses the pieces.

use super::header::ByteRange;
use super::ranges::{AskId, Idle, Ranges};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Action for a copy without work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spare {
    /// Another copy was closed, because its server had not begun the answer. Other copies may now request its bytes.
    Taken(u8),
    /// Wait until this time. After it, another copy may have work to give up.
    Until(Time),
}

/// Pieces of one object, and the copies that have requested them.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    ranges: Ranges,
    /// For each copy, the pieces that it has requested and that have not arrived completely.
    asked: Vec<VecDeque<AskId>>,
}

impl Sides {
    /// Creates the state of an object of `bytes` bytes from `copies` servers, in pieces of `piece` bytes.
    pub fn new(bytes: u64, copies: u8, piece: u64) -> Self {
        let mut ranges = Ranges::new(bytes, piece);
        let asked = (0..copies).map(|_| VecDeque::new()).collect();
        for _ in 0..copies {
            ranges.open();
        }
        Self { ranges, asked }
    }

    /// Returns the range that a copy has to request now, if any.
    pub fn ask(&mut self, now: Time, copy: u8) -> Option<ByteRange> {
        let asked = self.asked.get_mut(usize::from(copy))?;
        let (id, range) = self.ranges.ask(now, usize::from(copy))?;
        asked.push_back(id);
        Some(range)
    }

    /// Counts `bytes` more bytes of a copy. Returns how many of them are new for the object.
    pub fn arrived(&mut self, now: Time, copy: u8, bytes: u64) -> u64 {
        let Some(asked) = self.asked.get_mut(usize::from(copy)) else {
            return 0;
        };
        let (mut left, mut fresh) = (bytes, 0);
        while let Some(&id) = asked.front()
            && let Some(lacks) = self.ranges.left(id)
            && left > 0
        {
            self.ranges.begun(now, id);
            let taken = left.min(lacks.to - lacks.from);
            let new = self.ranges.arrived(id, taken);
            fresh += new.iter().map(|range| range.to - range.from).sum::<u64>();
            left -= taken;
            if taken == lacks.to - lacks.from {
                self.ranges.end(id);
                asked.pop_front();
            }
        }
        fresh
    }

    /// Closes a copy that will not answer. Other copies request its ranges.
    pub fn close(&mut self, copy: u8) {
        if let Some(asked) = self.asked.get_mut(usize::from(copy)) {
            asked.clear();
            self.ranges.close(usize::from(copy));
        }
    }

    /// Returns the action for a copy without work.
    /// After [`Spare::Taken`], this copy can request the bytes that were taken from another copy.
    pub fn idle(&mut self, now: Time, copy: u8) -> Option<Spare> {
        loop {
            let id = match self.ranges.idle(now, usize::from(copy))? {
                Idle::Until(due) => return Some(Spare::Until(due)),
                Idle::TakeBack(id) => id,
            };
            let owner = self.asked.iter().position(|asked| asked.contains(&id))?;
            // A cancellation removes all pieces of a copy at the server.
            // If the copy has several pieces, the first piece may already be in service, so the copy keeps its pieces.
            if self.asked[owner].len() > 1 {
                self.ranges.keep(id);
                continue;
            }
            self.ranges.take_back(id);
            self.close(owner as u8);
            return Some(Spare::Taken(owner as u8));
        }
    }

    /// Whether all bytes have arrived.
    pub fn is_whole(&self) -> bool {
        self.ranges.is_whole()
    }
}
