//! Hashes of slabs, and the root that they make: BLAKE3.
//!
//! A slab's length is a power of two of BLAKE3's chunks, so a slab is a subtree of the hash of the
//! whole. The hash of a slab is the chaining value of its subtree, which depends on the slab's place.
//! Merged, these values give the BLAKE3 hash of all bytes: what `b3sum` prints.
//!
//! A sequence of one slab has a hash of its own (BLAKE3 marks the root of a tree), so a slab at the
//! beginning gives that too.

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use std::fmt;

/// A BLAKE3 hash of 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of all of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(digits).ok()?;
        Some(Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hashes of one slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlabHash {
    /// As a part of what it belongs to.
    pub part: Hash,
    /// As the whole, if it begins there.
    pub alone: Option<Hash>,
}

/// Hashes a slab that begins at a multiple of the slabs' length. An empty slab can only be all there is,
/// so its hash is that of no bytes.
pub fn slab(begins: u64, bytes: &[u8]) -> SlabHash {
    let mut hasher = SlabHasher::new(begins);
    hasher.update(bytes);
    hasher.finish()
}

/// Hashes a slab bit by bit.
#[derive(Clone, Debug)]
pub struct SlabHasher {
    hasher: Hasher,
    begins: u64,
}

impl SlabHasher {
    /// Hashes a slab that begins here.
    pub fn new(begins: u64) -> Self {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(begins);
        Self { hasher, begins }
    }

    /// Takes the slab's next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The slab's hashes.
    pub fn finish(&self) -> SlabHash {
        if self.hasher.count() == 0 {
            let part = Hash::of(&[]);
            let alone = (self.begins == 0).then_some(part);
            return SlabHash { part, alone };
        }
        SlabHash {
            part: Hash(self.hasher.finalize_non_root()),
            alone: (self.begins == 0).then(|| Hash(*self.hasher.finalize().as_bytes())),
        }
    }
}

/// Makes the root of a sequence of slabs, which come in order. Holds one hash for each level of the
/// tree.
#[derive(Clone, Default, Debug)]
pub struct Root {
    slabs: u64,
    alone: Option<Hash>,
    /// Subtrees, each with half of the slabs of the one before at most.
    subtrees: Vec<[u8; 32]>,
}

impl Root {
    /// Adds the next slab.
    pub fn push(&mut self, hash: &SlabHash) {
        // As many subtrees stay as the number of slabs has ones.
        while self.subtrees.len() > self.slabs.count_ones() as usize {
            if let (Some(right), Some(left)) = (self.subtrees.pop(), self.subtrees.pop()) {
                let merged = merge_subtrees_non_root(&left, &right, Mode::Hash);
                self.subtrees.push(merged);
            }
        }
        if self.slabs == 0 {
            self.alone = hash.alone;
        }
        self.subtrees.push(hash.part.0);
        self.slabs += 1;
    }

    /// How many slabs there are so far.
    pub const fn slabs(&self) -> u64 {
        self.slabs
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> Hash {
        let Some(mut right) = self.subtrees.pop() else {
            return Hash::of(&[]);
        };
        while let Some(left) = self.subtrees.pop() {
            if self.subtrees.is_empty() {
                let root = merge_subtrees_root(&left, &right, Mode::Hash);
                return Hash(*root.as_bytes());
            }
            right = merge_subtrees_non_root(&left, &right, Mode::Hash);
        }
        // The only slab.
        self.alone.unwrap_or(Hash(right))
    }
}

/// The root of a tree: of its manifest and of the contents of its files.
pub fn tree_root(manifest: &Hash, contents: &Hash) -> Hash {
    let mut hasher = Hasher::new_derive_key("tailcut cast 2026 root of a tree");
    hasher.update(&manifest.0);
    hasher.update(&contents.0);
    Hash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Small slabs, so that there are many: the rules are those of any power of two of chunks.
    const SLAB: usize = 2048;

    fn root(bytes: &[u8]) -> Hash {
        let mut root = Root::default();
        for (index, piece) in bytes.chunks(SLAB).enumerate() {
            root.push(&slab((index * SLAB) as u64, piece));
        }
        root.finish()
    }

    #[test]
    fn no_slab_and_an_empty_slab_have_the_hash_of_nothing() {
        assert_eq!(root(&[]), Hash::of(&[]));
        let mut empty = Root::default();
        empty.push(&slab(0, &[]));
        assert_eq!(empty.finish(), Hash::of(&[]));
    }

    #[test]
    fn a_slab_elsewhere_has_another_hash() {
        let bytes = [5; SLAB];
        assert_ne!(slab(0, &bytes).part, slab(SLAB as u64, &bytes).part);
    }

    #[test]
    fn hashes_are_read_and_written_as_hexadecimal_digits() {
        let hash = Hash::of(b"slab");
        assert_eq!(Hash::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(Hash::from_hex("12"), None);
    }

    proptest! {
        #[test]
        fn the_root_of_any_number_of_slabs_is_the_hash_of_all_bytes(
            length in 0..40 * SLAB,
            seed: u8,
        ) {
            let bytes: Vec<u8> = (0..length).map(|at| (at as u8).wrapping_mul(seed)).collect();
            prop_assert_eq!(root(&bytes), Hash::of(&bytes));
        }
    }
}
