//! One-event port: the departure of a packet from a FIFO queue with a fixed rate is known at its arrival. So
//! the arrival at the next node is the only event. A test proves that it gives the same results as the
//! general port.
//!
//! The port stores only the sizes of waiting packets. Within a busy period packets leave without a gap, so
//! their times follow from the sizes. As at the general port, the packet in service is not a waiting packet.

use crate::packet::{Ecn, Packet};
use crate::port::{Backlog, Port, PortClass};
use crate::queue::{DropReason, DropTail};
use alloc::vec::Vec;

/// Rings of packet sizes of all one-event ports, in one arena.
#[derive(Debug, Default)]
pub(crate) struct Rings(Vec<u32>);

/// Bits of the length of a new ring: half a cache line, because most ports queue few packets.
const FIRST_RING_BITS: u8 = 3;

impl Rings {
    /// Creates a ring. Returns its place and the bits of its length.
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
        // The length of a ring is a power of two, so positions may wrap at 2^32.
        let mask = (1u32 << port.ring_bits) - 1;
        port.place as usize + (at & mask) as usize
    }

    /// Doubles the ring of a port. Its old place is not used again, which at most doubles the arena.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, port: &mut Port) {
        let old = *port;
        port.ring_bits += 1;
        port.place = self.extend(port.ring_bits);
        // The sizes are copied in order, so the new ring begins at its first place.
        port.waiting.head = 0;
        for i in 0..old.waiting.packets {
            let size = self.0[Self::index(&old, old.waiting.head.wrapping_add(i))];
            self.0[Self::index(port, i)] = size;
        }
    }
}

/// Result of an arrival at a one-event port.
pub(crate) enum Outcome {
    /// The packet arrives at the other end of the link at this time, in picoseconds.
    Arrives(u64),
    Dropped(DropReason),
}

/// Removes the packets whose service has begun by `now`.
#[inline]
fn drain(now_ps: u64, port: &mut Port, class: &PortClass, rings: &Rings) {
    if port.waiting.packets == 0 {
        return;
    }
    // The last packet has left, so every waiting packet has started before.
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
    // A packet that finds the link idle does not wait, and is never marked.
    if port.busy_until_ps > now_ps {
        if packet.ecn.is_markable()
            && queue.marks(port.waiting.packets, u64::from(port.waiting.bytes))
        {
            packet.ecn = Ecn::Marked;
            port.marked += 1;
        }
        // The counter has 32 bits, so that the port fits into one cache line.
        let Some(backlog_bytes) = port.waiting.bytes.checked_add(packet.size) else {
            return Outcome::Dropped(DropReason::QueueFull);
        };
        // The first waiting packet starts when the packet in service ends.
        if port.waiting.packets == 0 {
            port.head_starts_ps = port.busy_until_ps;
        }
        // The shift gives 0 until all `2^ring_bits` places are in use.
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

/// Returns the backlog at `now`.
pub(crate) fn backlog(now_ps: u64, port: &Port, class: &PortClass, rings: &Rings) -> Backlog {
    // A query must change nothing, so it works on a copy.
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
