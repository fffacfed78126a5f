//! Memory limit: one budget for all objects that peers send.

use super::spares::Spares;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Limits of the memory for received objects, and the memory in use. Clones share the count.
#[derive(Clone, Debug)]
pub(super) struct Room {
    object: u64,
    all: u64,
    held: Arc<AtomicU64>,
    pub(super) spares: Spares,
}

/// Reserved memory. It is released when this value is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: u64,
    room: Room,
}

impl Room {
    /// Creates a budget of `all` bytes, for objects of at most `object` bytes.
    pub(super) fn new(object: u64, all: u64) -> Self {
        Self {
            object,
            all,
            held: Arc::default(),
            spares: Spares::default(),
        }
    }

    /// Reserves `bytes` bytes for an object of `object` bytes. Returns `None` if too little is
    /// left.
    pub(super) fn take(&self, object: u64, bytes: u64) -> Option<Held> {
        if self.is_too_large(object) {
            return None;
        }
        let mut held = Held {
            bytes: 0,
            room: self.clone(),
        };
        held.grow(bytes).then_some(held)
    }

    /// Returns whether an object exceeds the limit for one object.
    pub(super) fn is_too_large(&self, object: u64) -> bool {
        object > self.object
    }
}

impl Held {
    /// Extends the reservation to `bytes` bytes in all. Returns `false` if too little is left.
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let all = self.room.all;
        let with = |held: u64| held.checked_add(more).filter(|sum| *sum <= all);
        let order = Ordering::Relaxed;
        let taken = self.room.held.fetch_update(order, order, with).is_ok();
        self.bytes += if taken { more } else { 0 };
        taken
    }

    /// Returns the buffers that can be used again.
    pub(super) fn spares(&self) -> &Spares {
        &self.room.spares
    }

    /// Returns the reserved bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let room = Room::new(60, 100);
        assert!(room.take(61, 1).is_none() && room.is_too_large(61));
        let held = [60, 40].map(|bytes| room.take(bytes, bytes).expect("room"));
        assert!(room.take(1, 1).is_none());
        assert!(room.take(0, 0).is_some());
        drop(held);
        let mut held = room.take(60, 10).expect("room");
        assert!(held.grow(60) && held.bytes() == 60);
        let other = room.take(60, 40).expect("room");
        assert!(!held.grow(61) && held.bytes() == 60);
        drop((held, other));
        assert!(room.take(60, 60).is_some());
    }
}
