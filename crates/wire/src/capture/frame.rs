//! Conversion of a simulated segment to an Ethernet frame.

use crate::checksum::{add, finish};
use crate::codec::EncodeError;
use crate::segment::{MAX_HEADER_BYTES, encode};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use tailcut_transport::tcp::{Stamp, TcpFlags, TcpHeader};
use tailcut_transport::{Condition, Header, Segment};
use tailcut_units::{FiveTuple, HostId, mix64};

/// Length of an Ethernet header in bytes.
const ETHERNET_BYTES: usize = 14;
/// Length of an IPv4 header without options in bytes.
const IPV4_BYTES: usize = 20;
/// Length of a UDP header in bytes.
const UDP_BYTES: usize = 8;
/// Length of a TCP header without options in bytes.
const TCP_BYTES: usize = 20;
/// Largest shift of a window (RFC 7323, section 2.3).
const WINDOW_SHIFT: u8 = 14;

/// Properties of a TCP connection that its segments have on the wire but not in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Initial sequence number of the segment's sender.
    pub own: u32,
    /// Initial sequence number of the segment's receiver.
    pub peer: u32,
    /// MSS option in SYNs, in bytes.
    pub mss: u16,
    /// Whether SYNs permit SACK.
    pub sack: bool,
}

impl Connection {
    /// Creates a connection. The addresses, the ports and the seed determine its initial sequence numbers.
    pub const fn drawn(tuple: &FiveTuple, seed: u64, mss: u16, sack: bool) -> Self {
        Self {
            own: initial(tuple, seed),
            peer: initial(&tuple.reversed(), seed),
            mss,
            sack,
        }
    }
}

const fn initial(tuple: &FiveTuple, seed: u64) -> u32 {
    (mix64(seed ^ mix64(tuple.hash() as u64)) >> 32) as u32
}

/// Frame of a capture. The capture may contain only the first bytes of the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Captured bytes, starting with the Ethernet header, without FCS.
    pub bytes: Vec<u8>,
    /// Length of the whole frame in bytes, without FCS.
    pub length: u32,
}

/// Reason why a segment cannot be converted to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// The number of a host or a group has more than 24 bits.
    #[error(
        "address: found number {}; allowed: up to 16,777,215",
        .found.group_number().unwrap_or(.found.0)
    )]
    Address {
        /// Address of the host or group.
        found: HostId,
    },
    /// The packet is longer than an IPv4 packet can be.
    /// One cause is a receiver's network stack that has merged several packets.
    #[error("IPv4 packet: found {found} bytes; allowed: up to 65,535")]
    Length {
        /// Length of the packet in bytes.
        found: usize,
    },
    /// The tailcut header cannot be encoded.
    #[error("{0}")]
    Header(EncodeError),
}

/// Returns the IPv4 address of a host (10.x.y.z) or of a multicast group (239.x.y.z).
/// The last three bytes (x.y.z) are the number of the host or group.
///
/// # Errors
/// The number has more than 24 bits.
pub const fn address(host: HostId) -> Result<Ipv4Addr, FrameError> {
    let (first, number) = match host.group_number() {
        Some(number) => (239, number),
        None => (10, host.0),
    };
    match number.to_be_bytes() {
        [0, x, y, z] => Ok(Ipv4Addr::new(first, x, y, z)),
        _ => Err(FrameError::Address { found: host }),
    }
}

/// Returns the Ethernet address of a host or group. The address of a host is 02:00:00 followed by the host's number.
/// A group has the address of RFC 1112, section 6.4.
fn ethernet_address(host: HostId, address: Ipv4Addr) -> [u8; 6] {
    let [_, x, y, z] = address.octets();
    match host.is_group() {
        true => [0x01, 0x00, 0x5e, x & 0x7f, y, z],
        false => [0x02, 0x00, 0x00, x, y, z],
    }
}

/// Returns the first `snap` bytes of a segment's frame: Ethernet, IPv4, TCP or UDP, and the tailcut header.
/// The payload consists of zeros. Checksums and lengths are correct for the whole frame.
///
/// The DSCP is the segment's priority class.
/// If a switch has trimmed the segment, the result ends before the payload. Length fields still include the payload.
/// `connection` is used only for TCP.
///
/// # Errors
/// An address or a length is too large for IPv4, or the header cannot be encoded.
pub fn frame(segment: &Segment, connection: &Connection, snap: usize) -> Result<Frame, FrameError> {
    let tuple = &segment.tuple;
    let (src, dst) = (address(tuple.src)?, address(tuple.dst)?);
    let payload = segment.payload as usize;
    let transport = match &segment.header {
        Header::Tcp(header) => tcp(tuple, header, connection),
        Header::Ndp(_)
        | Header::Scdp(_)
        | Header::Credit(_)
        | Header::PFabric(_)
        | Header::Own(_) => udp(segment)?,
    };
    let carried = transport.bytes.len() + payload;
    let found = IPV4_BYTES + carried;
    let total = u16::try_from(found).map_err(|_| FrameError::Length { found })?;
    let whole = ETHERNET_BYTES + found;
    let there = match segment.condition {
        Condition::Whole => whole,
        Condition::Trimmed | Condition::Returned => whole - payload,
    };

    let mut bytes = Vec::with_capacity(there.min(snap.max(ETHERNET_BYTES + IPV4_BYTES + 60)));
    bytes.extend(ethernet_address(tuple.dst, dst));
    bytes.extend(ethernet_address(tuple.src, src));
    bytes.extend([0x08, 0x00]);
    bytes.extend(ipv4(segment, [src, dst], total, transport.protocol));
    let [high, low] = total_checksum(&transport, [src, dst], carried).to_be_bytes();
    for (at, byte) in transport.bytes.iter().enumerate() {
        bytes.push(match at.checked_sub(transport.checksum_at) {
            Some(0) => high,
            Some(1) => low,
            _ => *byte,
        });
    }
    // Add the zeros of the payload, up to `snap` bytes. If `snap` is smaller than the headers, cut the headers too.
    bytes.resize(there.min(snap.max(bytes.len())), 0);
    bytes.truncate(snap);
    Ok(Frame {
        bytes,
        length: whole as u32,
    })
}

