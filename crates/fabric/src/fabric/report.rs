//! What the fabric and its ports have done so far and hold.

use super::{ARRIVAL, ENTRY, Fabric};
use crate::books::{Count, DropCounts, PortReport};
use crate::observer::Observer;
use crate::output::Lateness;
use crate::packet::PacketId;
use crate::port::PortId;
use tailcut_units::{Duration, Rate, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// What a port has done so far and holds at `now`.
    pub fn port_report(&self, now: Time, port: PortId) -> PortReport {
        let number = port.0;
        let port = &self.network.ports[number as usize];
        let class = self.network.class(port);
        let backlog = self.network.backlog(now, number);
        // A one-event port has already counted what still waits.
        let (waiting, waiting_bytes) = match class.drop_tail {
            Some(_) => (backlog.packets, backlog.bytes),
            None => (0, 0),
        };
        let left = Duration::from_ps(backlog.service_ends_ps.saturating_sub(now.as_ps()));
        let begun_at = self.links.rate_in_service(number, port);
        let rate = begun_at.unwrap_or(class.rate);
        let begun_bytes = port.transmitted_bytes - waiting_bytes;
        PortReport {
            sent_packets: port.transmitted_packets - u64::from(waiting),
            carried_bytes: begun_bytes - bytes_left(rate, left).min(begun_bytes),
            marked: port.marked,
            dropped: self.network.dropped[number as usize],
            trimmed: match class.drop_tail {
                Some(_) => 0,
                None => self.network.generals[port.place as usize].trimmed,
            },
            longest_backlog_bytes: u64::from(port.longest_backlog),
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
        }
    }

    /// Counts what is on links and in queues, one by one, so that the books can be balanced against what
    /// was injected, delivered and dropped. Changes nothing.
    pub fn count_remaining(&self) -> Count {
        let mut count = Count::default();
        let links = self.network.ports.len() as u32;
        self.engine.for_each(|event| {
            let link = event.entity() ^ ARRIVAL;
            if link < links || link == links + ENTRY {
                count.add(self.packets.get(PacketId(event.payload())).size);
            }
        });
        for general in &self.network.generals {
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
        self.network.ports.len() as u32
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
        (self.packets.live() - self.edge.dropped()) as u64
    }
    /// Packets that were injected too late.
    pub const fn lateness(&self) -> Lateness {
        self.books.late
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
