//! What switches change in a frame, in place, with the checksums that cover it.

use crate::checksum::{add, finish, update};
use crate::codec::DecodeError;
use core::fmt;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice, ip_number};
use tailcut_transport::Condition;
use tailcut_units::Ecn;

/// Why a frame was left as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RewriteError {
    /// It carries no IP packet, or one that cannot be read.
    NoIp,
    /// It carries no whole UDP datagram: another protocol, a fragment, or lengths that contradict
    /// each other.
    NoDatagram,
    /// The datagram has less payload than it is to keep.
    TooShort {
        /// Bytes to keep.
        kept: usize,
        /// Bytes of payload.
        found: usize,
    },
    /// The datagram's payload does not start with a header of ours.
    Header(DecodeError),
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIp => f.write_str("the frame has no IP header that can be read"),
            Self::NoDatagram => f.write_str("the frame has no whole UDP datagram"),
            Self::TooShort { kept, found } => {
                write!(f, "payload: found {found} bytes, {kept} are to stay")
            }
            Self::Header(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RewriteError {}

/// Where things are in a frame.
#[derive(Clone, Copy)]
enum IpAt {
    V4(usize),
    V6(usize),
}

/// Where a part of `frame` starts in it.
fn offset_in(frame: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - frame.as_ptr() as usize
}

fn locate(frame: &[u8], packet: &LaxSlicedPacket<'_>) -> Option<IpAt> {
    match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => Some(IpAt::V4(offset_in(frame, ip.header().slice()))),
        LaxNetSlice::Ipv6(ip) => Some(IpAt::V6(offset_in(frame, ip.header().slice()))),
        LaxNetSlice::Arp(_) => None,
    }
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    let word = frame.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*word))
}

fn set_word(frame: &mut [u8], at: usize, value: u16) -> Option<()> {
    let word = frame.get_mut(at..)?.first_chunk_mut::<2>()?;
    *word = value.to_be_bytes();
    Some(())
}

/// Sets a word of an IPv4 header and updates the header's checksum.
fn set_ipv4_word(frame: &mut [u8], header: usize, at: usize, value: u16) -> Option<()> {
    let old = word(frame, header + at)?;
    let checksum = word(frame, header + 10)?;
    set_word(frame, header + at, value)?;
    set_word(frame, header + 10, update(checksum, old, value))
}

/// Sets the bits of `mask` in the byte of DSCP and ECN.
fn set_traffic_class(frame: &mut [u8], mask: u8, bits: u8) -> Result<(), RewriteError> {
    let at = LaxSlicedPacket::from_ethernet(frame)
        .ok()
        .and_then(|packet| locate(frame, &packet))
        .ok_or(RewriteError::NoIp)?;
    let done = match at {
        IpAt::V4(header) => word(frame, header).and_then(|first| {
            let mask = u16::from(mask);
            let value = (first & !mask) | (u16::from(bits) & mask);
            set_ipv4_word(frame, header, 0, value)
        }),
        // The traffic class lies across the first two bytes; no checksum covers it.
        IpAt::V6(header) => word(frame, header).and_then(|first| {
            let mask = u16::from(mask) << 4;
            let value = (first & !mask) | ((u16::from(bits) << 4) & mask);
            set_word(frame, header, value)
        }),
    };
    done.ok_or(RewriteError::NoIp)
}

/// Sets the ECN field. The checksum of an IPv4 header is updated, not computed anew: one that was
/// wrong stays wrong.
///
/// # Errors
/// There is no IP header; the frame is as before.
pub fn set_ecn(frame: &mut [u8], ecn: Ecn) -> Result<(), RewriteError> {
    set_traffic_class(frame, 0x03, ecn as u8)
}

/// Sets the DSCP, of which the lower six bits count; the checksum as [`set_ecn`] does.
///
/// # Errors
/// There is no IP header; the frame is as before.
pub fn set_dscp(frame: &mut [u8], dscp: u8) -> Result<(), RewriteError> {
    set_traffic_class(frame, 0xfc, dscp << 2)
}

/// Sets the TTL of an IPv4 packet; the checksum as [`set_ecn`] does (RFC 1624).
///
/// # Errors
/// There is no IPv4 header; the frame is as before.
pub fn set_ttl(frame: &mut [u8], ttl: u8) -> Result<(), RewriteError> {
    let at = LaxSlicedPacket::from_ethernet(frame)
        .ok()
        .and_then(|packet| locate(frame, &packet));
    let Some(IpAt::V4(header)) = at else {
        return Err(RewriteError::NoIp);
    };
    // The TTL shares a word with the protocol's number.
    let [_, protocol] = word(frame, header + 8)
        .ok_or(RewriteError::NoIp)?
        .to_be_bytes();
    let value = u16::from_be_bytes([ttl, protocol]);
    set_ipv4_word(frame, header, 8, value).ok_or(RewriteError::NoIp)
}

