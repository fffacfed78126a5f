//! What leaves through a socket, what has arrived, and the trait that stands for a socket.

use super::class::TrafficClass;
use super::control::Ancillary;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};

/// Payload that fits into one UDP datagram over IPv4, so all that one message may have.
pub const MOST_BYTES: usize = 65_507;
/// Datagrams that the kernel cuts one message into at most (UDP_MAX_SEGMENTS of Linux before 6.9).
pub const MOST_SEGMENTS: usize = 64;

/// One message to a socket: a datagram, or several of the same size to the same address, which the
/// kernel cuts apart.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub to: SocketAddr,
    /// The local address that it is to come from; `None`: as the routes say.
    pub from: Option<IpAddr>,
    /// The TOS or traffic-class byte.
    pub class: TrafficClass,
    /// Bytes of each datagram but the last, which may have less; `None`: all is one datagram. At
    /// most [`Datagrams::segments`] datagrams.
    pub segment: Option<u16>,
    /// The bytes, in pieces that are put together: at most 1,024 pieces and 65,507 bytes.
    pub parts: &'a [IoSlice<'a>],
}

impl Outgoing<'_> {
    /// The bytes of all its datagrams.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// The bytes in one piece.
    pub(super) fn gathered(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        self.parts
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

/// What has arrived from one address: a datagram, or several that the kernel has merged.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Where from.
    pub from: SocketAddr,
    /// What the kernel tells of it.
    pub told: Ancillary,
    /// Whether the bytes are cut off, because the inbox had no room for more.
    pub is_cut: bool,
    /// The bytes of all its datagrams.
    pub bytes: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// The datagrams.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let whole = self.bytes.len().max(1);
        let size = self.told.segment.map_or(whole, usize::from).max(1);
        // An empty datagram is one, too.
        let empty = self.bytes.is_empty().then_some(self.bytes);
        self.bytes.chunks(size).chain(empty)
    }

    /// The TOS or traffic-class byte.
    pub fn class(&self) -> TrafficClass {
        self.told.class
    }
}

/// What a driver needs of a socket. [`Port`](super::Port) is one of the kernel's; tests have others
/// that live in memory.
pub trait Datagrams {
    /// Sends messages, the first ones first, and gives how many of them it took: the rest is to be
    /// offered again, once there is room.
    ///
    /// # Errors
    /// The first message cannot be sent. [`io::ErrorKind::WouldBlock`]: there is no room now. Any
    /// other error is about that message only.
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize>;

    /// Takes what has arrived, and gives how many messages that was. 0: there is nothing more.
    ///
    /// # Errors
    /// What the system says.
    fn receive(&mut self, take: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize>;

    /// Datagrams that one message may be cut into: 1 where the kernel does not cut.
    fn segments(&self) -> usize;
}
