//! Lookup of a connection by the addresses of a segment: an open-addressing table with linear probing.
//! A fixed hash makes runs independent of a random seed. Linear probing needs one cache line per lookup.

use alloc::boxed::Box;
use alloc::vec;
use tailcut_units::FiveTuple;

/// Key of a connection within a host: the peer, its port and the local port in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(u64);

impl Key {
    /// Returns the key of the connection that *sends* with `tuple`.
    pub(crate) fn of_outgoing(tuple: &FiveTuple) -> Self {
        Self::new(tuple.dst.0, tuple.dst_port, tuple.src_port)
    }

    /// Returns the key of the connection that *receives* `tuple`.
    pub(crate) fn of_arriving(tuple: &FiveTuple) -> Self {
        Self::new(tuple.src.0, tuple.src_port, tuple.dst_port)
    }

    fn new(peer: u32, peer_port: u16, local_port: u16) -> Self {
        // All keys have the same local host, so peer and ports fit into 64 bits without a hash.
        Self(u64::from(peer) << 32 | u64::from(peer_port) << 16 | u64::from(local_port))
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    slot: u32,
}

const EMPTY: u32 = u32::MAX;

fn empty(entries: usize) -> Box<[Entry]> {
    let entry = Entry {
        key: 0,
        slot: EMPTY,
    };
    vec![entry; entries].into_boxed_slice()
}

/// Table from keys to slots, at most half full.
#[derive(Debug)]
pub(crate) struct Demux {
    entries: Box<[Entry]>,
    used: u32,
    /// 64 minus the number of bits that index `entries`.
    shift: u32,
}

impl Demux {
    pub(crate) fn new() -> Self {
        Self {
            entries: empty(8),
            used: 0,
            // The table starts with 8 entries, so the top 3 of 64 bits are the index.
            shift: 61,
        }
    }

    /// Returns the preferred index of a key by Fibonacci hashing: the top bits of the product with the golden ratio.
    /// The hash costs one multiplication.
    /// The hash spreads keys evenly, even if they differ only in a few low bits of hosts and ports.
    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Returns the index of `key`, or of the empty entry where `key` belongs.
    #[inline]
    fn find(&self, key: Key) -> usize {
        let mask = self.entries.len() - 1;
        // The loop ends, because at least half of the table is empty.
        let mut at = self.home(key.0);
        loop {
            let entry = &self.entries[at];
            if entry.slot == EMPTY || entry.key == key.0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<u32> {
        let slot = self.entries[self.find(key)].slot;
        (slot != EMPTY).then_some(slot)
    }

    /// Adds `key`, which must not be in the table.
    pub(crate) fn insert(&mut self, key: Key, slot: u32) {
        if (self.used as usize + 1) * 2 > self.entries.len() {
            self.grow();
        }
        let at = self.find(key);
        self.entries[at] = Entry { key: key.0, slot };
        self.used += 1;
    }

    fn grow(&mut self) {
        let bigger = empty(self.entries.len() * 2);
        // Twice as many entries need an index with one more bit.
        self.shift -= 1;
        for entry in core::mem::replace(&mut self.entries, bigger) {
            if entry.slot != EMPTY {
                let at = self.find(Key(entry.key));
                self.entries[at] = entry;
            }
        }
    }

    /// Removes `key`, and moves later entries of the same run forward, so that no tombstones are needed.
    pub(crate) fn remove(&mut self, key: Key) {
        let mask = self.entries.len() - 1;
        let mut hole = self.find(key);
        if self.entries[hole].slot == EMPTY {
            return;
        }
        self.used -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.slot == EMPTY {
                break;
            }
            // An entry moves into the hole only if its preferred index is at or before the hole.
            // With a later preferred index, lookups would miss the moved entry.
            let from_home = at.wrapping_sub(self.home(entry.key)) & mask;
            if from_home >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole].slot = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_map(
            operations in proptest::collection::vec((0u64..40, any::<bool>()), 1..400)
        ) {
            let (mut demux, mut model) = (Demux::new(), BTreeMap::new());
            for (step, (key, remove)) in operations.into_iter().enumerate() {
                if remove {
                    demux.remove(Key(key));
                    model.remove(&key);
                } else if let alloc::collections::btree_map::Entry::Vacant(place) = model.entry(key) {
                    place.insert(step as u32);
                    demux.insert(Key(key), step as u32);
                }
                // The table never holds more than 40 keys, so it stays small for any number of insertions.
                prop_assert!(demux.entries.len() <= 128);
                for key in 0..40 {
                    prop_assert_eq!(demux.get(Key(key)), model.get(&key).copied());
                }
            }
        }
    }
}
