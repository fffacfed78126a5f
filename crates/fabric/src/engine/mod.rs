//! Event queues. The order of events is total and the same on every engine: by time, then by
//! entity, then by payload.

mod calendar;
mod event;
mod heap;

pub use calendar::Calendar;
pub use event::Event;
pub use heap::Heap;
use tailcut_units::Time;

/// Which event queue to use. Results do not depend on it; speed does.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// A calendar queue whose bucket width adapts to the load.
    #[default]
    Calendar,
    /// A binary heap: slower, and simple enough to check the calendar against.
    Heap,
}

/// An event queue.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one engine a run; a box would cost a hop"
)]
pub enum Engine {
    /// See [`Calendar`].
    Calendar(Calendar),
    /// See [`Heap`].
    Heap(Heap),
}

impl Engine {
    /// An empty queue of the given kind.
    pub fn new(kind: EngineKind) -> Self {
        match kind {
            EngineKind::Calendar => Self::Calendar(Calendar::new()),
            EngineKind::Heap => Self::Heap(Heap::new()),
        }
    }

    /// Adds an event. Its time must not be before that of the last event popped.
    #[inline]
    pub fn push(&mut self, event: Event) {
        match self {
            Self::Calendar(calendar) => calendar.push(event),
            Self::Heap(heap) => heap.push(event),
        }
    }

    /// The time of the earliest event.
    #[inline]
    pub fn peek(&mut self) -> Option<Time> {
        match self {
            Self::Calendar(calendar) => calendar.peek().map(Event::time),
            Self::Heap(heap) => heap.peek().map(Event::time),
        }
    }

    /// Takes the earliest event out if it is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        match self {
            Self::Calendar(calendar) => calendar.pop_until(until),
            Self::Heap(heap) => heap.pop_until(until),
        }
    }

    /// An event that comes about `ahead` events from now, where that is known at no cost.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Event> {
        match self {
            Self::Calendar(calendar) => calendar.upcoming(ahead),
            Self::Heap(_) => None,
        }
    }

    /// Shows every event, in no particular order.
    pub fn for_each(&self, show: impl FnMut(Event)) {
        match self {
            Self::Calendar(calendar) => calendar.for_each(show),
            Self::Heap(heap) => heap.for_each(show),
        }
    }
}
