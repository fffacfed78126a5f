//! Set of the source symbols of a block that are present.

/// Set of source symbols of one block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Present {
    source_symbols: u32,
    /// Number of symbols in the set.
    present: u32,
    words: Box<[u64]>,
}

impl Present {
    /// Creates an empty set for a block of `source_symbols` symbols.
    pub fn new(source_symbols: u32) -> Self {
        Self {
            source_symbols,
            present: 0,
            words: vec![0; source_symbols.div_ceil(64) as usize].into_boxed_slice(),
        }
    }

    /// Returns the number of source symbols of the block (K).
    pub fn source_symbols(&self) -> u32 {
        self.source_symbols
    }

    /// Returns the number of missing symbols.
    pub fn missing(&self) -> u32 {
        self.source_symbols - self.present
    }

    /// Returns whether symbol `esi` is in the set. Returns `false` if the block has no such symbol.
    pub fn contains(&self, esi: u32) -> bool {
        let word = self.words.get((esi / 64) as usize);
        word.is_some_and(|word| word >> (esi % 64) & 1 == 1)
    }

    /// Adds symbol `esi`. Returns whether the symbol was missing. Returns `false` if the block has no such symbol.
    pub fn insert(&mut self, esi: u32) -> bool {
        if esi >= self.source_symbols || self.contains(esi) {
            return false;
        }
        self.words[(esi / 64) as usize] |= 1 << (esi % 64);
        self.present += 1;
        true
    }

    /// Adds all source symbols of the block, so that no symbol is missing.
    pub fn fill(&mut self) {
        for esi in 0..self.source_symbols {
            self.insert(esi);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_counts_once_and_only_if_it_is_of_the_block() {
        for source_symbols in [1, 63, 64, 65, 128, 200] {
            let mut present = Present::new(source_symbols);
            assert_eq!(present.missing(), source_symbols);
            assert!(!present.insert(source_symbols));
            assert!(!present.insert(u32::MAX));
            assert!(present.insert(source_symbols - 1));
            assert!(!present.insert(source_symbols - 1));
            assert_eq!(present.missing(), source_symbols - 1);
            assert!(present.contains(source_symbols - 1));
            assert!(!present.contains(source_symbols));
            present.fill();
            assert_eq!(present.missing(), 0);
            assert!((0..source_symbols).all(|esi| present.contains(esi)));
        }
    }
}
