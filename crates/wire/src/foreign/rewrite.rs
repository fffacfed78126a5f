//! Changes that switches make in a frame. Functions change the frame in place and update its checksums.

use crate::checksum::{add, finish, update};
use crate::codec::DecodeError;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice, ip_number};
use tailcut_transport::Condition;
use tailcut_units::Ecn;

/// Reason why a frame was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RewriteError {
    /// The frame contains no IP packet, or a malformed IP packet.
    #[error("the frame has no valid IP header")]
    NoIp,
    /// The frame contains no complete UDP datagram.
    /// The frame contains another protocol, a fragment, or inconsistent lengths.
    #[error("the frame has no complete UDP datagram")]
    NoDatagram,
    /// The datagram has less payload than the caller wants to keep.
    #[error("payload: found {found} bytes, but {kept} bytes should be kept")]
    TooShort {
        /// Bytes of payload that the caller wants to keep.
        kept: usize,
        /// Bytes of payload in the datagram.
        found: usize,
    },
    /// The datagram's payload does not start with a tailcut header.
    #[error("{0}")]
    Header(DecodeError),
}

/// Position of the IP header in a frame.
#[derive(Clone, Copy)]
enum IpAt {
    V4(usize),
    V6(usize),
}

/// Returns the position of `part` in `frame`.
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

/// Sets a word of an IPv4 header and updates the checksum of the header.
fn set_ipv4_word(frame: &mut [u8], header: usize, at: usize, value: u16) -> Option<()> {
    let old = word(frame, header + at)?;
    let checksum = word(frame, header + 10)?;
    set_word(frame, header + at, value)?;
    set_word(frame, header + 10, update(checksum, old, value))
}

/// Sets the bits of `mask` in the traffic class, which contains DSCP and ECN.
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
        // The traffic class is in the last four bits of the first byte and the first four bits of the second.
        // IPv6 has no header checksum.
        IpAt::V6(header) => word(frame, header).and_then(|first| {
            let mask = u16::from(mask) << 4;
            let value = (first & !mask) | ((u16::from(bits) << 4) & mask);
            set_word(frame, header, value)
        }),
    };
    done.ok_or(RewriteError::NoIp)
}

/// Sets the ECN field.
/// The checksum of an IPv4 header is updated, not computed again, so a wrong checksum remains wrong.
///
/// # Errors
/// The frame has no IP header. The frame is not changed.
pub fn set_ecn(frame: &mut [u8], ecn: Ecn) -> Result<(), RewriteError> {
    set_traffic_class(frame, 0x03, ecn as u8)
}

/// Sets the DSCP to the lower six bits of `dscp`. Updates the checksum like [`set_ecn`].
///
/// # Errors
/// The frame has no IP header. The frame is not changed.
pub fn set_dscp(frame: &mut [u8], dscp: u8) -> Result<(), RewriteError> {
    set_traffic_class(frame, 0xfc, dscp << 2)
}

/// Sets the TTL of an IPv4 packet. Updates the checksum like [`set_ecn`] (RFC 1624).
///
/// # Errors
/// The frame has no IPv4 header. The frame is not changed.
pub fn set_ttl(frame: &mut [u8], ttl: u8) -> Result<(), RewriteError> {
    let at = LaxSlicedPacket::from_ethernet(frame)
        .ok()
        .and_then(|packet| locate(frame, &packet));
    let Some(IpAt::V4(header)) = at else {
        return Err(RewriteError::NoIp);
    };
    // The checksum covers words of 16 bits. One word contains the TTL and the protocol number.
    let [_, protocol] = word(frame, header + 8)
        .ok_or(RewriteError::NoIp)?
        .to_be_bytes();
    let value = u16::from_be_bytes([ttl, protocol]);
    set_ipv4_word(frame, header, 8, value).ok_or(RewriteError::NoIp)
}

/// Positions and lengths of a complete UDP datagram in a frame.
struct Datagram {
    ip: IpAt,
    /// Position of the UDP header.
    udp: usize,
    /// Bytes of payload.
    payload: usize,
    /// Sum of the words of the pseudo-header, without the length.
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
                // A length of zero means that a NIC will split the packet and set the lengths.
                if header.total_len() == 0 {
                    return Err(error);
                }
                add(add(0, &header.source()), &header.destination())
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                // A length of zero means that the packet is a jumbogram, whose length is in an extension header.
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

    /// Sets the lengths and checksums of a datagram whose payload is cut to `kept` bytes.
    /// Returns the new length of the frame.
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
            // A UDP checksum of zero would mean "no checksum". Its complement, 0xffff, represents the same sum.
            let checksum = match finish(sum) {
                0 => 0xffff,
                checksum => checksum,
            };
            set_word(frame, self.udp + 6, checksum)?;
        }
        Some(end)
    }
}

/// Shortens the payload of a UDP datagram to its first `kept` bytes. Sets the lengths and checksums of IP and UDP.
/// Returns the new length of the frame, and the caller must cut the frame to this length.
/// An unused UDP checksum (zero, in IPv4) remains zero.
///
/// # Errors
/// There is no complete datagram, or its payload has fewer bytes than `kept`. The frame is not changed.
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

/// Removes the payload after the tailcut header, and records `condition` in the header.
/// Returns the new length of the frame, like [`shorten`].
/// The header of a symbol in SCDP's credit mode can record only [`Condition::Trimmed`].
///
/// # Errors
/// There is no complete datagram with a tailcut header. The frame is not changed.
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
