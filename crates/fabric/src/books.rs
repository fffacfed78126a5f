//! Totals of the fabric: packets injected, delivered, dropped, trimmed and returned.

use crate::output::Lateness;
use crate::queue::DropReason;

/// Number of packets, and of their bytes on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Dropped packets by reason.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DropCounts {
    /// The queue of a port was full.
    pub queue_full: Count,
    /// A port exceeded its share of a shared buffer.
    pub shared_buffer: Count,
    /// The queue of a port for headers and control packets was full.
    pub header_queue_full: Count,
    /// No port led to the destination.
    pub no_route: Count,
    /// All receivers of the packet had left its group.
    pub no_member: Count,
    /// The link was down when the packet would have arrived at its far end. These packets count at no port,
    /// because the port did send them.
    pub link_down: Count,
    /// A link lost the packet at random. These packets count at no port.
    pub link_loss: Count,
    /// A purging packet ([`Hints::purges`](crate::Hints::purges)) removed the packet from a queue.
    pub purged: Count,
    /// The source or destination is neither a host of the network nor a group.
    pub unknown_address: Count,
    /// A discipline dropped the packet on its way out, as a signal that the queue is persistent.
    pub active_queue: Count,
    /// The packet had passed the allowed number of switches. These packets count at no port.
    pub hop_limit: Count,
}

impl DropCounts {
    /// Returns the counts with their reasons.
    pub const fn by_reason(&self) -> [(DropReason, Count); 11] {
        [
            (DropReason::QueueFull, self.queue_full),
            (DropReason::SharedBuffer, self.shared_buffer),
            (DropReason::HeaderQueueFull, self.header_queue_full),
            (DropReason::NoRoute, self.no_route),
            (DropReason::NoMember, self.no_member),
            (DropReason::LinkDown, self.link_down),
            (DropReason::LinkLoss, self.link_loss),
            (DropReason::Purged, self.purged),
            (DropReason::UnknownAddress, self.unknown_address),
            (DropReason::ActiveQueue, self.active_queue),
            (DropReason::HopLimit, self.hop_limit),
        ]
    }

    pub(crate) const fn count(&mut self, reason: DropReason) -> &mut Count {
        match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::SharedBuffer => &mut self.shared_buffer,
            DropReason::HeaderQueueFull => &mut self.header_queue_full,
            DropReason::NoRoute => &mut self.no_route,
            DropReason::NoMember => &mut self.no_member,
            DropReason::LinkDown => &mut self.link_down,
            DropReason::LinkLoss => &mut self.link_loss,
            DropReason::Purged => &mut self.purged,
            DropReason::UnknownAddress => &mut self.unknown_address,
            DropReason::ActiveQueue => &mut self.active_queue,
            DropReason::HopLimit => &mut self.hop_limit,
        }
    }
}

/// Counters and backlog of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReport {
    /// Packets whose transmission has begun.
    pub sent_packets: u64,
    /// Bytes that have left, including the transmitted part of the packet in service.
    pub carried_bytes: u64,
    /// Packets that were ECN-marked here.
    pub marked: u64,
    /// Packets that were dropped here.
    pub dropped: u64,
    /// Packets whose payload was cut off here.
    pub trimmed: u64,
    /// Largest number of bytes that have waited here.
    pub longest_backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
}

/// Totals of the whole fabric.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Books {
    pub injected: Count,
    pub copied: Count,
    pub delivered: Count,
    pub drops: DropCounts,
    pub trimmed: Count,
    pub returned: Count,
    pub hops: u64,
    pub events: u64,
    pub late: Lateness,
}
