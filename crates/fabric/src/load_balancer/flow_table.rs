//! Flow table of a switch: a hash table with open addressing and linear probing.
//! An entry expires if no packet of its flow passes for a given time.

use crate::packet::Packet;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time, mix64};

/// Key of a flow: its two hosts, and the hash of its five-tuple.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct FlowKey {
    src: HostId,
    dst: HostId,
    hash: u32,
}

impl FlowKey {
    /// Returns the key of a packet's flow.
    pub const fn of(packet: &Packet) -> Self {
        Self {
            src: packet.src,
            dst: packet.dst,
            hash: packet.flow_hash,
        }
    }

    /// Returns the key of the opposite direction of a packet's flow. `reverse_hash` is the hash of its five-tuple.
    pub const fn reverse_of(packet: &Packet, reverse_hash: u32) -> Self {
        Self {
            src: packet.dst,
            dst: packet.src,
            hash: reverse_hash,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry<V> {
    key: FlowKey,
    value: V,
    /// Time of the flow's last packet, or [`EMPTY`] in an empty entry.
    seen_ps: u64,
}

const EMPTY: u64 = u64::MAX;

/// Table with one value per flow. An entry is treated as absent if it was not used for longer than `idle_ps`.
#[derive(Debug)]
pub(crate) struct FlowTable<V> {
    /// Entries of the table. Their number is a power of two, and at most half of them are used.
    /// The table has no entries before the first insertion.
    entries: Vec<Entry<V>>,
    used: usize,
    idle_ps: u64,
}

impl<V: Copy + Default> FlowTable<V> {
    /// Creates an empty table. An entry expires after `idle_ps` picoseconds without a use.
    pub const fn new(idle_ps: u64) -> Self {
        Self {
            entries: Vec::new(),
            used: 0,
            idle_ps,
        }
    }

    /// Returns the value of a flow, and restarts the lifetime of its entry.
    #[inline]
    pub fn get(&mut self, now: Time, key: FlowKey) -> Option<&mut V> {
        let place = self.place(key)?;
        let idle_ps = self.idle_ps;
        let entry = &mut self.entries[place];
        if entry.seen_ps == EMPTY || now.as_ps().saturating_sub(entry.seen_ps) > idle_ps {
            return None;
        }
        entry.seen_ps = now.as_ps();
        Some(&mut entry.value)
    }

    /// Returns the value of a flow even if its entry has expired. The entry must still be in the table.
    pub fn last_known(&self, key: FlowKey) -> Option<V> {
        let entry = &self.entries[self.place(key)?];
        (entry.seen_ps != EMPTY).then_some(entry.value)
    }

    /// Sets the value of a flow, and adds an entry if necessary.
    pub fn insert(&mut self, now: Time, key: FlowKey, value: V) {
        // `used` includes expired entries.
        // Expired entries stay until the next resize.
        // The removal of one entry would interrupt the probe sequences of other entries.
        if self.used * 2 >= self.entries.len() {
            self.make_room(now);
        }
        if let Some(place) = self.place(key) {
            self.used += usize::from(self.entries[place].seen_ps == EMPTY);
            self.entries[place] = Entry {
                key,
                value,
                seen_ps: now.as_ps(),
            };
        }
    }

    /// Returns the number of flows whose entries have not expired.
    pub fn live(&self, now: Time) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| self.is_live(entry, now)).count()
    }

    fn is_live(&self, entry: &Entry<V>, now: Time) -> bool {
        entry.seen_ps != EMPTY && now.as_ps().saturating_sub(entry.seen_ps) <= self.idle_ps
    }

    /// Returns the index of a flow's entry. If the flow has no entry, returns the index of the empty entry for it.
    #[inline]
    fn place(&self, key: FlowKey) -> Option<usize> {
        let mask = self.entries.len().checked_sub(1)?;
        let mut place = mix64(u64::from(key.hash)) as usize & mask;
        loop {
            let entry = &self.entries[place];
            if entry.seen_ps == EMPTY || entry.key == key {
                return Some(place);
            }
            // The table always has an empty entry, so the search ends.
            place = (place + 1) & mask;
        }
    }

    /// Resizes the table without its expired entries. At most a quarter of the new table is in use.
    #[cold]
    fn make_room(&mut self, now: Time) {
        let live = self.live(now);
        // The table gets four entries per live flow, so that resizes are rare.
        // `live + 1` includes the flow that the caller will add.
        let places = ((live + 1) * 4).next_power_of_two().max(8);
        let empty = Entry {
            key: FlowKey::default(),
            value: V::default(),
            seen_ps: EMPTY,
        };
        let old = core::mem::replace(&mut self.entries, alloc::vec![empty; places]);
        self.used = 0;
        for entry in old {
            if self.is_live(&entry, now)
                && let Some(place) = self.place(entry.key)
            {
                self.entries[place] = entry;
                self.used += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn key(number: u32) -> FlowKey {
        FlowKey {
            src: HostId(number % 3),
            dst: HostId(7),
            // There are fewer hashes than flows, so some flows share a hash.
            hash: number / 2,
        }
    }

    proptest! {
        #[test]
        fn it_remembers_what_a_map_that_forgets_idle_flows_remembers(
            operations in proptest::collection::vec((0u64..60, 0u32..40, any::<bool>()), 1..400),
        ) {
            const IDLE_PS: u64 = 100;
            let mut table = FlowTable::new(IDLE_PS);
            let mut model: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
            let mut now_ps = 0;
            for (number, (wait, flow, put)) in operations.into_iter().enumerate() {
                now_ps += wait;
                let now = Time::from_ps(now_ps);
                model.retain(|_, (_, seen)| now_ps - *seen <= IDLE_PS);
                if put {
                    table.insert(now, key(flow), number as u32);
                    model.insert(flow, (number as u32, now_ps));
                } else {
                    let known = model.get_mut(&flow).map(|(value, seen)| {
                        *seen = now_ps;
                        *value
                    });
                    prop_assert_eq!(table.get(now, key(flow)).copied(), known);
                }
                prop_assert_eq!(table.live(now), model.len());
            }
        }
    }
}