/// A whole datagram in a frame.
struct Datagram {
    ip: IpAt,
    /// Where the UDP header starts.
    udp: usize,
    /// Bytes of payload.
    payload: usize,
    /// The sum of the pseudo-header without the length.
    pseudo: u64,
}

impl Datagram {
    fn find(frame: &[u8]) -> Result<Self, RewriteError> {
        let error = RewriteError::NoDatagram;
        let packet = LaxSlicedPacket::from_ethernet(frame).map_err(|_| RewriteError::NoIp)?;
        let ip = locate(frame, &packet).ok_or(RewriteError::NoIp)?;
        let (Some(net), Some(TransportSlice::Udp(udp)), None) =
            (&packet.net, &packet.transport, &packet.stop_err)
        else {
            return Err(error);
        };
        let carried = net.ip_payload_ref().ok_or(error)?;
        let is_whole = !carried.incomplete
            && usize::from(udp.length()) == udp.slice().len()
            && carried.payload.len() == udp.slice().len();
        let addresses = match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                // A length of zero is that of a packet for the NIC to cut up.
                if header.total_len() == 0 {
                    return Err(error);
                }
                add(add(0, &header.source()), &header.destination())
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                // A length of zero is that of a jumbogram.
                if header.payload_length() == 0 {
                    return Err(error);
                }
                add(add(0, &header.source()), &header.destination())
            }
            LaxNetSlice::Arp(_) => return Err(error),
        };
        match is_whole {
            true => Ok(Self {
                ip,
                udp: offset_in(frame, udp.slice()),
                payload: udp.payload().len(),
                pseudo: addresses + u64::from(ip_number::UDP.0),
            }),
            false => Err(error),
        }
    }

    /// The lengths and checksums of a datagram that keeps `kept` bytes of payload.
    fn shorten(&self, frame: &mut [u8], kept: usize) -> Option<usize> {
        let length = 8 + kept;
        let end = self.udp + length;
        match self.ip {
            IpAt::V4(header) => {
                set_ipv4_word(frame, header, 2, u16::try_from(end - header).ok()?)?;
            }
            IpAt::V6(header) => {
                set_word(frame, header + 4, u16::try_from(end - header - 40).ok()?)?;
            }
        }
        set_word(frame, self.udp + 4, u16::try_from(length).ok()?)?;
        let is_unused = word(frame, self.udp + 6)? == 0 && matches!(self.ip, IpAt::V4(_));
        if !is_unused {
            set_word(frame, self.udp + 6, 0)?;
            let sum = add(self.pseudo + length as u64, frame.get(self.udp..end)?);
            // Zero stands for no checksum, its complement for the same sum.
            let checksum = match finish(sum) {
                0 => 0xffff,
                checksum => checksum,
            };
            set_word(frame, self.udp + 6, checksum)?;
        }
        Some(end)
    }
}

/// Cuts the payload of a UDP datagram down to its first `kept` bytes: sets the lengths of IP and
/// UDP and their checksums, and gives the length of the frame, which the caller cuts off there. A
/// UDP checksum that is not used (zero, IPv4) stays so.
///
/// # Errors
/// There is no whole datagram, or it has less payload; the frame is as before.
pub fn shorten(frame: &mut [u8], kept: usize) -> Result<usize, RewriteError> {
    let datagram = Datagram::find(frame)?;
    let found = datagram.payload;
    if kept > found {
        return Err(RewriteError::TooShort { kept, found });
    }
    datagram
        .shorten(frame, kept)
        .ok_or(RewriteError::NoDatagram)
}

/// Cuts the payload behind our header off, notes that in the header, and gives the length of the
/// frame, as [`shorten`] does. Symbols of SCDP in credit mode have one condition only that can be
/// noted: that they are trimmed.
///
/// # Errors
/// There is no whole datagram with a header of ours; the frame is as before.
pub fn trim(frame: &mut [u8], condition: Condition) -> Result<usize, RewriteError> {
    let datagram = Datagram::find(frame)?;
    let start = datagram.udp + 8;
    let payload = frame
        .get_mut(start..start + datagram.payload)
        .ok_or(RewriteError::NoDatagram)?;
    let kept = match condition {
        Condition::Trimmed => crate::scdp::credit::set_trimmed(payload),
        _ => None,
    };
    let kept = match kept {
        Some(kept) => kept,
        None => crate::set_condition(payload, condition).map_err(RewriteError::Header)?,
    };
    datagram
        .shorten(frame, kept)
        .ok_or(RewriteError::NoDatagram)
}
