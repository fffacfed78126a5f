//! A binary heap of events.

use super::event::Event;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use tailcut_units::Time;

/// A binary heap: O(log n) an operation, the yardstick for [`super::Calendar`].
#[derive(Debug, Default)]
pub struct Heap(BinaryHeap<Reverse<Event>>);

impl Heap {
    /// An empty heap.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }
    /// The earliest event.
    pub fn peek(&self) -> Option<Event> {
        self.0.peek().map(|event| event.0)
    }
    /// Takes the earliest event out if it is at or before `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        if self.peek()?.time() > until {
            return None;
        }
        self.0.pop().map(|event| event.0)
    }
    /// Shows every event, in no particular order.
    pub fn for_each(&self, show: impl FnMut(Event)) {
        self.0.iter().map(|event| event.0).for_each(show);
    }
}
