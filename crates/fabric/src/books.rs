//! The fabric's books: what went in, came out, was dropped, trimmed or returned, and what each port
//! has done and holds.

use crate::fabric::{ARRIVAL, Fabric};
use crate::fifo::{self, Rings};
use crate::general::General;
use crate::packet::PacketId;
use crate::port::{Backlog, Port, PortClass, PortId};
use crate::queue::DropReason;
use tailcut_units::{Duration, Rate, Time};

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
    /// A purge ([`Fabric::purge_in_passing`]) took them out of a queue.
    pub purged: Count,
}

impl DropCounts {
    pub(crate) const fn count(&mut self, reason: DropReason) -> &mut Count {
        match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::SharedBuffer => &mut self.shared_buffer,
            DropReason::HeaderQueueFull => &mut self.header_queue_full,
            DropReason::NoRoute => &mut self.no_route,
            DropReason::NoMember => &mut self.no_member,
            DropReason::LinkDown => &mut self.link_down,
            DropReason::Purged => &mut self.purged,
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

/// How long a packet waited at a port before its service began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The port, numbered over the fabric.
    pub port: u32,
    /// The wait, service not included.
    pub wait: Duration,
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
}

impl<B: Copy> Fabric<B> {
    /// What a port has done so far and holds at `now`.
    pub fn port_report(&self, now: Time, port: PortId) -> PortReport {
        let number = port.0;
        let port = &self.ports[number as usize];
        let class = &self.classes[usize::from(port.class)];
        let backlog = backlog_of(now, port, class, &self.rings, &self.generals);
        // A one-event port has already counted what still waits.
        let (waiting, waiting_bytes) = match class.drop_tail {
            Some(_) => (backlog.packets, backlog.bytes),
            None => (0, 0),
        };
        let left = Duration::from_ps(backlog.service_ends_ps.saturating_sub(now.as_ps()));
        let faults = self.faults.as_ref();
        let begun_at = faults.and_then(|faults| faults.rate_in_service(number, port));
        let rate = begun_at.unwrap_or(class.rate);
        let begun_bytes = port.transmitted_bytes - waiting_bytes;
        PortReport {
            sent_packets: port.transmitted_packets - u64::from(waiting),
            carried_bytes: begun_bytes - bytes_left(rate, left).min(begun_bytes),
            marked: u64::from(port.marked),
            dropped: u64::from(port.dropped),
            trimmed: match class.drop_tail {
                Some(_) => 0,
                None => u64::from(self.generals[port.place as usize].trimmed),
            },
            longest_backlog_bytes: u64::from(port.longest_backlog),
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
        }
    }

    /// Ends the run: counts what is on links and in queues, one by one, so that the books can be
    /// balanced against what was injected, delivered and dropped.
    pub fn count_remaining(&mut self) -> Count {
        let mut count = Count::default();
        while let Some(event) = self.engine.pop_until(Time::MAX) {
            if event.entity() & ARRIVAL != 0 && !self.is_change(&event) {
                count.add(self.packets.header(PacketId(event.payload())).size);
            }
        }
        for general in &self.generals {
            count.packets += u64::from(general.queue.backlog_packets());
            count.bytes += general.queue.backlog_bytes();
        }
        // What switches have put on packets was never injected.
        count.bytes -= self
            .chooser
            .as_ref()
            .map_or(0, |chooser| chooser.attached_bytes());
        count
    }

    /// Ports of the fabric, numbered from 0 in the order of the topology's links.
    pub fn port_count(&self) -> u32 {
        self.ports.len() as u32
    }
    /// Packets injected so far.
    pub const fn injected(&self) -> Count {
        self.books.injected
    }
    /// Copies that switches have made of multicast packets so far, beyond the packet itself.
    pub const fn copied(&self) -> Count {
        self.books.copied
    }
    /// Packets delivered to hosts so far.
    pub const fn delivered(&self) -> Count {
        self.books.delivered
    }
    /// Packets dropped so far.
    pub const fn drops(&self) -> DropCounts {
        self.books.drops
    }
    /// Packets in queues and on links.
    pub fn in_network(&self) -> u64 {
        self.packets.live() as u64
    }
    /// Packets whose payload was cut off so far, and the bytes that were cut.
    pub const fn trimmed(&self) -> Count {
        self.books.trimmed
    }
    /// Packets that went back to their sender so far, and their bytes.
    pub const fn returned(&self) -> Count {
        self.books.returned
    }
    /// Link transmissions so far, the hosts' own included.
    pub const fn packet_hops(&self) -> u64 {
        self.books.hops
    }
    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.books.events
    }
}

/// The bytes that `left` more of service sends, rounded up, so that none counts before it has gone.
fn bytes_left(rate: Rate, left: Duration) -> u64 {
    let whole = rate.bytes_in(left);
    whole + u64::from(rate.serialisation(whole) < left)
}

/// What waits at a port at `now`.
pub(crate) fn backlog_of(
    now: Time,
    port: &Port,
    class: &PortClass,
    rings: &Rings,
    generals: &[General],
) -> Backlog {
    if class.drop_tail.is_some() {
        return fifo::backlog(now.as_ps(), port, class, rings);
    }
    let queue = &generals[port.place as usize].queue;
    Backlog {
        packets: queue.backlog_packets(),
        bytes: queue.backlog_bytes(),
        service_ends_ps: port.busy_until_ps,
    }
}
