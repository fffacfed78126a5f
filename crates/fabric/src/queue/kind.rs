//! Configuration of a port's queue, and the queue itself.

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

/// Configuration of a queue. Each port builds its own queue from this configuration.
#[derive(Clone, Debug)]
pub enum QueueConfig {
    /// FIFO queue with a limit and an optional ECN threshold.
    DropTail(DropTail),
    /// Strict priority among several classes.
    Priority(Priority),
    /// Strict priority in which packets of higher classes push out packets of lower classes.
    PushOut(PushOut),
    /// Queue of pFabric.
    PFabric(PFabric),
    /// Queue that trims packets, as in NDP and SCDP.
    Trimming(Trimming),
    /// Discipline of the user.
    Custom(BuildDiscipline),
}

/// Queue of a built-in kind, or queue of the user.
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

/// Calls a method of the discipline that a queue contains.
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

    /// Returns whether a packet may bypass the queue, if the queue is empty and the link is idle.
    /// If the packet may bypass the queue, this call changes the queue like an enqueue and a dequeue.
    /// Only a trimming queue may return `true`.
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

    /// Returns the waiting packets of a FIFO in the order in which they will leave.
    /// Other disciplines return no packets, because their order can still change. The uplinks of hosts are FIFOs.
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
