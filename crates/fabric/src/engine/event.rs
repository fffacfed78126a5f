//! Events and their order.

use tailcut_units::Time;

/// Event: a time, an entity, and one word of payload. Events are ordered by these three. They are packed so
/// that one comparison of integers is enough.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event(u128);

impl Event {
    /// Number of high bits of an entity that are its class. Lower classes come first within one instant.
    pub const CLASS_BITS: u32 = 2;

    /// Creates an event. Two events must not have equal time, entity and payload.
    #[inline]
    pub const fn new(time: Time, entity: u32, payload: u32) -> Self {
        Self(((time.as_ps() as u128) << 64) | ((entity as u128) << 32) | payload as u128)
    }
    /// Returns the time.
    #[inline]
    pub const fn time(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
    /// Returns the entity: its class and its number. After an [`Engine`](super::Engine) has drawn the order of
    /// ties, the drawn bits lie between the two, and only the engine knows the number.
    #[inline]
    pub const fn entity(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// Returns the payload.
    #[inline]
    pub const fn payload(self) -> u32 {
        self.0 as u32
    }
    /// Returns the event with these bits of entity and payload set.
    #[inline(always)]
    pub(super) const fn with(self, bits: u64) -> Self {
        Self(self.0 | bits as u128)
    }
}
