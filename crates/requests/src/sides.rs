//! One request whose bytes come by ranges: which pieces its copies were asked for, in order. What they are asked for
//! is [`Ranges`]'.

use super::header::ByteRange;
use super::ranges::{AskId, Idle, Ranges};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// What may be done for a copy that has nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spare {
    /// This copy's server has not begun what it was asked for. It is not asked any more.
    Taken(u8),
    /// There may be something to take from this moment on.
    Until(Time),
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    ranges: Ranges,
    /// By copy: what it has not sent whole.
    asked: Vec<VecDeque<AskId>>,
}

impl Sides {
    /// An object of `bytes` from so many copies, in pieces of `piece` bytes.
    pub fn new(bytes: u64, copies: u8, piece: u64) -> Self {
        let mut ranges = Ranges::new(bytes, piece);
        let asked = (0..copies).map(|_| VecDeque::new()).collect();
        for _ in 0..copies {
            ranges.open();
        }
        Self { ranges, asked }
    }

    /// What a copy is to be asked for now, if it is for anything.
    pub fn ask(&mut self, now: Time, copy: u8) -> Option<ByteRange> {
        let asked = self.asked.get_mut(usize::from(copy))?;
        let (id, range) = self.ranges.ask(now, usize::from(copy))?;
        asked.push_back(id);
        Some(range)
    }

    /// `bytes` more of a copy have come. Gives how many of them the object had not had yet.
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

    /// A copy will not answer. Others are asked for what it was.
    pub fn close(&mut self, copy: u8) {
        if let Some(asked) = self.asked.get_mut(usize::from(copy)) {
            asked.clear();
            self.ranges.close(usize::from(copy));
        }
    }

    /// What may be done for a copy that has nothing to do. What is taken is to be asked of it next.
    pub fn idle(&mut self, now: Time, copy: u8) -> Option<Spare> {
        loop {
            let id = match self.ranges.idle(now, usize::from(copy))? {
                Idle::Until(due) => return Some(Spare::Until(due)),
                Idle::TakeBack(id) => id,
            };
            let owner = self.asked.iter().position(|asked| asked.contains(&id))?;
            // A server drops all of a copy, or nothing.
            if self.asked[owner].len() > 1 {
                self.ranges.keep(id);
                continue;
            }
            self.ranges.take_back(id);
            self.close(owner as u8);
            return Some(Spare::Taken(owner as u8));
        }
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        self.ranges.is_whole()
    }
}
