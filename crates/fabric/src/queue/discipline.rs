//! Interface of all queue disciplines, including custom disciplines.

use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Size limit in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Number of packets of any size.
    Packets(u32),
    /// Bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Returns whether `packets` or `bytes` exceed the limit.
    #[inline]
    pub const fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets > limit,
            Self::Bytes(limit) => bytes > limit,
        }
    }
}

/// Reason of a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The queue of the port was full.
    QueueFull,
    /// The port exceeded its share of the switch's buffer.
    SharedBuffer,
    /// The port's queue of headers and control packets was full, and the packet could not be returned or had
    /// already been returned once.
    HeaderQueueFull,
    /// No port led to the destination.
    NoRoute,
    /// All receivers of the packet have left its group.
    NoMember,
    /// The link was down.
    LinkDown,
    /// The link lost the packet at random.
    LinkLoss,
    /// A purging packet removed it: no receiver waits for it any more.
    Purged,
    /// The source or destination is neither a host of the network nor a group.
    UnknownAddress,
    /// Queued packets have waited too long (CoDel and similar disciplines).
    ActiveQueue,
    /// The packet has passed the allowed number of switches ([`Packet::hop_limit`]).
    HopLimit,
}

impl DropReason {
    /// Returns the name of the reason in output files.
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

/// Result of an arrival for one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet waits.
    Queued,
    /// The packet waits with an ECN mark.
    Marked,
    /// The packet waits without its payload.
    Trimmed {
        /// Number of bytes that were cut off.
        cut: u32,
    },
    /// The packet returns to its sender without its payload.
    Returned {
        /// Number of bytes that were cut off here; 0 if a switch had trimmed it before.
        cut: u32,
    },
    /// The packet is dropped.
    Dropped(DropReason),
}

/// Result of an arrival: for the arriving packet, and for the first of the packets that it displaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Result for the arriving packet.
    pub arrival: Fate,
    /// A packet that was waiting, and the change of its state. [`QueueDiscipline::also_displaced`] returns
    /// further packets.
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

/// Answer of a queue to a free link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dequeued {
    /// This packet is sent.
    Packet(PacketId),
    /// The queue is empty.
    Empty,
    /// This packet is dropped instead of sent.
    Drop(PacketId, DropReason),
    /// There are packets, but none may leave before this time.
    WaitUntil(Time),
}

impl From<Option<PacketId>> for Dequeued {
    #[inline]
    fn from(packet: Option<PacketId>) -> Self {
        packet.map_or(Self::Empty, Self::Packet)
    }
}

/// Queue before a link. The packet in service is not in the queue, because `dequeue` has removed it.
pub trait QueueDiscipline: core::fmt::Debug + Send {
    /// Handles a packet that reaches the port at `now`. `packets` contains the headers of all packets in the
    /// network by id, so that a discipline can mark, trim or compare its packets.
    ///
    /// A discipline that marks sets the packet's `ecn`, and a discipline that trims calls [`Packet::trim`].
    /// The verdict reports this to the port, which counts it and handles the packets that leave the queue.
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict;
    /// Returns another packet that the last arrival displaced, and the change of its state. The port calls this
    /// after a verdict with a displaced packet, until it returns `None`. The backlog must not include these
    /// packets, unless they wait on as headers. By default an arrival displaces at most one packet.
    fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        None
    }
    /// Returns the next packet when the link is free at `now`. After a drop the port calls this again at
    /// once. After `WaitUntil` the port calls it again at the given time and not before.
    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued;
    /// Returns the number of waiting packets.
    fn backlog_packets(&self) -> u32;
    /// Returns the number of waiting bytes.
    fn backlog_bytes(&self) -> u64;
    /// Removes every packet for which `matches` returns `true`, and adds it to `removed`. By default a
    /// discipline keeps its packets.
    fn remove(
        &mut self,
        _packets: &[Packet],
        _matches: &mut dyn FnMut(PacketId) -> bool,
        _removed: &mut Vec<PacketId>,
    ) {
    }
}

/// Removes the matching packets from a FIFO, for [`QueueDiscipline::remove`]. Returns the number of removed
/// bytes.
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

/// Factory of a custom discipline, which builds one for each port.
#[derive(Clone)]
pub struct BuildDiscipline(Arc<dyn Fn(u64) -> Box<dyn QueueDiscipline> + Send + Sync>);

impl BuildDiscipline {
    /// Calls `build` for each port, with the seed of its random stream. The closure contains the parameters.
    pub fn new<Q: QueueDiscipline + 'static>(
        build: impl Fn(u64) -> Q + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |seed| Box::new(build(seed))))
    }

    /// Builds the queue of a port.
    pub(super) fn build(&self, seed: u64) -> Box<dyn QueueDiscipline> {
        (self.0)(seed)
    }
}

impl core::fmt::Debug for BuildDiscipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildDiscipline")
    }
}
