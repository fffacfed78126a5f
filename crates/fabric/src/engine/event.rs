//! An event, and the order of events.

use tailcut_units::Time;

/// An event: when, what it happens to, and one word of payload. Ordered by exactly that, packed so
/// that one comparison of integers decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event(u128);

impl Event {
    /// An event at `time` of `entity`. Two events must not share time, entity and payload.
    #[inline]
    pub const fn new(time: Time, entity: u32, payload: u32) -> Self {
        Self(((time.as_ps() as u128) << 64) | ((entity as u128) << 32) | payload as u128)
    }
    /// When.
    #[inline]
    pub const fn time(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
    /// To what.
    #[inline]
    pub const fn entity(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// The payload.
    #[inline]
    pub const fn payload(self) -> u32 {
        self.0 as u32
    }
}
