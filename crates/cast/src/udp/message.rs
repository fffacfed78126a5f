//! Outgoing and incoming messages, and the trait of a socket.

use super::class::TrafficClass;
use super::control::Ancillary;
use super::refusals::Refusal;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};

/// Largest payload of a UDP datagram over IPv4, in bytes. It is also the limit for a message.
pub const MOST_BYTES: usize = 65_507;

/// Outgoing message to one address: one datagram, or several datagrams of the same size.
/// The kernel splits the message into datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Destination address.
    pub to: SocketAddr,
    /// Source address of the datagrams. `None`: the routing table selects it.
    pub from: Option<IpAddr>,
    /// TOS or traffic-class byte.
    pub class: TrafficClass,
    /// Bytes of each datagram. The last datagram may be shorter.
    /// A message has at most [`Datagrams::segments`] datagrams. `None`: the message is one datagram.
    pub segment: Option<u16>,
    /// Slices whose bytes the kernel joins, at most 1,024 slices and 65,507 bytes.
    pub parts: &'a [IoSlice<'a>],
}

impl Outgoing<'_> {
    /// Returns the number of bytes of the message.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Returns the bytes of all slices in one buffer.
    pub(super) fn gathered(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        self.parts
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

/// Incoming message from one address: one datagram, or several datagrams that the kernel has merged.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Source address.
    pub from: SocketAddr,
    /// Information of the kernel about the datagram.
    pub ancillary: Ancillary,
    /// Whether the end of the message is missing, because the inbox was too small.
    pub is_cut: bool,
    /// Bytes of all datagrams.
    pub bytes: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// Returns the datagrams of the message. All have the same size, except the last one, which may be shorter.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        // The size is at least 1, because `chunks` panics for 0.
        let whole = self.bytes.len().max(1);
        let size = self.ancillary.segment.map_or(whole, usize::from).max(1);
        // `chunks` returns nothing for an empty datagram, so the datagram is added here.
        let empty = self.bytes.is_empty().then_some(self.bytes);
        self.bytes.chunks(size).chain(empty)
    }

    /// Returns the TOS or traffic-class byte.
    pub fn class(&self) -> TrafficClass {
        self.ancillary.class
    }
}

/// Socket of a driver. [`Port`](super::Port) is a socket of the kernel. Tests use sockets in memory.
pub trait Datagrams {
    /// Sends messages in order. Returns how many messages were sent.
    /// The caller passes the remaining messages again when the socket's buffer has space.
    ///
    /// # Errors
    /// The first message cannot be sent. [`io::ErrorKind::WouldBlock`] means that the buffer is full.
    /// Any other error concerns only this message.
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize>;

    /// Receives messages and passes each to `take`.
    /// Returns the number of messages, which is 0 if no message has arrived.
    ///
    /// # Errors
    /// The system reports an error.
    fn receive(&mut self, take: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize>;

    /// Returns the next ICMP error about a datagram that could not be delivered, or `None` if there is no error.
    ///
    /// # Errors
    /// The system reports an error.
    fn refusal(&mut self) -> io::Result<Option<Refusal>> {
        Ok(None)
    }

    /// Returns the largest number of datagrams in one message. 1: the kernel cannot split messages.
    fn segments(&self) -> usize;
}
