//! Packet at a switch, and the data that packets transport between switches, for designs that choose paths.

use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use tailcut_units::Time;

/// Packet at a switch.
pub(crate) struct Passage<'a> {
    pub now: Time,
    pub switch: u32,
    pub id: PacketId,
    pub packet: &'a mut Packet,
}

/// Data that packets transport between switches. The index is the slot of the packet in the pool.
#[derive(Debug)]
pub(crate) struct Carried<T>(Vec<T>);

impl<T: Clone + Default> Carried<T> {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the data of a packet, or the default value if the packet has no data.
    #[inline]
    pub fn of(&mut self, id: PacketId) -> &mut T {
        let slot = id.0 as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, T::default());
        }
        &mut self.0[slot]
    }
}
