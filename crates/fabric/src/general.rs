//! General port: a discipline manages the queue. The end of a service is an event if other packets wait.

use crate::queue::Queue;

/// State of a general port. The first two cache lines hold the fields that every packet uses.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// Whether an event for the end of the service is scheduled. There is one only while packets wait.
    /// Without waiting packets, the next arrival finds a free link by itself.
    pub wakes: bool,
    /// Number of the switch that owns the port; with the high bit set, number of the host.
    pub owner: u32,
    /// Index of the switch's shared buffer, if it has one.
    pub pool: Option<u32>,
    /// Time in picoseconds until which the discipline holds back its packets.
    pub held_until_ps: u64,
    pub queue: Queue,
    /// Number of packets whose payload was cut off here.
    pub trimmed: u64,
}
