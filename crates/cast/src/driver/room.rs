//! The memory that peers may fill: one budget for all that arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much may be held of what arrives, and how much is.
#[derive(Clone, Debug)]
pub(super) struct Room {
    object: u64,
    all: u64,
    held: Arc<AtomicU64>,
}

/// A part of the room that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: u64,
    held: Arc<AtomicU64>,
}

impl Room {
    /// Room for `all` bytes, and for objects of at most `object` bytes.
    pub(super) fn new(object: u64, all: u64) -> Self {
        Self {
            object,
            all,
            held: Arc::default(),
        }
    }

    /// Takes so much for one object; `None` where there is not so much.
    pub(super) fn take(&self, bytes: u64) -> Option<Held> {
        if bytes > self.object {
            return None;
        }
        let with = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= self.all);
        let order = Ordering::Relaxed;
        self.held.fetch_update(order, order, with).ok()?;
        let held = Arc::clone(&self.held);
        Some(Held { bytes, held })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let room = Room::new(60, 100);
        assert!(room.take(61).is_none());
        let held = [60, 40].map(|bytes| room.take(bytes).expect("room"));
        assert!(room.take(1).is_none());
        assert!(room.take(0).is_some());
        drop(held);
        assert!(room.take(60).is_some());
    }
}
