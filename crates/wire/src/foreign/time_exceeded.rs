//! Answer of a router to a packet whose TTL has expired: the ICMP message "time exceeded".
//! Sources: RFC 792; RFC 1812, 4.3 and 5.3.1; RFC 1122, 3.2.2.

use super::view::{Content, IcmpKind, View};
use crate::checksum::{add, finish};
use core::net::{IpAddr, Ipv4Addr};
use etherparse::LaxSlicedPacket;

/// Length in bytes of the longest frame that [`time_exceeded`] writes.
/// The longest frame has an Ethernet header and an IP packet of 576 bytes (RFC 1812, 4.3.2.3).
pub const LONGEST_TIME_EXCEEDED: usize = ETHERNET + 576;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const ICMP: usize = 8;
/// Traffic class of the message: precedence 6, internetwork control (RFC 1812, 4.3.2.5).
const TRAFFIC_CLASS: u8 = 48 << 2;
const TTL: u8 = 64;
const TYPE_TIME_EXCEEDED: u8 = 11;

/// Addresses of a router. They are the sender addresses of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterAddress {
    /// Ethernet address of the router.
    pub mac: [u8; 6],
    /// IPv4 address of the router.
    pub ipv4: Ipv4Addr,
}

/// Writes to `out` the frame with which a router reports an expired TTL (type 11, code 0) to the sender of `frame`.
/// Returns the length of the written frame. The message quotes at most 548 bytes of the packet.
///
/// Returns `None` if a router sends no message, or if `out` is too small.
/// A router sends no message for packets other than IPv4, for fragments except the first, and for ICMP errors.
/// A router also sends no message for packets from or to more than one host.
pub fn time_exceeded(frame: &[u8], router: RouterAddress, out: &mut [u8]) -> Option<usize> {
    let view = View::read(frame).ok()?;
    let ip = view.ip?;
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (ip.src, ip.dst) else {
        return None;
    };
    let is_of_one = |address: Ipv4Addr| {
        !address.is_multicast() && !address.is_broadcast() && !address.is_unspecified()
    };
    let is_error = match view.content {
        Content::Icmp(kind) => !matches!(kind, IcmpKind::EchoRequest | IcmpKind::EchoReply),
        Content::Malformed => true,
        _ => false,
    };
    let is_later = ip.fragment.is_some_and(|fragment| fragment.offset > 0);
    if is_error || is_later || !is_of_one(src) || !is_of_one(dst) {
        return None;
    }
    // The message quotes the packet without the Ethernet header and the VLAN tags.
    let carried = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let quoted = carried.ether_payload()?.payload;
    let quoted = quoted.get(..quoted.len().min(576 - IPV4 - ICMP))?;
    let length = IPV4 + ICMP + quoted.len();
    let out = out.get_mut(..ETHERNET + length)?;
    let (ethernet, packet) = out.split_at_mut_checked(ETHERNET)?;
    ethernet.get_mut(..6)?.copy_from_slice(&view.source);
    ethernet.get_mut(6..12)?.copy_from_slice(&router.mac);
    ethernet.get_mut(12..)?.copy_from_slice(&[0x08, 0x00]);
    let (header, message) = packet.split_at_mut_checked(IPV4)?;
    let [high, low] = (length as u16).to_be_bytes();
    let first = [0x45, TRAFFIC_CLASS, high, low, 0, 0, 0, 0, TTL, 1, 0, 0];
    header.get_mut(..12)?.copy_from_slice(&first);
    header
        .get_mut(12..16)?
        .copy_from_slice(&router.ipv4.octets());
    header.get_mut(16..)?.copy_from_slice(&src.octets());
    let checksum = finish(add(0, header)).to_be_bytes();
    header.get_mut(10..12)?.copy_from_slice(&checksum);
    message.get_mut(..ICMP)?.fill(0);
    *message.first_mut()? = TYPE_TIME_EXCEEDED;
    message.get_mut(ICMP..)?.copy_from_slice(quoted);
    let checksum = finish(add(0, message)).to_be_bytes();
    message.get_mut(2..4)?.copy_from_slice(&checksum);
    Some(ETHERNET + length)
}
