//! Packets, and the pool that stores them.

use alloc::vec::Vec;
pub use tailcut_units::Ecn;
use tailcut_units::HostId;

/// Part of a packet in the handshake of a connection, for switches that choose the path of a flow during its
/// handshake.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Handshake {
    /// No part: data, acknowledgments, and every packet of a transport without handshakes.
    #[default]
    None = 0,
    /// The packet requests a connection (SYN).
    Open = 1,
    /// The packet answers a request (SYN-ACK).
    Answer = 2,
}

/// Header of a packet as switches see it: 32 bytes, so that two headers share a cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Hash of the five-tuple. Switches mix it with their own seed.
    pub flow_hash: u32,
    /// Bytes of line time: the frame with its check sequence, preamble and gap. Links, limits and counters
    /// use this size. A driver that carries real frames must add the missing parts: on Ethernet 24 bytes for
    /// a frame from a TAP device, and at least 84 bytes in total. Switches change the size: trimming reduces
    /// it to `trimmed_size`, and the headers that Expeditus adds between switches are removed before the
    /// packet leaves the network.
    pub size: u32,
    /// Priority class; 0 is the highest.
    pub priority: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Equal-cost path to which a trace pins the packet; `u16::MAX` for none.
    pub path: u16,
    /// Bytes of line time that remain after trimming, counted like `size`; 0 if the packet must not be
    /// trimmed. They are headers, which are far below 65,535 bytes in any frame.
    pub trimmed_size: u16,
    /// Whether a switch has cut off the payload.
    pub trimmed: bool,
    /// Whether a switch has returned the packet to its sender.
    pub returned: bool,
    /// Number of links passed so far, including the host's own link.
    pub hops: u8,
    /// TTL with which the host sent the packet, if the switches of the network are routers. The switch at the
    /// end of this many links drops the packet ([`DropReason::HopLimit`](crate::queue::DropReason)), as a
    /// router drops a packet with a TTL of 1. 0: switches do not check the TTL. Packets to groups are not
    /// checked.
    pub hop_limit: u8,
    /// Part of the packet in a handshake.
    pub handshake: Handshake,
    /// Rank for disciplines that order by rank: the lowest rank leaves first. For pFabric it is the number of
    /// remaining bytes.
    pub rank: u32,
}

impl Packet {
    /// Value of `path` with which the switches choose the path.
    pub const ANY_PATH: u16 = u16::MAX;

    /// Returns whether the packet has a payload that may be cut off.
    pub const fn is_trimmable(&self) -> bool {
        self.trimmed_size > 0 && !self.trimmed && self.size > self.trimmed_size as u32
    }

    /// Cuts off the payload and returns the number of removed bytes.
    pub fn trim(&mut self) -> u32 {
        // A custom discipline may call this for any packet, so the difference must not wrap.
        let cut = self.size.saturating_sub(u32::from(self.trimmed_size));
        self.size -= cut;
        self.trimmed = true;
        cut
    }

    /// Adds headers of this many bytes, which a switch puts before the packet's own.
    pub(crate) fn add_headers(&mut self, bytes: u16) {
        self.size += u32::from(bytes);
        if self.trimmed_size > 0 {
            // The added headers remain when the payload is cut off.
            self.trimmed_size = self.trimmed_size.saturating_add(bytes);
        }
    }

    /// Removes headers that `add_headers` added.
    pub(crate) fn remove_headers(&mut self, bytes: u16) {
        self.size -= u32::from(bytes);
        self.trimmed_size = self.trimmed_size.saturating_sub(bytes);
    }

    /// Returns whether two packets belong to the same flow, according to their headers.
    pub fn same_flow(&self, other: &Self) -> bool {
        self.flow_hash == other.flow_hash && self.src == other.src && self.dst == other.dst
    }
}

/// Index of a packet in the pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId(pub u32);

/// Pool of all packets in the network. Headers, which every hop uses, are stored apart from bodies, which
/// only the two ends use. The last freed slot is used first, so that the slots in use stay in the cache.
#[derive(Debug)]
pub struct Packets<B> {
    headers: Vec<Packet>,
    bodies: Vec<Option<B>>,
    free: Vec<u32>,
}

impl<B: Clone> Packets<B> {
    /// Creates an empty pool.
    pub const fn new() -> Self {
        Self {
            headers: Vec::new(),
            bodies: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a packet.
    pub fn insert(&mut self, packet: Packet, body: B) -> PacketId {
        if let Some(slot) = self.free.pop() {
            self.headers[slot as usize] = packet;
            self.bodies[slot as usize] = Some(body);
            PacketId(slot)
        } else {
            let slot =
                u32::try_from(self.headers.len()).expect("fewer than 2^32 packets in flight");
            self.headers.push(packet);
            self.bodies.push(Some(body));
            PacketId(slot)
        }
    }

    /// Removes a packet and returns its body; `None` if the slot is empty.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Option<B> {
        let body = self.bodies.get_mut(id.0 as usize)?;
        if body.is_some() {
            self.free.push(id.0);
        }
        body.take()
    }

    /// Adds a copy of a packet; `None` if the slot is empty.
    pub(crate) fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let body = self.bodies.get(id.0 as usize)?.clone()?;
        let packet = self.headers[id.0 as usize];
        Some(self.insert(packet, body))
    }

    /// Returns the number of packets in the network.
    pub fn live(&self) -> usize {
        self.headers.len() - self.free.len()
    }

    /// Returns all headers, for queue disciplines.
    pub fn headers(&mut self) -> &mut [Packet] {
        &mut self.headers
    }

    /// Returns all headers by id, for reading.
    #[inline]
    pub fn all(&self) -> &[Packet] {
        &self.headers
    }

    /// Returns a packet and its body, for observers; `None` if the slot is empty.
    #[inline]
    pub fn seen(&self, id: PacketId) -> Option<(&Packet, &B)> {
        let body = self.bodies.get(id.0 as usize)?.as_ref()?;
        Some((&self.headers[id.0 as usize], body))
    }

    /// Returns the header of one packet for reading.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.headers[id.0 as usize]
    }

    /// Returns the header of one packet for writing.
    pub fn header(&mut self, id: PacketId) -> &mut Packet {
        &mut self.headers[id.0 as usize]
    }

    /// Prefetches a packet's header, if the slot exists.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) {
        prefetch(&self.headers, id.0 as usize);
    }

    /// Prefetches a packet's body, if the slot exists.
    #[inline]
    pub(crate) fn prefetch_body(&self, id: PacketId) {
        prefetch(&self.bodies, id.0 as usize);
    }
}

impl<B: Clone> Default for Packets<B> {
    fn default() -> Self {
        Self::new()
    }
}

/// Prefetches an item of a slice into the cache. It is a hint and never changes a result. It has no effect on
/// processors other than x86-64.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        // SAFETY: SSE is part of x86-64. A prefetch reads nothing architecturally, so it cannot fault at any
        // address, and here the address is the address of a live element.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
                core::ptr::from_ref(item).cast(),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_share_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn a_slot_is_reused_and_live_counts_what_is_in() {
        let mut packets = Packets::new();
        let a = packets.insert(Packet::default(), 'a');
        let b = packets.insert(Packet::default(), 'b');
        assert_eq!(packets.live(), 2);
        assert_eq!(packets.remove(a), Some('a'));
        let c = packets.insert(Packet::default(), 'c');
        assert_eq!(c, a, "the slot just freed");
        assert_eq!(packets.remove(b), Some('b'));
        assert_eq!(packets.live(), 1);
    }
}
