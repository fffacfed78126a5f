//! Sorted set of disjoint byte ranges. The ranges arrived above a hole, or the peer reported them as received.

use alloc::vec::Vec;

/// Bytes from `start` up to, but not including, `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Ranges in ascending order. They neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<Range>);

impl Ranges {
    /// Adds `start..end` and merges it with ranges that overlap or touch it. Returns the number of new bytes.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Ranges that only touch are merged, so a range that ends at `start` is included.
        let first = self.0.partition_point(|r| r.end < start);
        let last = first + self.0[first..].partition_point(|r| r.start <= end);
        if first == last {
            self.0.insert(first, Range { start, end });
            return end - start;
        }
        let held: u64 = self.0[first..last].iter().map(|r| r.end - r.start).sum();
        let merged = Range {
            start: start.min(self.0[first].start),
            end: end.max(self.0[last - 1].end),
        };
        self.0[first] = merged;
        self.0.drain(first + 1..last);
        merged.end - merged.start - held
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        let gone = self.0.partition_point(|r| r.end <= offset);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.start = first.start.max(offset);
        }
    }

    /// Returns the range that contains the byte at `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<Range> {
        let at = self.0.partition_point(|r| r.end <= offset);
        self.0.get(at).copied().filter(|r| r.start <= offset)
    }

    /// Returns the first range that starts at or after `offset`.
    pub(crate) fn first_from(&self, offset: u64) -> Option<Range> {
        let at = self.0.partition_point(|r| r.start < offset);
        self.0.get(at).copied()
    }

    /// Returns the number of bytes below `offset` that the set contains.
    pub(crate) fn bytes_below(&self, offset: u64) -> u64 {
        let held = |r: &Range| r.end.min(offset) - r.start;
        self.0
            .iter()
            .take_while(|r| r.start < offset)
            .map(held)
            .sum()
    }

    /// Returns one past the highest byte in the set.
    pub(crate) fn end(&self) -> Option<u64> {
        self.0.last().map(|r| r.end)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Range> + ExactSizeIterator {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The model is an array with one `bool` per byte.
        #[test]
        fn holds_exactly_the_bytes_that_were_inserted_and_not_removed(
            operations in proptest::collection::vec((0u64..64, 0u64..24, prop::bool::weighted(0.1)), 1..60)
        ) {
            let (mut ranges, mut model) = (Ranges::default(), [false; 128]);
            for (start, length, remove) in operations {
                if remove {
                    ranges.remove_below(start);
                    model[..start as usize].fill(false);
                } else {
                    let new = model[start as usize..(start + length) as usize].iter().filter(|held| !**held).count();
                    prop_assert_eq!(ranges.insert(start, start + length), new as u64);
                    model[start as usize..(start + length) as usize].fill(true);
                }
                for (offset, held) in model.iter().enumerate() {
                    prop_assert_eq!(ranges.containing(offset as u64).is_some(), *held);
                    let below = model[..offset].iter().filter(|held| **held).count();
                    prop_assert_eq!(ranges.bytes_below(offset as u64), below as u64);
                }
                let list: Vec<_> = ranges.iter().collect();
                prop_assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
