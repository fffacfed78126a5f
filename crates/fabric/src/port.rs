//! Ports: the sending end of a link, and what can be said of one.

use crate::queue::{DropTail, Phantom, QueueConfig};
use tailcut_units::{Duration, Rate};

/// An egress port and the link behind it: a directed edge of the topology, numbered over the whole
/// fabric.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u32);

/// A directed link and the queue before it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay, from the last bit sent to the last bit received.
    pub delay: Duration,
    /// What waits before the link, and how.
    pub queue: QueueConfig,
    /// A phantom queue on or beside the port.
    pub phantom: Option<Phantom>,
}

/// How many events a packet costs at a port.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum PortEvents {
    /// One where the queue is FIFO and its buffer its own, since the departure is then known on
    /// arrival; elsewhere a second one for each packet that others wait behind.
    #[default]
    OneWherePossible,
    /// The general port everywhere. Results are the same; it is there to prove that.
    Two,
}

/// What ports of one kind share. Networks have few kinds, so these stay in the nearest cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PortClass {
    /// Picoseconds a byte, or 0 where that is not whole and the rate must divide.
    pub ps_per_byte: u64,
    pub delay_ps: u64,
    pub rate: Rate,
    /// The queue of a one-event port; `None` where a discipline decides.
    pub drop_tail: Option<DropTail>,
    pub phantom: Option<Phantom>,
    /// Whether packets have to arrive behind others: see [`Links`](crate::links::Links).
    pub is_behind: bool,
}

impl PortClass {
    pub fn new(link: &LinkConfig, drop_tail: Option<DropTail>) -> Self {
        Self {
            ps_per_byte: link.rate.ps_per_byte().unwrap_or(0),
            delay_ps: link.delay.as_ps(),
            rate: link.rate,
            drop_tail,
            phantom: link.phantom,
            is_behind: false,
        }
    }

    #[inline]
    pub fn serialisation_ps(&self, bytes: u32) -> u64 {
        if self.ps_per_byte != 0 {
            u64::from(bytes) * self.ps_per_byte
        } else {
            self.rate.serialisation(u64::from(bytes)).as_ps()
        }
    }
}

/// What waits at a one-event port: sizes in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Where the ring's head is.
    pub head: u32,
    pub packets: u32,
    pub bytes: u32,
}

/// One port's state: one cache line, all that a hop touches but the sizes of what waits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Port {
    /// When the last bit of what was started (general port) or accepted (one-event port) leaves.
    pub busy_until_ps: u64,
    pub transmitted_packets: u64,
    pub transmitted_bytes: u64,
    pub marked: u64,
    /// One-event port: when the head of what waits begins its service.
    pub head_starts_ps: u64,
    /// One-event port: the place of its ring of sizes. General port: the place of its discipline.
    pub place: u32,
    pub waiting: Waiting,
    pub longest_backlog: u32,
    pub class: u16,
    /// One-event port: the ring holds `2^ring_bits` sizes.
    pub ring_bits: u8,
}

impl Port {
    pub const fn new(class: u16, place: u32, ring_bits: u8) -> Self {
        Self {
            busy_until_ps: 0,
            transmitted_packets: 0,
            transmitted_bytes: 0,
            marked: 0,
            head_starts_ps: 0,
            place,
            waiting: Waiting {
                head: 0,
                packets: 0,
                bytes: 0,
            },
            longest_backlog: 0,
            class,
            ring_bits,
        }
    }
}

/// What a port holds at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    pub packets: u32,
    pub bytes: u64,
    /// When the packet in service, if any, has left.
    pub service_ends_ps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_cache_line() {
        assert_eq!(size_of::<Port>(), 64);
    }
}
