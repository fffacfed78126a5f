//! Which flows are paced (HULL paper, section 4.2): each ACK with ECN-Echo associates its flow with the
//! pacer with a probability, so that long flows are and short ones hardly ever; the association expires.

use alloc::collections::BTreeMap;
use tailcut_units::{Duration, FiveTuple, HostId, Time, mix64};

/// A flow as its host sends it.
type Key = (HostId, u16, u16);

#[derive(Clone, Copy, Debug)]
struct Entry {
    expires: Time,
    /// Packets of the flow in the pacer.
    queued: u32,
}

/// The flow association table.
#[derive(Debug)]
pub(crate) struct Associations {
    entries: BTreeMap<Key, Entry>,
    expiry: Duration,
    /// The probability times 2^32.
    chance: u64,
    seed: u64,
    draws: u64,
}

fn key(tuple: &FiveTuple) -> Key {
    (tuple.dst, tuple.src_port, tuple.dst_port)
}

impl Associations {
    /// None yet. `probability` is from 0 to 1.
    pub(crate) fn new(probability: f64, expiry: Duration, seed: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            expiry,
            chance: (probability * 4_294_967_296.0) as u64,
            seed,
            draws: 0,
        }
    }

    /// An ACK with ECN-Echo came for the flow that leaves with `tuple`: draws whether it is associated,
    /// or stays so for longer.
    pub(crate) fn on_echo(&mut self, now: Time, tuple: &FiveTuple) {
        self.draws += 1;
        if mix64(self.seed ^ mix64(self.draws)) >> 32 >= self.chance {
            return;
        }
        let expires = now.saturating_add(self.expiry);
        if let Some(entry) = self.entries.get_mut(&key(tuple)) {
            entry.expires = expires;
            return;
        }
        self.entries
            .retain(|_, entry| entry.expires > now || entry.queued > 0);
        self.entries.insert(key(tuple), Entry { expires, queued: 0 });
    }

    /// Whether a packet with `tuple` goes through the pacer; if so it counts as queued there. A flow with
    /// packets in the pacer stays associated, or its next ones would overtake them.
    pub(crate) fn enters(&mut self, now: Time, tuple: &FiveTuple) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        match self.entries.get_mut(&key(tuple)) {
            Some(entry) if entry.expires > now || entry.queued > 0 => {
                entry.queued += 1;
                true
            }
            _ => false,
        }
    }

    /// A packet with `tuple` left the pacer.
    pub(crate) fn left(&mut self, tuple: &FiveTuple) {
        if let Some(entry) = self.entries.get_mut(&key(tuple)) {
            entry.queued -= 1;
        }
    }

    /// Whether a flow would be paced.
    pub(crate) fn is_associated(&self, now: Time, tuple: &FiveTuple) -> bool {
        self.entries
            .get(&key(tuple))
            .is_some_and(|entry| entry.expires > now || entry.queued > 0)
    }
}
