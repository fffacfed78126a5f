//! The general port: a discipline decides what is queued, and a service that others wait for ends with an
//! event of its own.

use crate::queue::Queue;

/// A general port's own state. What every packet touches is in its first two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// Whether an event will say that the link is free. There is one while packets wait: else whatever
    /// comes next sees by itself that the link is free.
    pub wakes: bool,
    /// The switch that has the port; with the high bit, the host.
    pub owner: u32,
    /// Index of the switch's shared buffer, if it has one.
    pub pool: Option<u32>,
    /// Until when the discipline holds back what it has.
    pub held_until_ps: u64,
    pub queue: Queue,
    /// Packets whose payload was cut off here.
    pub trimmed: u64,
}
