//! Queue disciplines: what is kept, marked, trimmed or dropped, and what leaves next. A discipline
//! decides; it never schedules.

mod drop_tail;

use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
pub use drop_tail::{DropTail, DropTailQueue};
use tailcut_units::Time;

/// A size in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Packets, whatever their size.
    Packets(u32),
    /// Bytes on the wire.
    Bytes(u64),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The port's own queue had no room.
    QueueFull,
    /// The port was over its share of the switch's buffer.
    SharedBuffer,
    /// No port leads to the destination.
    NoRoute,
}

/// What became of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits.
    Queued,
    /// It waits, marked.
    Marked,
    /// It does not.
    Dropped(DropReason),
}

/// A queue before a link. The packet in service is not in the queue: it left with `dequeue`.
pub trait QueueDiscipline: core::fmt::Debug + Send {
    /// A packet reaches the port at `now`. `packets` are the headers of all packets in the network,
    /// indexed by id, so that a discipline can mark or compare what it holds.
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict;
    /// The link is free at `now`: the next packet, if any.
    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Option<PacketId>;
    /// Packets that wait.
    fn backlog_packets(&self) -> u32;
    /// Bytes that wait.
    fn backlog_bytes(&self) -> u64;
}

/// The configuration of a queue; each port builds its own from it.
#[derive(Clone, Debug)]
pub enum QueueConfig {
    /// FIFO with a limit and an optional ECN threshold.
    DropTail(DropTail),
    /// A user's own discipline.
    Custom(fn() -> Box<dyn QueueDiscipline>),
}

/// A queue of a known kind, or a user's own.
#[derive(Debug)]
pub(crate) enum Queue {
    DropTail(DropTailQueue),
    Custom(Box<dyn QueueDiscipline>),
}

impl Queue {
    pub fn new(config: &QueueConfig) -> Self {
        match config {
            QueueConfig::DropTail(config) => Self::DropTail(DropTailQueue::new(*config)),
            QueueConfig::Custom(build) => Self::Custom(build()),
        }
    }

    pub fn discipline(&mut self) -> &mut dyn QueueDiscipline {
        match self {
            Self::DropTail(queue) => queue,
            Self::Custom(queue) => queue.as_mut(),
        }
    }

    pub fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        match self {
            Self::DropTail(queue) => queue.enqueue(now, id, packets),
            Self::Custom(queue) => queue.enqueue(now, id, packets),
        }
    }

    pub fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Option<PacketId> {
        match self {
            Self::DropTail(queue) => queue.dequeue(now, packets),
            Self::Custom(queue) => queue.dequeue(now, packets),
        }
    }
}
