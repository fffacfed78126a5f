//! General port: a queue discipline manages its packets. If packets wait, the end of a service is an event.

use crate::queue::Queue;

/// State of a general port. Its first two cache lines contain the fields that every packet uses.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// Whether an event is scheduled for the end of the service. This event exists only while packets wait.
    /// If no packet waits, the next arrival finds out that the link is free.
    pub wakes: bool,
    /// Number of the switch or host that owns the port. The high bit is set for a host.
    pub owner: u32,
    /// Index of the shared buffer of the port's switch, or `None` if the switch has none.
    pub pool: Option<u32>,
    /// Time in picoseconds until which the discipline sends no packets.
    pub held_until_ps: u64,
    pub queue: Queue,
    /// Number of packets whose payload this port has cut off.
    pub trimmed: u64,
}
