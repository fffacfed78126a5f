//! Counters and backlogs of the fabric and its ports.

use super::{ARRIVAL, Fabric};
use crate::books::{Count, DropCounts, PortReport};
use crate::observer::Observer;
use crate::output::Lateness;
use crate::packet::PacketId;
use crate::port::PortId;
use tailcut_units::{Duration, Rate, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Returns the counters of a port at time `now`, and its backlog.
    pub fn port_report(&self, now: Time, port: PortId) -> PortReport {
        let number = port.0;
        let port = &self.network.ports[number as usize];
        let class = self.network.class(port);
        let backlog = self.network.backlog(now, number);
        // A port with one event per packet counts a packet as sent when it arrives, so waiting packets are subtracted.
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
            // `bytes_left` rounds up, so it may exceed the bytes of the packet in service.
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

    /// Counts the packets on links and in queues one by one, and changes nothing.
    /// A test can compare the sum of the packets with the counters of injected, delivered and dropped packets.
    pub fn count_remaining(&self) -> Count {
        let mut count = Count::default();
        let links = self.network.ports.len() as u32;
        self.engine.for_each(|event| {
            let link = self.engine.number(event);
            // Packets at the outlet are already counted as dropped.
            if event.entity() >= ARRIVAL && link < links {
                count.add(self.packets.get(PacketId(event.payload())).size);
            }
        });
        for id in self.edge.ahead() {
            count.add(self.packets.get(id).size);
        }
        for general in &self.network.generals {
            count.packets += u64::from(general.queue.backlog_packets());
            count.bytes += general.queue.backlog_bytes();
        }
        // Headers that switches have added are not counted, because they were not injected.
        count.bytes -= self
            .chooser
            .as_ref()
            .map_or(0, |chooser| chooser.attached_bytes());
        count
    }

    /// Returns the number of ports. Ports are numbered from 0 in the order of the topology's links.
    pub fn port_count(&self) -> u32 {
        self.network.ports.len() as u32
    }
    /// Returns the packets injected so far.
    pub const fn injected(&self) -> Count {
        self.books.injected
    }
    /// Returns the number of copies that switches have made of multicast packets so far. Originals are not counted.
    pub const fn copied(&self) -> Count {
        self.books.copied
    }
    /// Returns the packets delivered to hosts so far.
    pub const fn delivered(&self) -> Count {
        self.books.delivered
    }
    /// Returns the packets dropped so far.
    pub const fn drops(&self) -> DropCounts {
        self.books.drops
    }
    /// Returns the number of packets in queues and on links.
    pub fn in_network(&self) -> u64 {
        (self.packets.live() - self.edge.dropped()) as u64
    }
    /// Returns how many packets were injected too late, and by how much.
    pub const fn lateness(&self) -> Lateness {
        self.books.late
    }
    /// Returns the number of packets that were trimmed so far, and the number of removed bytes.
    pub const fn trimmed(&self) -> Count {
        self.books.trimmed
    }
    /// Returns the packets that were returned to their sender so far.
    pub const fn returned(&self) -> Count {
        self.books.returned
    }
    /// Returns the number of link transmissions so far, including the hosts' own links.
    pub const fn packet_hops(&self) -> u64 {
        self.books.hops
    }
    /// Returns the number of events that were processed so far.
    pub const fn events(&self) -> u64 {
        self.books.events
    }
}

/// Returns the bytes that a service sends in the remaining time `left`.
/// The number is rounded up, so that a byte counts as sent only when it has completely left.
fn bytes_left(rate: Rate, left: Duration) -> u64 {
    let whole = rate.bytes_in(left);
    whole + u64::from(rate.serialisation(whole) < left)
}
