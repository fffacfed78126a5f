//! Encoding and decoding of control messages of sockets (`cmsg(3)`). The code is safe Rust.
//! The decoder checks every length in a control message.

use super::class::TrafficClass;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Size of the kernel's `struct cmsghdr` in bytes: a length with the size of a pointer, a level and a type.
const HEADER: usize = size_of::<usize>() + 8;
/// Size of a buffer for all control messages that [`Socket`](super::Socket) requests, in bytes.
/// The messages need at most 144 bytes on a machine with 64 bits.
pub(super) const RECEIVED: usize = 192;
/// Size of a buffer for all control messages of an outgoing message, in bytes.
pub(super) const SENT: usize = 96;

/// Largest number of datagrams in one message (UDP_MAX_SEGMENTS of Linux before 6.9).
pub const MOST_SEGMENTS: usize = 64;

/// Rounds a length up to the alignment of control messages.
const fn aligned(length: usize) -> usize {
    length.next_multiple_of(size_of::<usize>())
}

/// Information of the kernel about a datagram.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Ancillary {
    /// TOS or traffic-class byte of the IP header.
    pub class: TrafficClass,
    /// Destination address: one of this machine's addresses, or a multicast group.
    pub to: Option<IpAddr>,
    /// Index of the interface where the datagram arrived. 0: unknown.
    pub interface: u32,
    /// Time at which the kernel received the datagram, in nanoseconds since 1970.
    /// If no other socket of the machine uses time stamps, the first stamps are the times of delivery to the socket.
    pub stamp: Option<u64>,
    /// Number of datagrams that the kernel has dropped since the socket was opened. The socket's buffer was full.
    /// `None`: no datagram was dropped.
    pub overflows: Option<u32>,
    /// Bytes of each merged datagram. The last datagram may be shorter. `None`: the kernel has not merged datagrams.
    pub segment: Option<u16>,
}

/// Decodes control messages of the kernel. Unknown and truncated messages are ignored.
pub fn parse(bytes: &[u8]) -> Ancillary {
    let mut ancillary = Ancillary::default();
    for (level, kind, data) in Messages::of(bytes) {
        match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                ancillary.class = data
                    .first()
                    .map_or(ancillary.class, |byte| TrafficClass(*byte));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                let class = i32_at(data, 0).and_then(|class| u8::try_from(class).ok());
                ancillary.class = class.map_or(ancillary.class, TrafficClass);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // `struct in_pktinfo` has the interface, the local address, and the destination in the IP header.
                if let (Some(interface), Some(to)) = (i32_at(data, 0), chunk_at::<4>(data, 8)) {
                    ancillary.interface = interface.cast_unsigned();
                    ancillary.to = Some(Ipv4Addr::from(to).into());
                }
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // `struct in6_pktinfo` has the destination in the IP header and the interface.
                if let (Some(to), Some(interface)) = (chunk_at::<16>(data, 0), i32_at(data, 16)) {
                    ancillary.interface = interface.cast_unsigned();
                    ancillary.to = Some(Ipv6Addr::from(to).into());
                }
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                ancillary.stamp = stamp(data).or(ancillary.stamp)
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                let count = i32_at(data, 0).map(i32::cast_unsigned);
                ancillary.overflows = count.or(ancillary.overflows);
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                let size = i32_at(data, 0).and_then(|size| u16::try_from(size).ok());
                ancillary.segment = size.filter(|size| *size > 0).or(ancillary.segment);
            }
            _ => {}
        }
    }
    ancillary
}

/// Converts a `struct timespec` to nanoseconds since 1970. Returns `None` for an earlier time.
fn stamp(data: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<libc::time_t>();
    let word = |at| {
        let bytes = chunk_at::<WORD>(data, at)?;
        u64::try_from(libc::time_t::from_ne_bytes(bytes)).ok()
    };
    word(0)?
        .checked_mul(1_000_000_000)?
        .checked_add(word(WORD)?)
}

fn chunk_at<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

fn i32_at(data: &[u8], at: usize) -> Option<i32> {
    chunk_at(data, at).map(i32::from_ne_bytes)
}

/// Iterator over the control messages in a buffer. Each item has a level, a type and data.
pub(super) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = (i32, i32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        const WORD: usize = size_of::<usize>();
        let length = usize::from_ne_bytes(chunk_at(self.rest, 0)?);
        let level = i32_at(self.rest, WORD)?;
        let kind = i32_at(self.rest, WORD + 4)?;
        // A length below `HEADER` is an error and ends the loop here. Otherwise the loop would never advance.
        let data = self.rest.get(HEADER..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or(&[]);
        Some((level, kind, data))
    }
}

/// Encoded control messages of one outgoing message.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Control {
    bytes: [u8; SENT],
    length: usize,
}

impl Control {
    pub(super) const EMPTY: Self = Self {
        bytes: [0; SENT],
        length: 0,
    };

    /// Returns the encoded control messages.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Adds the traffic class of the datagrams.
    pub(super) fn put_class(&mut self, is_ipv4: bool, class: TrafficClass) {
        let byte = i32::from(class.0).to_ne_bytes();
        match is_ipv4 {
            true => self.put(libc::IPPROTO_IP, libc::IP_TOS, &byte),
            false => self.put(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &byte),
        }
    }

