//! Binary heap of events.

use super::event::Event;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use tailcut_units::Time;

/// Binary heap. Each operation takes O(log n) time. Tests compare [`super::Calendar`] with this heap.
#[derive(Debug, Default)]
pub struct Heap(BinaryHeap<Reverse<Event>>);

impl Heap {
    /// Creates an empty heap.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }
    /// Returns the earliest event.
    pub fn peek(&self) -> Option<Event> {
        self.0.peek().map(|event| event.0)
    }
    /// Removes and returns the earliest event, if the event is not after `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        if self.peek()?.time() > until {
            return None;
        }
        self.0.pop().map(|event| event.0)
    }
    /// Passes every event to `show`, in any order.
    pub fn for_each(&self, show: impl FnMut(Event)) {
        self.0.iter().map(|event| event.0).for_each(show);
    }
}
