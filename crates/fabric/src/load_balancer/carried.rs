//! A packet at a switch of a design that chooses paths, and what it carries there.

use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use tailcut_units::Time;

/// A packet at a switch.
pub(crate) struct Passage<'a> {
    pub now: Time,
    pub switch: u32,
    pub id: PacketId,
    pub packet: &'a mut Packet,
}

/// Something a packet carries between switches, kept by the packet's place in the pool.
#[derive(Debug)]
pub(crate) struct Carried<T>(Vec<T>);

impl<T: Clone + Default> Carried<T> {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// What a packet carries; nothing by default.
    #[inline]
    pub fn of(&mut self, id: PacketId) -> &mut T {
        let slot = id.0 as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, T::default());
        }
        &mut self.0[slot]
    }
}
