//! Port with one event per packet (one-event port).
//! The departure of a packet from a FIFO queue with a fixed rate is known when the packet arrives.
//! The arrival at the next node is therefore the only event.
//! A test shows that the results are the same as with the general port.
//!
//! The port stores only the sizes of waiting packets.
//! In a busy period, packets leave without gaps, so the sizes determine all times.
//! Like at the general port, the packet in service is not a waiting packet.

use crate::packet::{Ecn, Packet};
use crate::port::{Backlog, Port, PortClass};
use crate::queue::{DropReason, DropTail};
use alloc::vec::Vec;

/// Rings with the packet sizes of all one-event ports, in one vector.
#[derive(Debug, Default)]
pub(crate) struct Rings(Vec<u32>);

/// Length of a new ring, as an exponent of two. Most ports queue a few packets, so this ring fills half a cache line.
const FIRST_RING_BITS: u8 = 3;

impl Rings {
    /// Creates a ring. Returns the position of the ring in the vector, and the length as a power of two.
    pub fn allocate(&mut self) -> (u32, u8) {
        (self.extend(FIRST_RING_BITS), FIRST_RING_BITS)
    }

    fn extend(&mut self, bits: u8) -> u32 {
        let place = self.0.len();
        self.0.resize(place + (1 << bits), 0);
        u32::try_from(place).expect("fewer than 2^32 packets wait")
    }

    #[inline]
    fn index(port: &Port, at: u32) -> usize {
        // The length of a ring is a power of two, so a position may overflow at 2^32 without an error.
        let mask = (1u32 << port.ring_bits) - 1;
        port.place as usize + (at & mask) as usize
    }

    /// Doubles the ring of a port. The old ring is not reused. Old rings can at most double the size of the vector.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, port: &mut Port) {
        let old = *port;
        port.ring_bits += 1;
        port.place = self.extend(port.ring_bits);
        // The sizes are copied in order, so the head of the new ring is at position 0.
        port.waiting.head = 0;
        for i in 0..old.waiting.packets {
            let size = self.0[Self::index(&old, old.waiting.head.wrapping_add(i))];
            self.0[Self::index(port, i)] = size;
        }
    }
}

/// Result of a packet's arrival at a one-event port.
pub(crate) enum Outcome {
    /// The packet arrives at the other end of the link. The value is the arrival time in picoseconds.
    Arrives(u64),
    Dropped(DropReason),
}

/// Removes all waiting packets whose service has begun by `now`.
#[inline]
fn drain(now_ps: u64, port: &mut Port, class: &PortClass, rings: &Rings) {
    if port.waiting.packets == 0 {
        return;
    }
    // The port is idle at `now`, so the service of every waiting packet has begun.
    if port.busy_until_ps <= now_ps {
        port.waiting.packets = 0;
        port.waiting.bytes = 0;
        return;
    }
    while port.waiting.packets > 0 && port.head_starts_ps <= now_ps {
        let size = rings.0[Rings::index(port, port.waiting.head)];
        port.waiting.head = port.waiting.head.wrapping_add(1);
        port.waiting.packets -= 1;
        port.waiting.bytes -= size;
        port.head_starts_ps += class.serialisation_ps(size);
    }
}

/// Handles a packet that arrives at the port.
#[inline]
pub(crate) fn arrive(
    now_ps: u64,
    port: &mut Port,
    class: &PortClass,
    queue: &DropTail,
    rings: &mut Rings,
    packet: &mut Packet,
) -> Outcome {
    drain(now_ps, port, class, rings);
    if queue.is_full(
        port.waiting.packets,
        u64::from(port.waiting.bytes),
        packet.size,
    ) {
        return Outcome::Dropped(DropReason::QueueFull);
    }
    let service = class.serialisation_ps(packet.size);
    // On an idle link, the packet does not wait and is never marked.
    if port.busy_until_ps > now_ps {
        if packet.ecn.is_markable()
            && queue.marks(port.waiting.packets, u64::from(port.waiting.bytes))
        {
            packet.ecn = Ecn::Marked;
            port.marked += 1;
        }
        // The number of waiting bytes has only 32 bits, so that the port fits into one cache line.
        let Some(backlog_bytes) = port.waiting.bytes.checked_add(packet.size) else {
            return Outcome::Dropped(DropReason::QueueFull);
        };
        // The service of the first waiting packet begins when the packet in service ends.
        if port.waiting.packets == 0 {
            port.head_starts_ps = port.busy_until_ps;
        }
        // The result of the shift is 0 while the ring has a free position.
        if port.waiting.packets >> port.ring_bits != 0 {
            rings.grow(port);
        }
        rings.0[Rings::index(port, port.waiting.head.wrapping_add(port.waiting.packets))] =
            packet.size;
        port.waiting.packets += 1;
        port.waiting.bytes = backlog_bytes;
        port.longest_backlog = port.longest_backlog.max(backlog_bytes);
        port.busy_until_ps += service;
    } else {
        port.busy_until_ps = now_ps + service;
    }
    port.transmitted_packets += 1;
    port.transmitted_bytes += u64::from(packet.size);
    Outcome::Arrives(port.busy_until_ps + class.delay_ps)
}

/// Returns the backlog of a port at `now`.
pub(crate) fn backlog(now_ps: u64, port: &Port, class: &PortClass, rings: &Rings) -> Backlog {
    // The function works on a copy, because a query must not change the port.
    let mut port = *port;
    drain(now_ps, &mut port, class, rings);
    Backlog {
        packets: port.waiting.packets,
        bytes: u64::from(port.waiting.bytes),
        service_ends_ps: if port.waiting.packets > 0 {
            port.head_starts_ps
        } else {
            port.busy_until_ps
        },
    }
}
