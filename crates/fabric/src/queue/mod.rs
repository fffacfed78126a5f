//! Queue disciplines: what is kept, marked, trimmed or dropped, and what leaves next. A discipline
//! decides; it never schedules.

mod codel;
mod drop_tail;
mod fq_codel;
mod lists;
mod pfabric;
mod phantom;
mod priority;
mod push_out;
mod trimming;

use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
pub use codel::{CoDel, CoDelQueue};
pub use drop_tail::{DropTail, DropTailQueue};
pub use fq_codel::{FqCoDel, FqCoDelQueue};
pub use pfabric::{PFabric, PFabricQueue};
pub(crate) use phantom::PhantomState;
pub use phantom::{Compare, Phantom, Placement};
pub use priority::{Priority, PriorityQueue};
pub use push_out::{PushOut, PushOutQueue};
use tailcut_units::{Time, stream_seed};
pub use trimming::{Sharing, Trimming, TrimmingQueue, Victim};

/// A size in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Packets, whatever their size.
    Packets(u32),
    /// Bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Whether `packets` or `bytes` are more than this allows.
    #[inline]
    pub const fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets > limit,
            Self::Bytes(limit) => bytes > limit,
        }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The port's own queue had no room.
    QueueFull,
    /// The port was over its share of the switch's buffer.
    SharedBuffer,
    /// The port's queue of headers and control packets had no room, and the packet had already been
    /// returned once or could not be.
    HeaderQueueFull,
    /// No port led to the destination.
    NoRoute,
    /// All members of a group that the packet was for have left it.
    NoMember,
    /// The link was down.
    LinkDown,
    /// Nobody waits for it any more.
    Purged,
    /// Its source or destination is no host of the network, nor a group.
    UnknownAddress,
    /// Queued packets have waited too long (CoDel and its like).
    ActiveQueue,
}

impl DropReason {
    /// Its name in what runs write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::SharedBuffer => "shared-buffer",
            Self::HeaderQueueFull => "header-queue-full",
            Self::NoRoute => "no-route",
            Self::NoMember => "no-member",
            Self::LinkDown => "link-down",
            Self::Purged => "purged",
            Self::UnknownAddress => "unknown-address",
            Self::ActiveQueue => "active-queue",
        }
    }
}

/// What becomes of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It waits.
    Queued,
    /// It waits, ECN-marked.
    Marked,
    /// It waits without its payload.
    Trimmed {
        /// The bytes that were cut off.
        cut: u32,
    },
    /// It goes back to where it came from, without its payload.
    Returned {
        /// The bytes that were cut off here; 0 when that had been done before.
        cut: u32,
    },
    /// It is dropped.
    Dropped(DropReason),
}

/// What an arrival does to a queue: its own fate, and that of at most one packet that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The arriving packet's fate.
    pub arrival: Fate,
    /// A packet that waited and no longer waits as it did.
    pub displaced: Option<(PacketId, Fate)>,
}

impl From<Fate> for Verdict {
    fn from(arrival: Fate) -> Self {
        Self {
            arrival,
            displaced: None,
        }
    }
}

/// What a queue gives a link that is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dequeued {
    /// It is sent.
    Packet(PacketId),
    /// There is none.
    Empty,
    /// It is not sent but dropped.
    Drop(PacketId, DropReason),
    /// There is one, and none before this time.
    WaitUntil(Time),
}

impl From<Option<PacketId>> for Dequeued {
    #[inline]
    fn from(packet: Option<PacketId>) -> Self {
        packet.map_or(Self::Empty, Self::Packet)
    }
}

/// A queue before a link. The packet in service is not in the queue: it left with `dequeue`.
pub trait QueueDiscipline: core::fmt::Debug + Send {
    /// A packet reaches the port at `now`. `packets` are the headers of all packets in the network,
    /// indexed by id, so that a discipline can mark, trim or compare what it holds.
    ///
    /// A discipline that marks sets the packet's `ecn`, one that trims calls [`Packet::trim`]; the
    /// verdict tells the port, which counts and disposes of what does not wait any more.
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict;
    /// The link is free at `now`: the next packet, if any. A discipline that drops on the way out is asked
    /// again at once; one that holds back is asked again at the time that it names, and not before.
    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued;
    /// Packets that wait.
    fn backlog_packets(&self) -> u32;
    /// Bytes that wait.
    fn backlog_bytes(&self) -> u64;
    /// Takes every packet that `matches` out and adds it to `removed`. A discipline that does not say how
    /// keeps what it holds.
    fn remove(
        &mut self,
        _packets: &[Packet],
        _matches: &mut dyn FnMut(PacketId) -> bool,
        _removed: &mut Vec<PacketId>,
    ) {
    }
}

/// Builds a user's own discipline for each port.
#[derive(Clone)]
pub struct BuildDiscipline(Arc<dyn Fn(u64) -> Box<dyn QueueDiscipline> + Send + Sync>);

impl BuildDiscipline {
    /// Calls `build` for each port, with the seed of its random stream. The closure carries what parameters
    /// there are.
    pub fn new<Q: QueueDiscipline + 'static>(
        build: impl Fn(u64) -> Q + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |seed| Box::new(build(seed))))
    }
}

/// CoDel at each port.
impl From<CoDel> for QueueConfig {
    fn from(config: CoDel) -> Self {
        Self::Custom(BuildDiscipline::new(move |_| CoDelQueue::new(config)))
    }
}

/// FQ-CoDel at each port.
impl From<FqCoDel> for QueueConfig {
    fn from(config: FqCoDel) -> Self {
        Self::Custom(BuildDiscipline::new(move |seed| {
            FqCoDelQueue::new(config, seed)
        }))
    }
}

impl core::fmt::Debug for BuildDiscipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildDiscipline")
    }
}

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
            QueueConfig::Custom(build) => Self::Custom((build.0)(seed)),
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
