//! Ports: a port is the sending end of a link, with its state.

use crate::queue::{DropTail, Phantom, QueueConfig};
use tailcut_units::{Duration, Rate};

/// Number of an egress port, and of the link behind the port. Ports are numbered over the whole fabric.
/// A port is a directed edge of the topology.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u32);

/// Directed link, with the queue of its port.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Line rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link: the time from the last bit sent to the last bit received.
    pub delay: Duration,
    /// Queue of the port before the link.
    pub queue: QueueConfig,
    /// Phantom queue of the port, or `None`.
    pub phantom: Option<Phantom>,
}

/// Number of events that a port needs for each packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum PortEvents {
    /// One event per packet if the queue is a FIFO with a separate buffer.
    /// The departure is then known when the packet arrives.
    /// A general port needs a second event for each packet that keeps other packets waiting.
    #[default]
    OneWherePossible,
    /// Every port is a general port. Tests use this value to check that the results are the same.
    Two,
}

/// Properties that are common to all ports of a class. A network has few classes, so they stay in the L1 cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PortClass {
    /// Picoseconds per byte. The value is 0 if this is not a whole number. The port then divides by `rate` instead.
    pub ps_per_byte: u64,
    pub delay_ps: u64,
    pub rate: Rate,
    /// Queue of a port with one event per packet. `None` if a queue discipline manages the queue.
    pub drop_tail: Option<DropTail>,
    pub phantom: Option<Phantom>,
    /// Rate at which the phantom queue drains.
    pub drain: Rate,
    /// Whether the delay of the link has become shorter.
    /// Packets must still arrive after all earlier packets ([`Links`](crate::links::Links)).
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

    /// Returns the same class with another rate and another delay.
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

/// Returns the drain rate of a port's phantom queue, or the rate of the link if the port has no phantom queue.
fn drain_rate(phantom: Option<Phantom>, link: Rate) -> Rate {
    phantom.map_or(link, |phantom| phantom.drain_rate(link))
}

/// Waiting packets at a port with one event per packet. Their sizes are in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Position in the ring of the first waiting packet.
    pub head: u32,
    pub packets: u32,
    pub bytes: u32,
}

/// State of one port. Its one cache line contains all data that a hop needs, except the sizes of waiting packets.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Port {
    /// Time in picoseconds when the last bit leaves. At a general port, this is the last bit of the packet in service.
    /// At a port with one event per packet, it is the last bit of all accepted packets.
    pub busy_until_ps: u64,
    pub transmitted_packets: u64,
    pub transmitted_bytes: u64,
    pub marked: u64,
    /// Time in picoseconds at which the service of the first waiting packet begins.
    /// Used only at a port with one event per packet.
    pub head_starts_ps: u64,
    /// At a port with one event per packet, the position of the port's ring. At a general port, the index of its state.
    pub place: u32,
    pub waiting: Waiting,
    pub longest_backlog: u32,
    pub class: u16,
    /// At a port with one event per packet, the ring can contain `2^ring_bits` sizes.
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
    /// Time in picoseconds at which the packet in service will have left. In the past if the port is idle.
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
