//! Events and their order.

use tailcut_units::Time;

/// Event: a time, an entity such as a port, and one word of payload.
/// Events are ordered by time, then by entity, then by payload.
/// One integer contains time, entity and payload, so one comparison is enough to order two events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event(u128);

impl Event {
    /// Number of an entity's high bits that contain the class. Of simultaneous events, lower classes come first.
    pub const CLASS_BITS: u32 = 2;

    /// Creates an event. Two events must not have equal time, entity and payload.
    #[inline]
    pub const fn new(time: Time, entity: u32, payload: u32) -> Self {
        Self(((time.as_ps() as u128) << 64) | ((entity as u128) << 32) | payload as u128)
    }
    /// Returns the time of the event.
    #[inline]
    pub const fn time(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
    /// Returns the entity: its class and its number.
    /// An [`Engine`](super::Engine) inserts a random draw between class and number, to order simultaneous events.
    /// After the insertion of a random draw, only the engine can return the number.
    #[inline]
    pub const fn entity(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// Returns the payload of the event.
    #[inline]
    pub const fn payload(self) -> u32 {
        self.0 as u32
    }
    /// Returns a copy of the event. In the copy, the bits `bits` of entity and payload are set.
    #[inline(always)]
    pub(super) const fn with(self, bits: u64) -> Self {
        Self(self.0 | bits as u128)
    }
}
