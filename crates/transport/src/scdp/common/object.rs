//! Division of an object into blocks and symbols (RFC 6330, section 4.4.1.2).

use super::limits::Limits;
use crate::Share;

/// Largest number of source symbols in a block (K'max of RFC 6330, section 5.1.2).
const MAX_BLOCK: u64 = 56_403;

/// Object that consists of source blocks of nearly equal size.
/// The source symbols also have an index in the whole object, in the order of the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    length: u64,
    symbol: u32,
    blocks: u32,
    /// Number of source symbols of a short block. A long block has one symbol more.
    short: u32,
    /// Number of long blocks. They come before the short blocks.
    long_blocks: u32,
}

impl Object {
    /// Returns an object of `length` bytes.
    /// The symbols have at most `symbol` bytes, and the blocks at most `block_symbols` symbols.
    /// Returns `None` if a parameter is 0, or if the object would need more than 2^32 blocks.
    /// Also returns `None` if a block would be larger than RFC 6330 allows.
    pub fn new(length: u64, symbol: u32, block_symbols: u32) -> Option<Self> {
        if block_symbols == 0 || u64::from(block_symbols) > MAX_BLOCK || symbol == 0 {
            return None;
        }
        // A short object becomes one short symbol, without padding.
        let symbol = u64::from(symbol).min(length.max(1)) as u32;
        let symbols = length.div_ceil(u64::from(symbol)).max(1);
        let blocks = u32::try_from(symbols.div_ceil(u64::from(block_symbols))).ok()?;
        Self::from_options(length, symbol, blocks)
    }

    /// Returns the object that SYN options describe, or `None` if the options are invalid.
    pub fn from_options(length: u64, symbol: u32, blocks: u32) -> Option<Self> {
        if symbol == 0 || blocks == 0 {
            return None;
        }
        // An object without bytes still has one symbol, because every object has a block, and K is at least 1.
        let symbols = length.div_ceil(u64::from(symbol)).max(1);
        let count = u64::from(blocks);
        if count > symbols || symbols.div_ceil(count) > MAX_BLOCK {
            return None;
        }
        Some(Self {
            length,
            symbol,
            blocks,
            short: (symbols / count) as u32,
            long_blocks: (symbols % count) as u32,
        })
    }

    /// Returns whether a host accepts this object from a peer.
    pub fn is_within(&self, limits: &Limits) -> bool {
        // If an object has a single symbol, this symbol may be shorter than the limit.
        let least = limits
            .min_symbol
            .min(self.length.max(1).min(u64::from(u32::MAX)) as u32);
        // Block 0 is one of the largest blocks, because long blocks come first.
        let block = self.source_symbols(0);
        (least..=limits.max_symbol).contains(&self.symbol) && block <= limits.block_symbols
    }

