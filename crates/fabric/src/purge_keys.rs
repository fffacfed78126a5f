//! Which packets a purge takes, by keys that drivers give with packets.

use crate::output::Hints;
use crate::packet::PacketId;
use alloc::vec::Vec;

/// The keys of each packet, by its place in the pool. Empty until a packet with a key comes.
#[derive(Debug, Default)]
pub(crate) struct PurgeKeys(Vec<(u64, u64)>);

impl PurgeKeys {
    /// A packet enters the network.
    pub fn enter(&mut self, id: PacketId, hints: &Hints) {
        self.set(id, (hints.purge_key, hints.purges));
    }

    /// A copy of a packet has its keys.
    pub fn copy(&mut self, from: PacketId, to: PacketId) {
        let keys = self.0.get(from.0 as usize).copied();
        self.set(to, keys.unwrap_or_default());
    }

    fn set(&mut self, id: PacketId, keys: (u64, u64)) {
        let slot = id.0 as usize;
        if self.0.len() <= slot {
            if keys == (0, 0) {
                return;
            }
            self.0.resize(slot + 1, (0, 0));
        }
        self.0[slot] = keys;
    }

    /// A packet's own key; 0 for none.
    pub fn key(&self, id: PacketId) -> u64 {
        self.0.get(id.0 as usize).map_or(0, |keys| keys.0)
    }

    /// The key of the packets that a packet purges; 0 for none.
    pub fn purges(&self, id: PacketId) -> u64 {
        self.0.get(id.0 as usize).map_or(0, |keys| keys.1)
    }
}
