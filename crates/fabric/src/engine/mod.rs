//! Event queues. The order of events is total and the same in every queue: by time, then by the class of the
//! entity, then by a draw from the seed for each entity and instant, then by the entity's number and payload.

mod calendar;
mod event;
mod heap;
mod ties;

pub use calendar::Calendar;
pub use event::Event;
pub use heap::Heap;
use tailcut_units::Time;
use ties::Ties;

/// Kind of event queue. It affects speed, but no result.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Calendar queue whose bucket width adapts to the load.
    #[default]
    Calendar,
    /// Binary heap: slower, but simple enough to verify the calendar.
    Heap,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one engine a run; a box would cost a hop"
)]
enum Queue {
    Calendar(Calendar),
    Heap(Heap),
}

/// Event queue.
#[derive(Debug)]
pub struct Engine {
    queue: Queue,
    ties: Ties,
}

impl Engine {
    /// Creates an empty queue of the given kind. The seed decides the order of events of one instant and
    /// class. The numbers of entities within their class are below `numbers`, at most 2^30.
    pub fn new(kind: EngineKind, seed: u64, numbers: u32) -> Self {
        Self {
            queue: match kind {
                EngineKind::Calendar => Queue::Calendar(Calendar::new()),
                EngineKind::Heap => Queue::Heap(Heap::new()),
            },
            ties: Ties::new(seed, numbers),
        }
    }

    /// Adds an event. Its time must not be before the time of the last event popped.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        self.push_in_order(self.ties.ranked(event));
    }

    /// Adds an event without a draw, which costs less. Events of one instant and class are then in the order
    /// of their numbers, so use it where this order affects no result.
    #[inline(always)]
    pub fn push_in_order(&mut self, event: Event) {
        match &mut self.queue {
            Queue::Calendar(calendar) => calendar.push(event),
            Queue::Heap(heap) => heap.push(event),
        }
    }

    /// Returns the time of the earliest event.
    #[inline]
    pub fn peek(&mut self) -> Option<Time> {
        match &mut self.queue {
            Queue::Calendar(calendar) => calendar.peek().map(Event::time),
            Queue::Heap(heap) => heap.peek().map(Event::time),
        }
    }

    /// Removes and returns the earliest event, if it is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        match &mut self.queue {
            Queue::Calendar(calendar) => calendar.pop_until(until),
            Queue::Heap(heap) => heap.pop_until(until),
        }
    }

    /// Returns the number of an event's entity within its class.
    #[inline(always)]
    pub const fn number(&self, event: Event) -> u32 {
        self.ties.number(event)
    }

    /// Returns the draw of an entity at an instant, for an order within one event.
    pub(crate) const fn draw(&self, time: Time, entity: u32) -> u64 {
        self.ties.draw(time, entity)
    }

    /// Returns an event that is about `ahead` events in the future, if it is known without cost.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Event> {
        match &self.queue {
            Queue::Calendar(calendar) => calendar.upcoming(ahead),
            Queue::Heap(_) => None,
        }
    }

    /// Passes every event to `show`, in no particular order.
    pub fn for_each(&self, show: impl FnMut(Event)) {
        match &self.queue {
            Queue::Calendar(calendar) => calendar.for_each(show),
            Queue::Heap(heap) => heap.for_each(show),
        }
    }
}
