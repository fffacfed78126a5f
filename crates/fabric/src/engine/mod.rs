//! Event queues. Every queue returns events in the same total order: by time, then by class of the entity.
//! Events of the same time and class are in a random order that is drawn from the seed.
//! If the draws are equal, the number of the entity and then the payload decide.

mod calendar;
mod event;
mod heap;
mod ties;

pub use calendar::Calendar;
pub use event::Event;
pub use heap::Heap;
use tailcut_units::Time;
use ties::Ties;

/// Kind of event queue. The kind affects the speed of a run, and not its results.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Calendar queue: its buckets adapt their width to the load.
    #[default]
    Calendar,
    /// Binary heap. It is slower than the calendar, but simpler, so tests compare the calendar with the heap.
    Heap,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a run has only one engine, and a box would make every hop slower"
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
    /// Creates an empty queue of this kind. The seed decides the order of events of the same time and class.
    /// Entities of each class are numbered from 0 to `numbers - 1`. `numbers` is at most 2^30.
    pub fn new(kind: EngineKind, seed: u64, numbers: u32) -> Self {
        Self {
            queue: match kind {
                EngineKind::Calendar => Queue::Calendar(Calendar::new()),
                EngineKind::Heap => Queue::Heap(Heap::new()),
            },
            ties: Ties::new(seed, numbers),
        }
    }

    /// Adds an event. Its time must not be before the time of the last removed event.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        self.push_in_order(self.ties.ranked(event));
    }

    /// Adds an event without a random draw, to save time.
    /// Events of the same time and class are then in the order of their numbers.
    /// The caller must make sure that the order of numbers does not affect results.
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

    /// Removes and returns the earliest event, if the event is not after `until`.
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

    /// Returns the random draw of an entity at an instant. It orders several results of one event, such as copies.
    pub(crate) const fn draw(&self, time: Time, entity: u32) -> u64 {
        self.ties.draw(time, entity)
    }

    /// Returns an event that is about `ahead` events after the next event, if the queue can find it without a search.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Event> {
        match &self.queue {
            Queue::Calendar(calendar) => calendar.upcoming(ahead),
            Queue::Heap(_) => None,
        }
    }

    /// Returns whether the last removed event was the first event of a day of the calendar.
    #[inline]
    pub fn has_begun_day(&self) -> bool {
        match &self.queue {
            Queue::Calendar(calendar) => calendar.has_begun_day(),
            Queue::Heap(_) => false,
        }
    }

    /// Passes every event to `show`, in any order.
    pub fn for_each(&self, show: impl FnMut(Event)) {
        match &self.queue {
            Queue::Calendar(calendar) => calendar.for_each(show),
            Queue::Heap(heap) => heap.for_each(show),
        }
    }
}
