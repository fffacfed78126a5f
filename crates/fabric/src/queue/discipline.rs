//! Interface of all queue disciplines. Users can implement it for their own disciplines.

use crate::packet::{Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Limit of a queue's size, in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Limit in packets. The sizes of the packets do not matter.
    Packets(u32),
    /// Limit in bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Returns whether a queue with `packets` packets and `bytes` bytes exceeds the limit.
    #[inline]
    pub const fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets > limit,
            Self::Bytes(limit) => bytes > limit,
        }
    }
}

/// Reason why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The queue of the port was full.
    QueueFull,
    /// The port exceeded its share of the switch's shared buffer.
    SharedBuffer,
    /// The port's queue for headers and control packets was full.
    /// The packet could not be returned to its sender, or it had already been returned once.
    HeaderQueueFull,
    /// No port led to the destination.
    NoRoute,
    /// All receivers of the packet had left its group.
    NoMember,
    /// The link was down when the packet arrived at its far end.
    LinkDown,
    /// The link lost the packet at random.
    LinkLoss,
    /// A purging packet removed the packet, because no receiver waits for it any more.
    Purged,
    /// The source is no host of the network, or the destination is neither a host of the network nor a group.
    UnknownAddress,
    /// Queued packets had waited too long (CoDel and similar disciplines).
    ActiveQueue,
    /// The packet had passed the allowed number of switches ([`Packet::hop_limit`]).
    HopLimit,
}

impl DropReason {
    /// Returns the name that the reason has in output files.
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

/// Change of one packet's state when a packet arrives at the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet waits in the queue.
    Queued,
    /// The packet waits in the queue, and has an ECN mark.
    Marked,
    /// The packet waits in the queue as a header, without its payload.
    Trimmed {
        /// Number of bytes of payload that were cut off.
        cut: u32,
    },
    /// The packet returns to its sender without its payload.
    Returned {
        /// Number of bytes that this queue cut off. 0 if an earlier switch had already trimmed the packet.
        cut: u32,
    },
    /// The packet is dropped.
    Dropped(DropReason),
}

/// Result of an arrival, for the arriving packet and for the first packet that it displaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Result for the arriving packet.
    pub arrival: Fate,
    /// First waiting packet that the arrival displaced, and the change of this packet's state.
    /// [`QueueDiscipline::also_displaced`] returns all displaced packets after the first.
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

/// Answer of a queue when the link is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dequeued {
    /// The port sends this packet.
    Packet(PacketId),
    /// The queue is empty.
    Empty,
    /// The port drops this packet and does not send it.
    Drop(PacketId, DropReason),
    /// The queue has packets, but none of them may leave before this time.
    WaitUntil(Time),
}

impl From<Option<PacketId>> for Dequeued {
    #[inline]
    fn from(packet: Option<PacketId>) -> Self {
        packet.map_or(Self::Empty, Self::Packet)
    }
}

/// Queue before a link. `dequeue` removes a packet before its service, so the packet in service is not in the queue.
pub trait QueueDiscipline: core::fmt::Debug + Send {
    /// Handles a packet that arrives at the port at time `now`.
    /// `packets` contains the headers of all packets in the network by id.
    /// With the headers of all packets, a discipline can mark, trim and compare packets.
    ///
    /// A discipline that marks a packet sets its `ecn`. A discipline that trims a packet calls [`Packet::trim`].
    /// The port learns which packets were marked or trimmed from the returned verdict.
    /// The port counts the changes, and handles the packets that leave the queue.
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict;
    /// Returns another packet that the last arrival displaced, and the change of its state.
    /// If a verdict contains a displaced packet, the port calls this function until it returns `None`.
    /// The backlog must not include displaced packets, except those that still wait as headers.
    /// By default, an arrival displaces at most one packet.
    fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        None
    }
    /// Returns the next packet when the link is free at time `now`.
    /// After a drop, the port calls this function again immediately.
    /// After `WaitUntil`, the port calls this function again at the returned time, and not earlier.
    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued;
    /// Returns the number of packets that wait in the queue.
    fn backlog_packets(&self) -> u32;
    /// Returns the number of bytes that wait in the queue.
    fn backlog_bytes(&self) -> u64;
    /// Removes every packet for which `matches` returns `true`, and adds it to `removed`.
    /// By default, a discipline removes no packets.
    fn remove(
        &mut self,
        _packets: &[Packet],
        _matches: &mut dyn FnMut(PacketId) -> bool,
        _removed: &mut Vec<PacketId>,
    ) {
    }
}

/// Removes the packets that match from a FIFO, for [`QueueDiscipline::remove`]. Returns the number of removed bytes.
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
    /// Creates a factory. It calls `build` for each port, with the seed of the port's random stream.
    /// The closure `build` must contain the parameters of the discipline.
    pub fn new<Q: QueueDiscipline + 'static>(
        build: impl Fn(u64) -> Q + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |seed| Box::new(build(seed))))
    }

    /// Builds the queue of a port. `seed` is the seed of the port's random stream.
    pub(super) fn build(&self, seed: u64) -> Box<dyn QueueDiscipline> {
        (self.0)(seed)
    }
}

impl core::fmt::Debug for BuildDiscipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildDiscipline")
    }
}
