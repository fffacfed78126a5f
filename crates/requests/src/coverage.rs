//! Which bytes of an object have arrived, when several copies send them.

use super::header::ByteRange;
use alloc::vec::Vec;

/// The bytes of an object that have come, each counted once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    bytes: u64,
    /// Ascending, none empty, and none next to another.
    parts: Vec<ByteRange>,
}

impl Coverage {
    /// Nothing of an object of `bytes` yet.
    pub const fn of(bytes: u64) -> Self {
        Self {
            bytes,
            parts: Vec::new(),
        }
    }

    /// Bytes that have come. Gives how many of them were not there yet.
    pub fn add(&mut self, range: ByteRange) -> u64 {
        let (mut from, mut to) = (range.from, range.to.min(self.bytes));
        if from >= to {
            return 0;
        }
        let first = self.parts.partition_point(|part| part.to < from);
        let last = self.parts.partition_point(|part| part.from <= to);
        let mut had = 0;
        for part in &self.parts[first..last] {
            had += part.to - part.from;
            from = from.min(part.from);
            to = to.max(part.to);
        }
        self.parts.splice(first..last, [ByteRange { from, to }]);
        to - from - had
    }

    /// Whether all bytes of a range have come.
    pub fn has(&self, range: ByteRange) -> bool {
        let to = range.to.min(self.bytes);
        let holds = |part: &ByteRange| part.from <= range.from && to <= part.to;
        range.from >= to || self.parts.iter().any(holds)
    }

    /// The first bytes of a range that have not come: those before the next that have.
    pub fn first_gap(&self, range: ByteRange) -> Option<ByteRange> {
        let end = range.to.min(self.bytes);
        let next = self.parts.partition_point(|part| part.to <= range.from);
        let (mut from, mut to) = (range.from, end);
        if let Some(part) = self.parts.get(next) {
            if part.from <= from {
                from = part.to;
                let after = self.parts.get(next + 1);
                to = after.map_or(end, |part| part.from.min(end));
            } else {
                to = part.from.min(end);
            }
        }
        (from < to).then_some(ByteRange { from, to })
    }

    /// The last bytes of a range that have not come: those after the last that have.
    pub fn last_gap(&self, range: ByteRange) -> Option<ByteRange> {
        let mut to = range.to.min(self.bytes);
        let before = self.parts.partition_point(|part| part.from < to);
        let mut before = self.parts[..before].iter().rev();
        let mut part = before.next();
        if let Some(last) = part
            && last.to >= to
        {
            to = last.from;
            part = before.next();
        }
        let from = part.map_or(range.from, |part| part.to.max(range.from));
        (from < to).then_some(ByteRange { from, to })
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        let from = 0;
        let to = self.bytes;
        self.has(ByteRange { from, to })
    }
}
