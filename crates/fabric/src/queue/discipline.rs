//! What every queue discipline is asked and says, those of users included.

use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::Time;

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
    /// The link lost it at random.
    LinkLoss,
    /// Nobody waits for it any more.
    Purged,
    /// Its source or destination is no host of the network, nor a group.
    UnknownAddress,
    /// Queued packets have waited too long (CoDel and its like).
    ActiveQueue,
    /// It has passed as many switches as it may ([`Packet::hop_limit`]).
    HopLimit,
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
            Self::LinkLoss => "link-loss",
            Self::Purged => "purged",
            Self::UnknownAddress => "unknown-address",
            Self::ActiveQueue => "active-queue",
            Self::HopLimit => "hop-limit",
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

/// Takes what `matches` out of a FIFO, for [`QueueDiscipline::remove`]; how many bytes that were.
pub(super) fn remove_from<T>(
    fifo: &mut VecDeque<T>,
    id_of: impl Fn(&T) -> PacketId,
    packets: &[Packet],
    matches: &mut dyn FnMut(PacketId) -> bool,
    removed: &mut Vec<PacketId>,
) -> u64 {
    let mut bytes = 0;
    fifo.retain(|entry| {
        let id = id_of(entry);
        let goes = matches(id);
        if goes {
            bytes += u64::from(packets[id.0 as usize].size);
            removed.push(id);
        }
        !goes
    });
    bytes
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

    /// A port's queue.
    pub(super) fn build(&self, seed: u64) -> Box<dyn QueueDiscipline> {
        (self.0)(seed)
    }
}

impl core::fmt::Debug for BuildDiscipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildDiscipline")
    }
}