/// TCP header, or UDP header with the tailcut header. The checksum field is still zero.
struct Transport {
    bytes: Vec<u8>,
    protocol: u8,
    checksum_at: usize,
}

/// Returns the checksum over the pseudo-header, the headers and a payload of zeros.
fn total_checksum(transport: &Transport, addresses: [Ipv4Addr; 2], carried: usize) -> u16 {
    let [src, dst] = addresses.map(|address| address.octets());
    let pseudo = add(add(0, &src), &dst) + u64::from(transport.protocol) + carried as u64;
    let checksum = finish(add(pseudo, &transport.bytes));
    match (transport.protocol, checksum) {
        // A UDP checksum of zero would mean that there is no checksum (RFC 768).
        (UDP, 0) => 0xffff,
        _ => checksum,
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

fn ipv4(segment: &Segment, addresses: [Ipv4Addr; 2], total: u16, protocol: u8) -> [u8; 20] {
    let [s0, s1, s2, s3] = addresses[0].octets();
    let [d0, d1, d2, d3] = addresses[1].octets();
    let [total_high, total_low] = total.to_be_bytes();
    let traffic_class = (segment.priority.min(63) << 2) | segment.ecn as u8;
    // The packet must not be fragmented (0x40), so its identification may be zero (RFC 6864). The TTL is 64.
    let with_checksum = |[high, low]: [u8; 2]| {
        [
            0x45,
            traffic_class,
            total_high,
            total_low,
            0,
            0,
            0x40,
            0,
            64,
            protocol,
            high,
            low,
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ]
    };
    let checksum = finish(add(0, &with_checksum([0, 0])));
    with_checksum(checksum.to_be_bytes())
}

fn udp(segment: &Segment) -> Result<Transport, FrameError> {
    let mut header = [0; MAX_HEADER_BYTES];
    let length = encode(segment, &mut header).map_err(FrameError::Header)?;
    let found = UDP_BYTES + length + segment.payload as usize;
    let total = u16::try_from(found).map_err(|_| FrameError::Length { found })?;
    let mut bytes = Vec::with_capacity(UDP_BYTES + length);
    bytes.extend(segment.tuple.src_port.to_be_bytes());
    bytes.extend(segment.tuple.dst_port.to_be_bytes());
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(header.iter().take(length));
    Ok(Transport {
        bytes,
        protocol: UDP,
        checksum_at: 6,
    })
}

/// Returns a TCP header.
/// The SYN occupies one sequence number, so the first byte of the stream has the initial sequence number plus one.
/// The header announces the largest possible window.
fn tcp(tuple: &FiveTuple, header: &TcpHeader, connection: &Connection) -> Transport {
    let flags = header.flags;
    let in_stream = |initial: u32, offset: u64| initial.wrapping_add(1).wrapping_add(offset as u32);
    let is_syn = flags.has(TcpFlags::SYN);
    let sequence = match is_syn {
        true => connection.own,
        false => in_stream(connection.own, header.offset),
    };
    let acknowledged = match flags.has(TcpFlags::ACK) {
        true => in_stream(connection.peer, header.ack),
        false => 0,
    };
    let options = match is_syn {
        true => syn_options(connection),
        false => sack_option(header, acknowledged),
    };
    let options = [stamps_option(header), options].concat();
    let length = TCP_BYTES + options.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(tuple.src_port.to_be_bytes());
    bytes.extend(tuple.dst_port.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([(length as u8 / 4) << 4, flags.0]);
    bytes.extend(u16::MAX.to_be_bytes());
    // The checksum is set later, and the urgent pointer is zero.
    bytes.extend([0; 4]);
    bytes.extend(options);
    Transport {
        bytes,
        protocol: TCP,
        checksum_at: 16,
    }
}

fn syn_options(connection: &Connection) -> Vec<u8> {
    let [high, low] = connection.mss.to_be_bytes();
    let mut options = Vec::from([2, 4, high, low, 1, 3, 3, WINDOW_SHIFT]);
    if connection.sack {
        options.extend([1, 1, 4, 2]);
    }
    options
}

fn stamps_option(header: &TcpHeader) -> Vec<u8> {
    if header.stamps.stamp() == Stamp::NONE {
        return Vec::new();
    }
    let stamps =
        [header.stamps.stamp(), header.stamps.echo()].map(|stamp| stamp.number().to_be_bytes());
    [&[1, 1, 8, 10][..], &stamps.concat()].concat()
}

fn sack_option(header: &TcpHeader, acknowledged: u32) -> Vec<u8> {
    let blocks = header.sack.iter().filter(|block| block.end > block.start);
    let edges = blocks.flat_map(|block| [block.start, block.end]);
    let edges = edges.flat_map(|edge| acknowledged.wrapping_add(edge).to_be_bytes());
    let edges: Vec<u8> = edges.collect();
    if edges.is_empty() {
        return edges;
    }
    let mut options = Vec::from([1, 1, 5, 2 + edges.len() as u8]);
    options.extend(edges);
    options
}
