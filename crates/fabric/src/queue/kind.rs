//! Which discipline a port has, and its queue.

use super::discipline::{BuildDiscipline, Dequeued, QueueDiscipline, Verdict};
use super::drop_tail::{DropTail, DropTailQueue};
use super::pfabric::{PFabric, PFabricQueue};
use super::priority::{Priority, PriorityQueue};
use super::push_out::{PushOut, PushOutQueue};
use super::trimming::{Trimming, TrimmingQueue};
use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{Time, stream_seed};

/// The configuration of a queue; each port builds its own from it.
#[derive(Clone, Debug)]
pub enum QueueConfig {
    /// FIFO with a limit and an optional ECN threshold.
    DropTail(DropTail),
    /// Strict priority.
    Priority(Priority),
    /// Strict priority where classes push out those below.
    PushOut(PushOut),
    /// pFabric's.
    PFabric(PFabric),
    /// Trimming, as in NDP and SCDP.
    Trimming(Trimming),
    /// A user's own.
    Custom(BuildDiscipline),
}

/// A queue of a known kind, or a user's own.
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

/// The random streams of ports, for [`stream_seed`].
const PORT_DRAWS: u64 = 0x706f_7274;

/// Calls a method of whichever discipline a queue is.
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

    /// Whether a packet that finds the queue empty and the link idle may go by; if so, the queue is as if
    /// it had come and gone. No from disciplines that do not say.
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

    pub fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        each!(self, queue => queue.dequeue(now, packets))
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
