//! Purge keys, which drivers pass with packets.

use crate::output::Hints;
use crate::packet::PacketId;
use alloc::vec::Vec;

/// Keys of each packet by its slot in the pool: the packet's own key, and the key that the packet purges.
/// The list stays empty until a packet with a key enters.
#[derive(Debug, Default)]
pub(crate) struct PurgeKeys(Vec<(u64, u64)>);

impl PurgeKeys {
    /// Stores the keys of a packet that enters the network.
    pub fn enter(&mut self, id: PacketId, hints: &Hints) {
        self.set(id, (hints.purge_key, hints.purges));
    }

    /// Copies the keys of a packet to its copy.
    pub fn copy(&mut self, from: PacketId, to: PacketId) {
        let keys = self.0.get(from.0 as usize).copied();
        self.set(to, keys.unwrap_or_default());
    }

    fn set(&mut self, id: PacketId, keys: (u64, u64)) {
        let slot = id.0 as usize;
        if self.0.len() <= slot {
            // In a run without purges, the list stays empty and needs no memory.
            if keys == (0, 0) {
                return;
            }
            self.0.resize(slot + 1, (0, 0));
        }
        self.0[slot] = keys;
    }

    /// Returns the key of a packet. 0 means no key.
    pub fn key(&self, id: PacketId) -> u64 {
        self.0.get(id.0 as usize).map_or(0, |keys| keys.0)
    }

    /// Returns the key of the packets that a packet purges. 0 means that the packet purges no packets.
    pub fn purges(&self, id: PacketId) -> u64 {
        self.0.get(id.0 as usize).map_or(0, |keys| keys.1)
    }
}
