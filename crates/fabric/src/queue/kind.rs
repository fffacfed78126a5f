//! Kind of a port's discipline, and its queue.

use super::discipline::{BuildDiscipline, Dequeued, Fate, QueueDiscipline, Verdict};
use super::drop_tail::{DropTail, DropTailQueue};
use super::pfabric::{PFabric, PFabricQueue};
use super::priority::{Priority, PriorityQueue};
use super::push_out::{PushOut, PushOutQueue};
use super::trimming::{Trimming, TrimmingQueue};
use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{Time, stream_seed};

/// Configuration of a queue. Each port builds its own queue from it.
#[derive(Clone, Debug)]
pub enum QueueConfig {
    /// FIFO with a limit and an optional ECN threshold.
    DropTail(DropTail),
    /// Strict priority.
    Priority(Priority),
    /// Strict priority, where classes push out lower classes.
    PushOut(PushOut),
    /// Queue of pFabric.
    PFabric(PFabric),
    /// Trimming, as in NDP and SCDP.
    Trimming(Trimming),
    /// A custom discipline.
    Custom(BuildDiscipline),
}

/// Queue of a built-in kind, or custom queue.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would cost every packet a cache miss"
)]
pub(crate) enum Queue {
    DropTail(DropTailQueue),
    Priority(PriorityQueue),
    PushOut(PushOutQueue),
    PFabric(PFabricQueue),
    Trimming(TrimmingQueue),
    Custom(Box<dyn QueueDiscipline>),
}

/// Name of the random streams of ports, for [`stream_seed`].
const PORT_DRAWS: u64 = 0x706f_7274;

/// Calls a method of the discipline.
macro_rules! each {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::DropTail($inner) => $call,
            Queue::Priority($inner) => $call,
            Queue::PushOut($inner) => $call,
            Queue::PFabric($inner) => $call,
            Queue::Trimming($inner) => $call,
            Queue::Custom($inner) => $call,
        }
    };
}

impl Queue {
    pub fn new(config: &QueueConfig, seed: u64, port: u32) -> Self {
        let seed = stream_seed(seed, PORT_DRAWS, u64::from(port));
        match config {
            QueueConfig::DropTail(config) => Self::DropTail(DropTailQueue::new(*config)),
            QueueConfig::Priority(config) => Self::Priority(PriorityQueue::new(*config)),
            QueueConfig::PushOut(config) => Self::PushOut(PushOutQueue::new(*config)),
            QueueConfig::PFabric(config) => Self::PFabric(PFabricQueue::new(*config)),
            QueueConfig::Trimming(config) => Self::Trimming(TrimmingQueue::new(*config, seed)),
            QueueConfig::Custom(build) => Self::Custom(build.build(seed)),
        }
    }

    /// Returns whether a packet that finds the queue empty and the link idle may bypass it. If so, the state
    /// of the queue is as after an enqueue and a dequeue. Other disciplines return `false`.
    #[inline]
    pub fn passes(&mut self, packet: &Packet) -> bool {
        match self {
            Self::Trimming(queue) => queue.passes(packet),
            _ => false,
        }
    }

    pub fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        each!(self, queue => queue.enqueue(now, id, packets))
    }

    pub fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        each!(self, queue => queue.also_displaced())
    }

    pub fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        each!(self, queue => queue.dequeue(now, packets))
    }

    /// Returns the waiting packets of a FIFO, the next one first. Other disciplines return none, because their order is
    /// not fixed. The uplinks of hosts are FIFOs.
    pub fn waiting(&self) -> impl Iterator<Item = PacketId> {
        let fifo = match self {
            Self::DropTail(queue) => Some(queue.waiting()),
            _ => None,
        };
        fifo.into_iter().flatten()
    }

    pub fn backlog_packets(&self) -> u32 {
        each!(self, queue => queue.backlog_packets())
    }

    pub fn backlog_bytes(&self) -> u64 {
        each!(self, queue => queue.backlog_bytes())
    }

    pub fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        each!(self, queue => queue.remove(packets, matches, removed));
    }
}