    /// Adds the request to split the message into datagrams of `segment` bytes.
    pub(super) fn put_segment(&mut self, segment: u16) {
        self.put(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
    }

    /// Adds the source address of the datagrams.
    pub(super) fn put_from(&mut self, from: IpAddr) {
        match from {
            IpAddr::V4(from) => {
                // `struct in_pktinfo` has the interface, the source address, and a field for received datagrams only.
                let mut info = [0; 12];
                info[4..8].copy_from_slice(&from.octets());
                self.put(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            IpAddr::V6(from) => {
                let mut info = [0; 20];
                info[..16].copy_from_slice(&from.octets());
                self.put(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
        }
    }

    /// Adds a control message. Each kind of message is added at most once, so the buffer never becomes full.
    fn put(&mut self, level: i32, kind: i32, data: &[u8]) {
        let length = HEADER + data.len();
        let message = &mut self.bytes[self.length..];
        let (head, rest) = message.split_at_mut(HEADER);
        head[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
        head[HEADER - 8..HEADER - 4].copy_from_slice(&level.to_ne_bytes());
        head[HEADER - 4..].copy_from_slice(&kind.to_ne_bytes());
        rest[..data.len()].copy_from_slice(data);
        self.length += aligned(length);
    }
}

/// The buffer must hold a class, a segment size and an IPv6 address, each with its header.
const _: () = assert!(aligned(HEADER + 4) + aligned(HEADER + 2) + aligned(HEADER + 20) <= SENT);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut control = Control::EMPTY;
        control.put(level, kind, data);
        control.bytes().to_vec()
    }

    #[test]
    fn what_the_kernel_tells_of_a_datagram_is_read() {
        let stamp: Vec<u8> = [7, 9]
            .iter()
            .flat_map(|word: &libc::time_t| word.to_ne_bytes())
            .collect();
        let mut info = [0; 20];
        info[15] = 1;
        info[16..].copy_from_slice(&3u32.to_ne_bytes());
        let bytes = [
            written(
                libc::IPPROTO_IPV6,
                libc::IPV6_TCLASS,
                &0xb9i32.to_ne_bytes(),
            ),
            written(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &stamp),
            written(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &11u32.to_ne_bytes()),
            written(libc::IPPROTO_IP, 99, &[1, 2, 3]),
            written(libc::SOL_UDP, libc::UDP_GRO, &1_472i32.to_ne_bytes()),
            written(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info),
        ]
        .concat();
        let expected = Ancillary {
            class: TrafficClass(0xb9),
            to: Some(Ipv6Addr::LOCALHOST.into()),
            interface: 3,
            stamp: Some(7_000_000_009),
            overflows: Some(11),
            segment: Some(1_472),
        };
        assert_eq!(parse(&bytes), expected);
        assert!(bytes.len() <= RECEIVED);
        assert_eq!((expected.class.dscp(), expected.class.ecn() as u8), (46, 1));
    }

    #[test]
    fn the_addresses_of_ipv4_are_read_and_written() {
        let from = Ipv4Addr::new(192, 0, 2, 7);
        let mut control = Control::EMPTY;
        control.put_from(from.into());
        control.put_class(true, TrafficClass(5));
        // The kernel reads the source address of an outgoing message from one field.
        // The kernel writes the destination address of a received datagram to another field.
        let ancillary = parse(control.bytes());
        assert_eq!(ancillary.to, Some(Ipv4Addr::UNSPECIFIED.into()));
        assert_eq!(ancillary.class, TrafficClass(5));
    }

    #[test]
    fn a_message_that_claims_no_length_ends_the_reading() {
        let mut bytes = written(libc::IPPROTO_IP, libc::IP_TOS, &[4]);
        bytes[..size_of::<usize>()].fill(0);
        assert_eq!(parse(&bytes), Ancillary::default());
    }

    #[test]
    fn a_time_before_1970_is_no_time() {
        let words: Vec<u8> = [-1, 0]
            .iter()
            .flat_map(|word: &libc::time_t| word.to_ne_bytes())
            .collect();
        let bytes = written(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &words);
        assert_eq!(parse(&bytes).stamp, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            parse(&bytes);
        }

        /// Any control messages can be decoded: the lengths, levels and types are plausible, and the data is random.
        #[test]
        fn any_messages_are_read(messages in proptest::collection::vec(
            (0usize..64, prop_oneof![Just(0), Just(1), Just(17), Just(41)], 0i32..110, any::<[u8; 40]>()),
            0..6,
        ), cut in 0usize..300) {
            let mut bytes = Vec::new();
            for (length, level, kind, data) in messages {
                bytes.extend_from_slice(&length.to_ne_bytes());
                bytes.extend_from_slice(&i32::to_ne_bytes(level));
                bytes.extend_from_slice(&kind.to_ne_bytes());
                bytes.extend_from_slice(&data);
            }
            bytes.truncate(cut);
            parse(&bytes);
        }
    }
}
