//! Ports: the sending end of a link, with its state.

use crate::queue::{DropTail, Phantom, QueueConfig};
use tailcut_units::{Duration, Rate};

/// Number of an egress port and of the link behind it: a directed edge of the topology, numbered over the
/// whole fabric.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u32);

/// Directed link, with the queue before it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay: from the last bit sent to the last bit received.
    pub delay: Duration,
    /// Queue before the link.
    pub queue: QueueConfig,
    /// Phantom queue of the port, if any.
    pub phantom: Option<Phantom>,
}

/// Number of events per packet at a port.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum PortEvents {
    /// One event if the queue is a FIFO with a separate buffer, because the departure is then known at the
    /// arrival. Other ports have a second event for each packet that others wait behind.
    #[default]
    OneWherePossible,
    /// The general port everywhere. Results are the same, and tests use it to prove that.
    Two,
}

/// Properties that ports of one kind share. A network has few kinds, so they stay in the L1 cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PortClass {
    /// Picoseconds per byte; 0 if that is not a whole number, and `rate` must divide.
    pub ps_per_byte: u64,
    pub delay_ps: u64,
    pub rate: Rate,
    /// Queue of a one-event port; `None` if a discipline manages the queue.
    pub drop_tail: Option<DropTail>,
    pub phantom: Option<Phantom>,
    /// Drain rate of the phantom queue.
    pub drain: Rate,
    /// Whether packets must arrive after earlier packets, because the delay has become shorter
    /// ([`Links`](crate::links::Links)).
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
            drain: drain_rate(link.phantom, link.rate),
            is_behind: false,
        }
    }

    /// Returns the class with another rate and delay.
    pub fn changed(self, rate: Rate, delay: Duration) -> Self {
        Self {
            ps_per_byte: rate.ps_per_byte().unwrap_or(0),
            rate,
            delay_ps: delay.as_ps(),
            drain: drain_rate(self.phantom, rate),
            ..self
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

/// Returns the drain rate of a port's phantom queue. Without one it is the rate of the link.
fn drain_rate(phantom: Option<Phantom>, link: Rate) -> Rate {
    phantom.map_or(link, |phantom| phantom.drain_rate(link))
}

/// Waiting packets of a one-event port: sizes in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Position of the head in the ring.
    pub head: u32,
    pub packets: u32,
    pub bytes: u32,
}

/// State of one port: one cache line, which holds all data of a hop except the sizes of waiting packets.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Port {
    /// Time in picoseconds at which the last bit leaves: of the started packets (general port) or of the
    /// accepted packets (one-event port).
    pub busy_until_ps: u64,
    pub transmitted_packets: u64,
    pub transmitted_bytes: u64,
    pub marked: u64,
    /// One-event port: time in picoseconds at which the service of the first waiting packet begins.
    pub head_starts_ps: u64,
    /// One-event port: place of its ring of sizes. General port: index of its state.
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

/// Backlog of a port at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    pub packets: u32,
    pub bytes: u64,
    /// Time in picoseconds at which the packet in service, if any, has left.
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
