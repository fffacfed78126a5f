//! Bytes of an object that have arrived, when several copies send them.

use super::header::ByteRange;
use alloc::vec::Vec;

/// Set of the bytes of an object that have arrived, each counted once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    bytes: u64,
    /// Ranges that have arrived: ascending, not empty, and with a gap between each two.
    parts: Vec<ByteRange>,
}

impl Coverage {
    /// Creates the empty set for an object of `bytes` bytes.
    pub const fn of(bytes: u64) -> Self {
        Self {
            bytes,
            parts: Vec::new(),
        }
    }

    /// Adds the bytes of a range. Returns how many of them are new.
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

    /// Whether all bytes of a range have arrived.
    pub fn has(&self, range: ByteRange) -> bool {
        let to = range.to.min(self.bytes);
        let holds = |part: &ByteRange| part.from <= range.from && to <= part.to;
        range.from >= to || self.parts.iter().any(holds)
    }

    /// Returns the first gap of a range: missing bytes up to the next byte that has arrived.
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

    /// Returns the last gap of a range: missing bytes after the last byte that has arrived.
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

    /// Whether all bytes have arrived.
    pub fn is_whole(&self) -> bool {
        let from = 0;
        let to = self.bytes;
        self.has(ByteRange { from, to })
    }
}
