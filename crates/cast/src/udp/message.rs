//! Outgoing and incoming messages, and the trait of a socket.

use super::class::TrafficClass;
use super::control::Ancillary;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};

/// Largest payload of a UDP datagram over IPv4, in bytes. A message has the same limit.
pub const MOST_BYTES: usize = 65_507;
/// Largest number of datagrams that the kernel splits one message into (UDP_MAX_SEGMENTS of Linux before
/// 6.9).
pub const MOST_SEGMENTS: usize = 64;

/// One message to a socket: a datagram, or several datagrams of one size to one address, which the
/// kernel splits.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Destination address.
    pub to: SocketAddr,
    /// Local source address. `None`: the routing table selects it.
    pub from: Option<IpAddr>,
    /// TOS or traffic-class byte.
    pub class: TrafficClass,
    /// Bytes of each datagram except the last, which may be shorter. The message has at most
    /// [`Datagrams::segments`] datagrams. `None`: all bytes are one datagram.
    pub segment: Option<u16>,
    /// Bytes in slices, which the kernel joins: at most 1,024 slices and 65,507 bytes.
    pub parts: &'a [IoSlice<'a>],
}

impl Outgoing<'_> {
    /// Returns the number of bytes of all datagrams.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Returns the bytes of all slices, joined.
    pub(super) fn gathered(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        self.parts
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

/// Incoming message from one address: a datagram, or several that the kernel has merged.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Source address.
    pub from: SocketAddr,
    /// Data about the datagram from the kernel.
    pub ancillary: Ancillary,
    /// Whether bytes are missing at the end, because the inbox was too small.
    pub is_cut: bool,
    /// Bytes of all datagrams.
    pub bytes: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// Returns the single datagrams. All have the same size, except the last one, which may be shorter.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        // `chunks` panics for a size of 0.
        let whole = self.bytes.len().max(1);
        let size = self.ancillary.segment.map_or(whole, usize::from).max(1);
        // `chunks` yields nothing for an empty datagram, so it is added here.
        let empty = self.bytes.is_empty().then_some(self.bytes);
        self.bytes.chunks(size).chain(empty)
    }

    /// Returns the TOS or traffic-class byte.
    pub fn class(&self) -> TrafficClass {
        self.ancillary.class
    }
}

/// Socket for a driver. [`Port`](super::Port) is a kernel socket. Tests use sockets in memory.
pub trait Datagrams {
    /// Sends messages in order. Returns the number of messages that were sent. The caller offers
    /// the rest again when the socket's buffer has space.
    ///
    /// # Errors
    /// The first message cannot be sent. [`io::ErrorKind::WouldBlock`]: the buffer is full. Any
    /// other error concerns this message only.
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize>;

    /// Receives messages and passes each to `take`. Returns the number of messages. 0: none is
    /// waiting.
    ///
    /// # Errors
    /// The system reports an error.
    fn receive(&mut self, take: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize>;

    /// Returns the number of datagrams that one message may be split into. 1: the kernel does not
    /// split.
    fn segments(&self) -> usize;
}
