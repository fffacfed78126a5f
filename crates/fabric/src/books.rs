//! The fabric's books: what went in, came out, was dropped, trimmed or returned.

use crate::output::Lateness;
use crate::queue::DropReason;

/// A count of packets and of their bytes on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Packets dropped, by reason.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DropCounts {
    /// A port's own queue was full.
    pub queue_full: Count,
    /// A port was over its share of a shared buffer.
    pub shared_buffer: Count,
    /// A port's queue of headers and control packets was full.
    pub header_queue_full: Count,
    /// No port led to the destination.
    pub no_route: Count,
    /// All members of a group that the packet was for had left it.
    pub no_member: Count,
    /// The link was down at whose far end the packet would have arrived. Not counted at any port,
    /// which did send it.
    pub link_down: Count,
    /// A link lost them at random. Not counted at any port.
    pub link_loss: Count,
    /// A packet that purges ([`Hints::purges`](crate::Hints::purges)) took them out of a queue.
    pub purged: Count,
    /// Their source or destination is no host of the network, nor a group.
    pub unknown_address: Count,
    /// A discipline dropped them on their way out, to say that the queue has stood too long.
    pub active_queue: Count,
    /// They had passed as many switches as they may. Not counted at any port.
    pub hop_limit: Count,
}

impl DropCounts {
    /// The counts with their reasons.
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

/// What a port has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReport {
    /// Packets whose transmission has begun.
    pub sent_packets: u64,
    /// Bytes that have left, the part of the packet in service that has gone included.
    pub carried_bytes: u64,
    /// Packets that were ECN-marked here.
    pub marked: u64,
    /// Packets that were dropped here.
    pub dropped: u64,
    /// Packets whose payload was cut off here.
    pub trimmed: u64,
    /// The most bytes that have waited here.
    pub longest_backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
}

/// Totals over the whole fabric.
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
