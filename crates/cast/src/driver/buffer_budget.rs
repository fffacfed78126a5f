//! Memory limit of an endpoint. All received objects share one budget.

use super::spares::Spares;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Limits of the memory for received objects, and the memory in use. Clones share the memory count.
#[derive(Clone, Debug)]
pub(super) struct BufferBudget {
    /// Size of the largest allowed object in bytes.
    object: u64,
    /// Largest allowed sum of all reservations, in bytes.
    all: u64,
    /// Sum of all reservations, in bytes.
    held: Arc<AtomicU64>,
    pub(super) spares: Spares,
}

/// Reserved memory. It is released when this value is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    bytes: u64,
    budget: BufferBudget,
}

impl BufferBudget {
    /// Creates a budget of `all` bytes, for objects of at most `object` bytes.
    pub(super) fn new(object: u64, all: u64) -> Self {
        Self {
            object,
            all,
            held: Arc::default(),
            spares: Spares::default(),
        }
    }

    /// Reserves `bytes` bytes for an object of `object` bytes. Returns `None` if the budget has too little memory left.
    pub(super) fn take(&self, object: u64, bytes: u64) -> Option<Reservation> {
        if self.is_too_large(object) {
            return None;
        }
        // An empty reservation is always valid. If it cannot grow, it is dropped and releases nothing.
        let mut reservation = Reservation {
            bytes: 0,
            budget: self.clone(),
        };
        reservation.grow(bytes).then_some(reservation)
    }

    /// Returns whether an object exceeds the limit for one object.
    pub(super) fn is_too_large(&self, object: u64) -> bool {
        object > self.object
    }
}

impl Reservation {
    /// Extends the reservation to `bytes` bytes in total. Returns `false` if the budget has too little memory left.
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let all = self.budget.all;
        let with = |held: u64| held.checked_add(more).filter(|sum| *sum <= all);
        // Threads share only this number, and no other memory depends on it. So the order is not important.
        let order = Ordering::Relaxed;
        let taken = self.budget.held.fetch_update(order, order, with).is_ok();
        self.bytes += if taken { more } else { 0 };
        taken
    }

    /// Returns the buffers of earlier objects that can be used again.
    pub(super) fn spares(&self) -> &Spares {
        &self.budget.spares
    }

    /// Returns the size of the reservation in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let budget = BufferBudget::new(60, 100);
        assert!(budget.take(61, 1).is_none() && budget.is_too_large(61));
        let held = [60, 40].map(|bytes| budget.take(bytes, bytes).expect("room"));
        assert!(budget.take(1, 1).is_none());
        assert!(budget.take(0, 0).is_some());
        drop(held);
        let mut reservation = budget.take(60, 10).expect("room");
        assert!(reservation.grow(60) && reservation.bytes() == 60);
        let other = budget.take(60, 40).expect("room");
        assert!(!reservation.grow(61) && reservation.bytes() == 60);
        drop((reservation, other));
        assert!(budget.take(60, 60).is_some());
    }
}
