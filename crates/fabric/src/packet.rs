//! Packets and the pool they live in.

use alloc::vec::Vec;
pub use tailcut_units::Ecn;
use tailcut_units::HostId;

/// A packet's part in the handshake that begins a connection, for switches that choose a flow's path
/// on it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Handshake {
    /// None: data, acknowledgments, and every packet of a transport without handshakes.
    #[default]
    None = 0,
    /// It asks for a connection (a SYN).
    Open = 1,
    /// It answers one that asked (a SYN-ACK).
    Answer = 2,
}

/// What switches may know of a packet. 32 bytes, so that two share a cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Hash of the five-tuple; switches mix their own seed into it.
    pub flow_hash: u32,
    /// Bytes of line time: the frame with its check sequence, and preamble and gap. What links, limits and
    /// counts go by. A driver that carries real frames adds what these lack: on Ethernet 24 bytes to a
    /// frame as a TAP gives it, and 84 in all at least. Switches change it: trimming leaves
    /// `trimmed_size`, and what Expeditus adds between switches is gone before the packet comes out.
    pub size: u32,
    /// Priority class, 0 is the highest.
    pub priority: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The equal-cost path a trace pins the packet to; `u16::MAX` for none.
    pub path: u16,
    /// Bytes of line time that remain when the payload is cut off, counted as `size` is; 0 when the packet
    /// may not be trimmed. These are headers, which are far below 65,535 bytes in any frame.
    pub trimmed_size: u16,
    /// Whether a switch has cut the payload off.
    pub trimmed: bool,
    /// Whether a switch has sent the packet back to its sender.
    pub returned: bool,
    /// Link transmissions so far, the host's own included.
    pub hops: u8,
    /// The TTL with which its host sent it, in a network whose switches are routers: the switch that this
    /// many links lead to drops it ([`DropReason::HopLimit`](crate::queue::DropReason)), as a router does
    /// that gets a TTL of 1. 0: switches do not look. Packets to groups are not looked at.
    pub hop_limit: u8,
    /// The packet's part in a handshake.
    pub handshake: Handshake,
    /// A rank for disciplines that order by it (pFabric: bytes that remain); lower goes first.
    pub rank: u32,
}

impl Packet {
    /// The value of `path` that leaves the choice to the switches.
    pub const ANY_PATH: u16 = u16::MAX;

    /// Whether there is a payload that can be cut off.
    pub const fn is_trimmable(&self) -> bool {
        self.trimmed_size > 0 && !self.trimmed && self.size > self.trimmed_size as u32
    }

    /// Cuts the payload off and gives the number of bytes cut.
    pub fn trim(&mut self) -> u32 {
        let cut = self.size.saturating_sub(u32::from(self.trimmed_size));
        self.size -= cut;
        self.trimmed = true;
        cut
    }

    /// A switch puts bytes before the packet's headers.
    pub(crate) fn add_headers(&mut self, bytes: u16) {
        self.size += u32::from(bytes);
        if self.trimmed_size > 0 {
            self.trimmed_size = self.trimmed_size.saturating_add(bytes);
        }
    }

    /// Takes such bytes off again.
    pub(crate) fn remove_headers(&mut self, bytes: u16) {
        self.size -= u32::from(bytes);
        self.trimmed_size = self.trimmed_size.saturating_sub(bytes);
    }

    /// Whether two packets belong to one flow, as far as their headers tell.
    pub fn same_flow(&self, other: &Self) -> bool {
        self.flow_hash == other.flow_hash && self.src == other.src && self.dst == other.dst
    }
}

/// A packet's place in the pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId(pub u32);

/// All packets in the network: headers that every hop touches apart from the bodies that only the
/// two ends do. Slots are reused last in, first out, so that the hot ones stay in the cache.
#[derive(Debug)]
pub struct Packets<B> {
    headers: Vec<Packet>,
    bodies: Vec<Option<B>>,
    free: Vec<u32>,
}

impl<B: Clone> Packets<B> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self {
            headers: Vec::new(),
            bodies: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts a packet in.
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

    /// Takes a packet out and gives its body; `None` where its place is empty.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Option<B> {
        let body = self.bodies.get_mut(id.0 as usize)?;
        if body.is_some() {
            self.free.push(id.0);
        }
        body.take()
    }

    /// Puts a copy of a packet in; `None` where its place is empty.
    pub(crate) fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let body = self.bodies.get(id.0 as usize)?.clone()?;
        let packet = self.headers[id.0 as usize];
        Some(self.insert(packet, body))
    }

    /// The packets in the network now.
    pub fn live(&self) -> usize {
        self.headers.len() - self.free.len()
    }

    /// The headers, for queue disciplines.
    pub fn headers(&mut self) -> &mut [Packet] {
        &mut self.headers
    }

    /// A packet and its body, for those who look on; `None` where its place is empty.
    #[inline]
    pub fn seen(&self, id: PacketId) -> Option<(&Packet, &B)> {
        let body = self.bodies.get(id.0 as usize)?.as_ref()?;
        Some((&self.headers[id.0 as usize], body))
    }

    /// One packet's header, to read.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.headers[id.0 as usize]
    }

    /// One packet's header.
    pub fn header(&mut self, id: PacketId) -> &mut Packet {
        &mut self.headers[id.0 as usize]
    }

    /// Asks the processor to load a packet's header, if there is such a slot.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) {
        prefetch(&self.headers, id.0 as usize);
    }

    /// Asks the processor to load a packet's body, if there is such a slot.
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

/// A hint to the processor; no effect on any result. Elsewhere than on x86-64 it does nothing.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing architecturally: it cannot
        // fault whatever the address, which here is that of a live element anyway.
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
