//! Ports: the sending end of a link, and what can be said of one.

use crate::queue::QueueConfig;
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
}

/// How many events a packet costs at a port.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum PortEvents {
    /// One where the queue is FIFO and its buffer its own, since the departure is then known on
    /// arrival; two elsewhere.
    #[default]
    OneWherePossible,
    /// Two everywhere: the general port. Results are the same; it is there to prove that.
    Two,
}

/// The state that every port has; one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Port {
    /// When the last bit of what was started (general port) or accepted (one-event port) leaves.
    pub busy_until_ps: u64,
    /// Picoseconds a byte, or 0 where that is not whole and the rate must divide.
    pub ps_per_byte: u64,
    pub delay_ps: u64,
    pub rate: Rate,
    pub transmitted_packets: u64,
    pub transmitted_bytes: u64,
    /// Index into the one-event queues or the general ones.
    pub queue: u32,
    pub kind: PortKind,
    pub marked: u32,
    pub dropped: u32,
}

/// What a port holds at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    pub packets: u32,
    pub bytes: u64,
    /// The most bytes that have waited so far.
    pub longest_bytes: u64,
    /// When the packet in service, if any, has left.
    pub service_ends_ps: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PortKind {
    OneEvent,
    General,
}

impl Port {
    #[inline]
    pub fn serialisation_ps(&self, bytes: u32) -> u64 {
        if self.ps_per_byte != 0 {
            u64::from(bytes) * self.ps_per_byte
        } else {
            self.rate.serialisation(u64::from(bytes)).as_ps()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_cache_line() {
        assert_eq!(size_of::<Port>(), 64);
    }
}