    /// Returns the length in bytes.
    pub const fn length(&self) -> u64 {
        self.length
    }
    /// Returns the size of a symbol in bytes.
    pub const fn symbol(&self) -> u32 {
        self.symbol
    }
    /// Returns the number of source blocks.
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Returns the number of source symbols of the whole object.
    pub const fn symbols(&self) -> u64 {
        self.blocks as u64 * self.short as u64 + self.long_blocks as u64
    }
    /// Returns the number of source symbols of a block, K.
    pub const fn source_symbols(&self, block: u32) -> u32 {
        self.short + (block < self.long_blocks) as u32
    }
    /// Returns the index of a block's first symbol.
    pub fn first_index(&self, block: u32) -> u64 {
        let long = u64::from(block.min(self.long_blocks));
        u64::from(block) * u64::from(self.short) + long
    }
    /// Returns the number of bytes in all blocks before `block`.
    pub fn bytes_before(&self, block: u32) -> u64 {
        // The product counts the last symbol as full.
        // The product may exceed the length of the object, and even the range of 64 bits.
        let bytes = self
            .first_index(block)
            .saturating_mul(u64::from(self.symbol));
        bytes.min(self.length)
    }
    /// Returns the number of blocks that are completely within the first `bytes` bytes.
    pub(crate) fn blocks_within(&self, bytes: u64) -> u32 {
        if bytes >= self.length {
            return self.blocks;
        }
        let symbols = bytes / u64::from(self.symbol);
        let (short, long) = (u64::from(self.short), u64::from(self.long_blocks));
        // The long blocks come first. They have one symbol more than the short blocks.
        let in_long = (symbols / (short + 1)).min(long);
        let rest = symbols - in_long * (short + 1);
        match in_long == long {
            true => (in_long + rest / short).min(u64::from(self.blocks)) as u32,
            false => in_long as u32,
        }
    }
    /// Returns the number of blocks with source symbols of the sender `share`: all blocks, the long blocks, or none.
    const fn blocks_with(&self, share: Share) -> u32 {
        if share.of_first(self.short) > 0 {
            self.blocks
        } else if share.of_first(self.short + 1) > 0 {
            self.long_blocks
        } else {
            0
        }
    }
    /// Returns the number of symbols that a sender pushes. The window of the sender is `most`.
    /// The number is the sender's number of source symbols, but at least 1 and at most `most`.
    /// The loop has at most `most` steps.
    pub(crate) fn window(&self, share: Share, most: u32) -> u32 {
        let mut own = 0u32;
        for block in 0..self.blocks_with(share) {
            own = own.saturating_add(share.of_first(self.source_symbols(block)));
            if own >= most {
                return most;
            }
        }
        // In paper mode a pushed symbol opens the session, so every sender pushes at least one symbol.
        own.max(1)
    }
    /// Returns the symbols that a sender pushes, as pairs of block and count.
    /// The sender pushes its source symbols in ascending order.
    /// If the sender has too few source symbols, it also pushes repair symbols of the first block.
    /// The iterator has at most `window` steps, for any size of the object.
    pub(crate) fn pushes(self, share: Share, window: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut left = window;
        let mut block = 0;
        let blocks = self.blocks_with(share);
        core::iter::from_fn(move || {
            if left > 0 && block < blocks {
                let count = share.of_first(self.source_symbols(block)).min(left);
                block += 1;
                left -= count;
                return Some((block - 1, count));
            }
            let rest = core::mem::take(&mut left);
            (rest > 0).then_some((0, rest))
        })
    }
    /// Returns the payload bytes of a symbol.
    /// Only the last source symbol of the object may be shorter than the other symbols.
    pub fn payload(&self, block: u32, esi: u32) -> u32 {
        if esi >= self.source_symbols(block) {
            return self.symbol;
        }
        let offset = (self.first_index(block) + u64::from(esi)) * u64::from(self.symbol);
        (self.length - offset).min(u64::from(self.symbol)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_as_even_as_can_be_the_longer_ones_first() {
        let object = Object::new(1_000, 10, 30).expect("an object");
        let sizes: alloc::vec::Vec<u32> = (0..object.blocks())
            .map(|block| object.source_symbols(block))
            .collect();
        assert_eq!(sizes, [25, 25, 25, 25]);
        let object = Object::new(1_021, 10, 30).expect("an object");
        let sizes: alloc::vec::Vec<u32> = (0..object.blocks())
            .map(|block| object.source_symbols(block))
            .collect();
        assert_eq!(sizes, [26, 26, 26, 25]);
        assert_eq!(
            object.payload(3, 24),
            1,
            "the last source symbol has no padding"
        );
        assert_eq!(object.payload(3, 25), 10, "a repair symbol");
    }

    #[test]
    fn what_no_object_has_is_refused() {
        assert_eq!(Object::from_options(1_000, 0, 1), None);
        assert_eq!(Object::from_options(1_000, 10, 0), None);
        assert_eq!(Object::from_options(1_000, 10, 101), None, "empty blocks");
        assert_eq!(
            Object::from_options(u64::MAX, 10, 1),
            None,
            "a block with too many symbols for the code"
        );
        assert_eq!(Object::new(u64::MAX, 1, 1), None);
    }

    #[test]
    fn pushes_of_a_share_without_source_symbols_do_not_look_through_the_blocks() {
        // 16.8 million blocks of one symbol each. A loop over all blocks would take 0.1 s.
        let object = Object::from_options(16_777_216, 1, 16_777_216).expect("an object");
        let share = Share {
            index: 65_534,
            of: 65_535,
        };
        assert_eq!(object.blocks_with(share), 0);
        assert_eq!(object.window(share, 4_096), 1);
        assert_eq!(object.pushes(share, 3).next(), Some((0, 3)));
    }

    #[test]
    fn pushes_of_a_share_are_those_of_a_look_through_all_blocks() {
        for (length, of) in [(1_021, 25), (1_021, 26), (1_000, 30), (7, 3)] {
            let object = Object::new(length, 10, 30).expect("an object");
            for index in 0..of {
                let share = Share { index, of };
                let own = |block: u32| (block, share.of_first(object.source_symbols(block)));
                let mut all: alloc::vec::Vec<_> = (0..object.blocks())
                    .map(own)
                    .filter(|(_, count)| *count > 0)
                    .collect();
                let sum: u32 = all.iter().map(|(_, count)| count).sum();
                assert_eq!(object.window(share, u32::MAX), sum.max(1));
                all.push((0, 5));
                let pushed: alloc::vec::Vec<_> = object.pushes(share, sum + 5).collect();
                assert_eq!(pushed, all, "share {index} of {of}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_symbol(length in 0u64..20_000, symbol in 1u32..40, block in 1u32..60) {
            let object = Object::new(length, symbol, block).expect("an object");
            let (mut bytes, mut symbols) = (0, 0);
            for b in 0..object.blocks() {
                let k = object.source_symbols(b);
                prop_assert!((1..=block).contains(&k));
                prop_assert_eq!(object.first_index(b), symbols);
                prop_assert_eq!(object.blocks_within(bytes), if bytes < length { b } else { object.blocks() });
                prop_assert!(bytes == 0 || object.blocks_within(bytes - 1) < b.max(1));
                symbols += u64::from(k);
                bytes += (0..k).map(|esi| u64::from(object.payload(b, esi))).sum::<u64>();
            }
            prop_assert_eq!((bytes, symbols), (length, object.symbols()));
            let told = Object::from_options(length, object.symbol(), object.blocks());
            prop_assert_eq!(told, Some(object));
        }
    }
}
