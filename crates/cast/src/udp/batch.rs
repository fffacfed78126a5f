//! Datagrams on their way out, and the trait that stands for a socket.

use super::class::TrafficClass;
use super::control::Control;
use super::inbox::Incoming;
use super::socket::Socket;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

/// Messages that one system call sends at most.
pub(super) const MOST_SENT: usize = 16;
/// Payload that fits into one UDP datagram over IPv4, so all that one message may have.
pub const MOST_BYTES: usize = 65_507;
/// Datagrams that the kernel cuts one message into at most (UDP_MAX_SEGMENTS of Linux before 6.9).
pub const MOST_SEGMENTS: usize = 64;
/// Pieces that a message may be gathered from (UIO_MAXIOV).
const MOST_PARTS: usize = 1_024;

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
    fn gathered(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        self.parts
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        bytes
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

/// A `struct sockaddr_in` or `sockaddr_in6` by its bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Name(pub(super) [u8; 28]);

/// The layout is that of Linux.
const _: () =
    assert!(size_of::<libc::sockaddr_in6>() == 28 && size_of::<libc::sockaddr_in>() == 16);

impl Name {
    pub(super) const EMPTY: Self = Self([0; 28]);

    /// An address, and the bytes of it that count.
    fn of(address: SocketAddr) -> (Self, u32) {
        let mut name = Self::EMPTY;
        let mut put = |at: usize, bytes: &[u8]| name.0[at..at + bytes.len()].copy_from_slice(bytes);
        let family = |family: i32| (family as libc::sa_family_t).to_ne_bytes();
        put(2, &address.port().to_be_bytes());
        match address {
            SocketAddr::V4(address) => {
                put(0, &family(libc::AF_INET));
                put(4, &address.ip().octets());
                (name, 16)
            }
            SocketAddr::V6(address) => {
                put(0, &family(libc::AF_INET6));
                put(4, &address.flowinfo().to_be_bytes());
                put(8, &address.ip().octets());
                put(24, &address.scope_id().to_ne_bytes());
                (name, 28)
            }
        }
    }

    /// The address, where it is one of IPv4 or IPv6.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        let [f0, f1, p0, p1, rest @ ..] = &self.0;
        let family = i32::from(libc::sa_family_t::from_ne_bytes([*f0, *f1]));
        let port = u16::from_be_bytes([*p0, *p1]);
        let (head, rest) = rest.split_first_chunk::<4>()?;
        if family == libc::AF_INET {
            return Some(SocketAddrV4::new(Ipv4Addr::from(*head), port).into());
        }
        let (ip, scope) = rest.split_first_chunk::<16>()?;
        let scope = u32::from_ne_bytes(*scope.first_chunk()?);
        let flow = u32::from_be_bytes(*head);
        let address = SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope);
        (family == libc::AF_INET6).then_some(address.into())
    }
}

impl Socket {
    /// Sends messages with one system call, as [`Datagrams::send`] says.
    ///
    /// # Errors
    /// As [`Datagrams::send`].
    pub fn send(&self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        match self.send_as_given(messages) {
            Err(error) if self.refuses_segments(&error, messages) => {
                self.send_apart(&messages[0])?;
                Ok(1)
            }
            sent => sent,
        }
    }

    /// Whether an error says that the interface cannot cut messages apart. None are asked for then
    /// any more.
    fn refuses_segments(&self, error: &io::Error, messages: &[Outgoing<'_>]) -> bool {
        let says_so = matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL));
        let refuses = says_so
            && messages
                .first()
                .is_some_and(|first| first.segment.is_some());
        if refuses {
            self.segments.store(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Sends the datagrams of a message one by one. What there is no room for is lost.
    fn send_apart(&self, message: &Outgoing<'_>) -> io::Result<()> {
        let bytes = message.gathered();
        let segment = message.segment.map_or(bytes.len(), usize::from).max(1);
        for datagram in bytes.chunks(segment) {
            let parts = [IoSlice::new(datagram)];
            let one = Outgoing {
                segment: None,
                parts: &parts,
                ..*message
            };
            self.send_as_given(&[one])?;
        }
        Ok(())
    }

    fn send_as_given(&self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        let count = messages.len().min(MOST_SENT);
        let messages = &messages[..count];
        if let Some(wrong) = messages
            .iter()
            .find(|message| message.parts.len() > MOST_PARTS)
        {
            let found = wrong.parts.len();
            let said = format!("a message of {found} pieces; allowed: {MOST_PARTS}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
        }
        let mut names = [(Name::EMPTY, 0); MOST_SENT];
        let mut controls = [Control::EMPTY; MOST_SENT];
        // SAFETY: `mmsghdr` is made of integers and raw pointers, for which all bits zero are a value.
        let mut headers: [libc::mmsghdr; MOST_SENT] = unsafe { std::mem::zeroed() };
        for (at, message) in messages.iter().enumerate() {
            names[at] = Name::of(message.to);
            let control = &mut controls[at];
            control.put_class(message.to.is_ipv4(), message.class);
            if let Some(from) = message.from {
                control.put_from(from);
            }
            if let Some(segment) = message.segment {
                control.put_segment(segment);
            }
            let header = &mut headers[at].msg_hdr;
            header.msg_name = (&raw mut names[at].0).cast();
            header.msg_namelen = names[at].1;
            // `IoSlice` has the layout of `iovec`, says its documentation. The kernel only reads it.
            header.msg_iov = message.parts.as_ptr().cast_mut().cast();
            header.msg_iovlen = message.parts.len() as _;
            let bytes = controls[at].bytes();
            header.msg_control = bytes.as_ptr().cast_mut().cast();
            header.msg_controllen = bytes.len() as _;
        }
        // SAFETY: The first `count` headers point to names, control messages and pieces, with their
        // lengths, that live until the call is over; `names` and `controls` are not moved or written
        // since. The kernel reads from all of them and writes to `msg_len` of `headers` only, which
        // has `count` elements at least.
        let sent = unsafe {
            libc::sendmmsg(
                self.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_after_it_was_the_kernels() {
        for address in ["192.0.2.1:7", "[2001:db8::5]:65535"] {
            let address: SocketAddr = address.parse().expect("an address");
            assert_eq!(Name::of(address).0.address(), Some(address));
        }
        let scoped = SocketAddrV6::new("fe80::1".parse().expect("an address"), 9, 0x1_2345, 3);
        assert_eq!(Name::of(scoped.into()).0.address(), Some(scoped.into()));
        assert_eq!(Name::EMPTY.address(), None);
    }

    #[test]
    fn the_kernel_reads_the_same_address() {
        for address in ["192.0.2.1:7", "[2001:db8::5%3]:65535"] {
            let address: SocketAddr = address.parse().expect("an address");
            let other = socket2::SockAddr::from(address);
            let (name, length) = Name::of(address);
            assert_eq!((length, name.address()), (other.len(), other.as_socket()));
        }
    }
}
