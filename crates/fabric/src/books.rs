//! Totals of the fabric: packets injected, delivered, dropped, trimmed and returned.

use crate::output::Lateness;
use crate::queue::DropReason;

/// Number of packets, and number of their bytes on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Number of counted packets.
    pub packets: u64,
    /// Sum of the bytes of the counted packets on the wire.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Dropped packets, counted by the reason of the drop.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DropCounts {
    /// Packets for which the queue of a port had no space.
    pub queue_full: Count,
    /// Packets dropped because their port exceeded its share of a shared buffer.
    pub shared_buffer: Count,
    /// Headers and control packets for which the header queue of a port had no space.
    pub header_queue_full: Count,
    /// Packets at a switch with no port towards their destination.
    pub no_route: Count,
    /// Packets to a multicast group that all receivers had left.
    pub no_member: Count,
    /// Packets lost on a link that was down at their arrival time.
    /// No port counts a packet lost on a down link as dropped, because a port has sent the packet.
    pub link_down: Count,
    /// Packets that a link lost at random. No port counts these packets as dropped.
    pub link_loss: Count,
    /// Packets that a purging packet ([`Hints::purges`](crate::Hints::purges)) removed from a queue.
    pub purged: Count,
    /// Packets whose source is no host of the network, or whose destination is neither a host nor a group.
    pub unknown_address: Count,
    /// Packets that a discipline such as CoDel dropped from the head of a queue, because packets had waited too long.
    pub active_queue: Count,
    /// Packets that reached their hop limit (TTL). No port counts these packets as dropped.
    pub hop_limit: Count,
}

impl DropCounts {
    /// Returns the number of dropped packets and bytes for each reason of drops.
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

/// Counters of a port, and its backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReport {
    /// Packets that the port has begun to send.
    pub sent_packets: u64,
    /// Bytes that have left the port, including the transmitted part of the packet in service.
    pub carried_bytes: u64,
    /// Packets that this port has ECN-marked.
    pub marked: u64,
    /// Packets that this port has dropped.
    pub dropped: u64,
    /// Packets whose payload this port has cut off.
    pub trimmed: u64,
    /// Largest number of bytes that have waited at this port.
    pub longest_backlog_bytes: u64,
    /// Number of packets that wait now.
    pub backlog_packets: u32,
    /// Number of bytes that wait now.
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
