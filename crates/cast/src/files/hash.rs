//! Hashes of slabs, and the root hash that is computed from them. The hash function is BLAKE3.
//!
//! BLAKE3 hashes data as a tree of chunks. The number of chunks in a slab is a power of two, so a slab is a subtree.
//! The hash of a slab is the chaining value of this subtree, which depends on the position of the slab.
//! Together, these values give the BLAKE3 hash of all bytes, as `b3sum` prints it.
//!
//! BLAKE3 computes the hash of the whole tree differently from the hash of a subtree.
//! A slab at position 0 may be the whole data. So such a slab has a second hash: the root if there is no other slab.

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use std::fmt;

/// BLAKE3 hash with 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Returns the BLAKE3 hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Parses 64 hexadecimal digits. Returns `None` for any other text.
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

/// Hashes of one slab: as a part of the data, and as the whole data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlabHash {
    /// Hash of the slab if it is a part of the data.
    pub part: Hash,
    /// Hash of the slab if it is the whole data. `None` if the slab does not begin at position 0.
    pub alone: Option<Hash>,
}

/// Hashes from which the root of files can be computed. A replica proves its slabs with them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SlabHashes {
    /// Hash of the manifest, as in its header.
    pub manifest: Hash,
    /// Hash of the first slab of contents if it is the whole data.
    pub alone: Hash,
    /// Hash of each slab of contents as a part of the data.
    pub parts: Vec<Hash>,
}

/// Hashes a slab that begins at a multiple of the slab length. A slab can be empty only if it is the whole data.
/// The hash of an empty slab is the hash of zero bytes.
pub fn slab(begins: u64, bytes: &[u8]) -> SlabHash {
    let mut hasher = SlabHasher::new(begins);
    hasher.update(bytes);
    hasher.finish()
}

/// Incremental hash of one slab.
#[derive(Clone, Debug)]
pub struct SlabHasher {
    hasher: Hasher,
    begins: u64,
}

impl SlabHasher {
    /// Creates the hash of a slab. `begins` is the position of the slab in the data.
    pub fn new(begins: u64) -> Self {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(begins);
        Self { hasher, begins }
    }

    /// Adds the next bytes of the slab.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Returns the hashes of the slab.
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

/// Root hash of a sequence of slabs. Slabs are added one by one, in order.
/// The root needs memory for one hash per level of the tree.
#[derive(Clone, Default, Debug)]
pub struct Root {
    slabs: u64,
    /// Second hash of the first slab. It is the root if there is no other slab.
    alone: Option<Hash>,
    /// Hashes of complete subtrees. Each subtree has at most half as many slabs as the subtree before it.
    subtrees: Vec<[u8; 32]>,
}

impl Root {
    /// Adds the next slab.
    pub fn push(&mut self, hash: &SlabHash) {
        // Before a slab is added, there must be one subtree for each bit that is 1 in the number of slabs.
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

    /// Returns the number of slabs that were added.
    pub const fn slabs(&self) -> u64 {
        self.slabs
    }

    /// Returns the root: the hash of all bytes.
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
        // The first slab is the only slab.
        self.alone.unwrap_or(Hash(right))
    }
}

/// Returns the root of a tree. It is computed from the hash of the manifest and the hash of the contents.
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

    /// Size of a slab in these tests, in bytes. It is small, so that a test can have many slabs.
    /// The rules are the same for each power of two of BLAKE3's chunks.
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
