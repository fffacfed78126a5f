//! The one-event port: a FIFO queue at a fixed rate knows a packet's departure when it arrives, so
//! the arrival at the next node is the only event. Proved equal to the general port by test.
//!
//! The packets that wait are known by size alone: within a busy period one follows the other without
//! a gap, so the times follow from the sizes. The packet in service is not among them, as at the
//! general port.

use crate::packet::{Ecn, Packet};
use crate::port::{Backlog, Port, PortClass};
use crate::queue::{DropReason, DropTail};
use alloc::vec::Vec;

/// The rings of sizes of all one-event ports, in one arena.
#[derive(Debug, Default)]
pub(crate) struct Rings(Vec<u32>);

/// Sizes that a new ring holds: half a cache line, since most ports queue little.
const FIRST_RING_BITS: u8 = 3;

impl Rings {
    /// A new ring's place and the bits of its length.
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
        let mask = (1u32 << port.ring_bits) - 1;
        port.place as usize + (at & mask) as usize
    }

    /// Doubles a port's ring; its old place is not used again, which at most doubles the arena.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, port: &mut Port) {
        let old = *port;
        port.ring_bits += 1;
        port.place = self.extend(port.ring_bits);
        port.waiting.head = 0;
        for i in 0..old.waiting.packets {
            let size = self.0[Self::index(&old, old.waiting.head.wrapping_add(i))];
            self.0[Self::index(port, i)] = size;
        }
    }
}

/// What became of a packet at a one-event port.
pub(crate) enum Outcome {
    /// It arrives at the other end of the link then.
    Arrives(u64),
    Dropped(DropReason),
}

/// Forgets the packets whose service has begun by `now`.
#[inline]
fn drain(now_ps: u64, port: &mut Port, class: &PortClass, rings: &Rings) {
    if port.waiting.packets == 0 {
        return;
    }
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

/// A packet reaches the port.
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
    if port.busy_until_ps > now_ps {
        if packet.ecn.is_markable()
            && queue.marks(port.waiting.packets, u64::from(port.waiting.bytes))
        {
            packet.ecn = Ecn::Marked;
            port.marked += 1;
        }
        let Some(backlog_bytes) = port.waiting.bytes.checked_add(packet.size) else {
            return Outcome::Dropped(DropReason::QueueFull);
        };
        if port.waiting.packets == 0 {
            port.head_starts_ps = port.busy_until_ps;
        }
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

/// What waits at `now`.
pub(crate) fn backlog(now_ps: u64, port: &Port, class: &PortClass, rings: &Rings) -> Backlog {
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
