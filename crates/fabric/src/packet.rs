//! Packets, and the pool that stores them.

use alloc::vec::Vec;
pub use tailcut_units::Ecn;
use tailcut_units::{HostId, prefetch, prefetch_whole};

/// Role of a packet in the handshake of a connection. Some switches choose the path of a flow during its handshake.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Handshake {
    /// No role: data, acknowledgments, and every packet of a transport without handshakes.
    #[default]
    None = 0,
    /// The packet requests a connection (SYN).
    Open = 1,
    /// The packet accepts a connection (SYN-ACK).
    Answer = 2,
}

/// Header of a packet that switches can read. It has 32 bytes, so two headers fit into a cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Hash of the five-tuple. Each switch mixes its own seed into it.
    pub flow_hash: u32,
    /// Bytes of line time: the frame with its check sequence, preamble and gap.
    /// Links, limits and counters use this size of a packet.
    ///
    /// A driver with real frames must add the missing parts.
    /// On Ethernet, a frame from a TAP device needs 24 more bytes, and at least 84 bytes in total.
    /// Switches change the size. Trimming reduces it to `trimmed_size`.
    /// Expeditus adds headers between switches, and removes them before the packet leaves the network.
    pub size: u32,
    /// Priority class. 0 is the highest.
    pub priority: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Number of the equal-cost path to which a trace pins the packet. `u16::MAX` means no pinned path.
    pub path: u16,
    /// Bytes of line time that remain after trimming, in the same unit as `size`. 16 bits are enough for headers.
    /// 0 means that the packet must not be trimmed.
    pub trimmed_size: u16,
    /// Whether a switch has cut off the payload.
    pub trimmed: bool,
    /// Whether a switch has returned the packet to its sender.
    pub returned: bool,
    /// Number of links that the packet has passed so far, including its host's own link.
    pub hops: u8,
    /// TTL with which the host sent the packet, if the switches of the network are routers.
    /// 0 means that switches do not check the TTL.
    /// If the limit is n, the switch after the n-th link drops the packet ([`HopLimit`](crate::queue::DropReason)).
    /// A router does the same with a packet that it receives with a TTL of 1.
    /// Packets to groups are never checked.
    pub hop_limit: u8,
    /// Role of the packet in a handshake.
    pub handshake: Handshake,
    /// Rank of the packet. Some disciplines send the packet with the lowest rank first.
    /// In pFabric, the rank is the number of remaining bytes of the flow.
    pub rank: u32,
}

impl Packet {
    /// Value of `path` for packets whose path the switches choose.
    pub const ANY_PATH: u16 = u16::MAX;

    /// Returns whether the packet has a payload that a switch may cut off.
    pub const fn is_trimmable(&self) -> bool {
        self.trimmed_size > 0 && !self.trimmed && self.size > self.trimmed_size as u32
    }

    /// Cuts off the payload and returns the number of removed bytes.
    pub fn trim(&mut self) -> u32 {
        // A custom discipline may call this function for any packet, so the difference must not underflow.
        let cut = self.size.saturating_sub(u32::from(self.trimmed_size));
        self.size -= cut;
        self.trimmed = true;
        cut
    }

    /// Adds the size of headers that a switch puts before the packet's own headers.
    pub(crate) fn add_headers(&mut self, bytes: u16) {
        self.size += u32::from(bytes);
        if self.trimmed_size > 0 {
            // The added headers remain if the payload is cut off.
            self.trimmed_size = self.trimmed_size.saturating_add(bytes);
        }
    }

    /// Removes the size of headers that `add_headers` added.
    pub(crate) fn remove_headers(&mut self, bytes: u16) {
        self.size -= u32::from(bytes);
        self.trimmed_size = self.trimmed_size.saturating_sub(bytes);
    }

    /// Returns whether two packets belong to the same flow. Only their headers are compared.
    pub fn same_flow(&self, other: &Self) -> bool {
        self.flow_hash == other.flow_hash && self.src == other.src && self.dst == other.dst
    }
}

/// Index of a packet in the pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketId(pub u32);

/// Pool of all packets in the network.
/// Every hop uses headers, but only the two ends use bodies, so they are stored separately.
/// The slot that was freed last is used first, so that used slots stay in the cache.
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

    /// Adds a packet and returns its slot.
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

    /// Removes a packet and returns its body. Returns `None` if the slot is empty.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Option<B> {
        let body = self.bodies.get_mut(id.0 as usize)?;
        if body.is_some() {
            self.free.push(id.0);
        }
        body.take()
    }

    /// Adds a copy of a packet and returns its slot. Returns `None` if the slot of the packet is empty.
    pub(crate) fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let body = self.bodies.get(id.0 as usize)?.clone()?;
        let packet = self.headers[id.0 as usize];
        Some(self.insert(packet, body))
    }

    /// Returns the number of packets in the network.
    pub fn live(&self) -> usize {
        self.headers.len() - self.free.len()
    }

    /// Returns the headers of all slots for writing. Queue disciplines use them.
    pub fn headers(&mut self) -> &mut [Packet] {
        &mut self.headers
    }

    /// Returns the headers of all slots for reading. The index is the packet's id.
    #[inline]
    pub fn all(&self) -> &[Packet] {
        &self.headers
    }

    /// Returns the header and the body of a packet for an observer. Returns `None` if the slot is empty.
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
        prefetch_whole(&self.bodies, id.0 as usize);
    }
}

impl<B: Clone> Default for Packets<B> {
    fn default() -> Self {
        Self::new()
    }
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
