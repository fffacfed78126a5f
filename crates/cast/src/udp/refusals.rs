//! ICMP errors about datagrams that could not be delivered.
//! The errors come from the error queue of a socket (`ip(7)`, IP_RECVERR).

use super::control::Messages;
use super::socket::{Socket, set};
use socket2::{MaybeUninitSlice, MsgHdrMut, SockAddr, SockRef};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Size of a buffer for the control messages of one error, in bytes.
/// An error with an address needs 64 bytes, and the kernel may add the control messages of received datagrams.
const CONTROL: usize = 256;
/// Size of the kernel's `struct sock_extended_err` in bytes.
/// The address of the host that sent the ICMP message follows the structure.
const ERROR: usize = 16;
/// Value of `ee_origin` for an error of this machine.
const LOCAL: u8 = 1;
/// Value of `ee_origin` for an ICMP message.
const ICMP: u8 = 2;
/// Value of `ee_origin` for an ICMPv6 message.
const ICMP6: u8 = 3;

/// Reason why a datagram could not be delivered, as a router or a host reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// No socket is bound to the port. A firewall of the host may send the same answer.
    Port,
    /// A firewall rejects the datagram.
    Prohibited,
    /// There is no route to the host, or the host is switched off.
    Unreachable,
    /// The datagram is too long. The path carries IP packets of at most this number of bytes.
    TooLong(u32),
    /// Another reason. The fields are the type and the code of the ICMP message.
    Other(u8, u8),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port => f.write_str("no program listens at the port"),
            Self::Prohibited => f.write_str("a firewall rejects the packets"),
            Self::Unreachable => f.write_str("there is no route to the host, or it is off"),
            Self::TooLong(size) => write!(f, "the path carries packets of at most {size} bytes"),
            Self::Other(kind, code) => write!(f, "type {kind}, code {code}"),
        }
    }
}

/// Returns whether an error of a socket may be an ICMP error about an earlier datagram.
/// After [`Socket::keep_refusals`], any call of the socket may return such an error.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EMSGSIZE
                | libc::EACCES
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EHOSTDOWN
                | libc::ENONET
        )
    )
}

/// Datagram that could not be delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Destination address of the datagram.
    pub to: SocketAddr,
    /// Router or host that reports the error. `None`: this machine.
    pub by: Option<IpAddr>,
    /// Reason why the datagram could not be delivered.
    pub cause: Cause,
}

impl Socket {
    /// Makes the kernel keep errors for [`Self::refusal`]. Each error may also make one send or receive call fail.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn keep_refusals(&self) -> io::Result<()> {
        match self.local() {
            SocketAddr::V4(_) => set(self, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
            SocketAddr::V6(_) => set(self, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
        }
    }

    /// Returns the next error about a datagram that could not be delivered, or `None` if there is no error.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn refusal(&self) -> io::Result<Option<Refusal>> {
        loop {
            // The kernel overwrites this address.
            // Only the size of the address matters: the size of the socket's address family.
            let mut name = SockAddr::from(self.local());
            let mut bytes = [MaybeUninit::new(0u8); 64];
            let mut control = [MaybeUninit::new(0u8); CONTROL];
            let mut parts = [MaybeUninitSlice::new(&mut bytes)];
            let mut message = MsgHdrMut::new()
                .with_addr(&mut name)
                .with_buffers(&mut parts)
                .with_control(&mut control);
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            let received = SockRef::from(self).recvmsg(&mut message, flags);
            let written = message.control_len().min(CONTROL);
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            // SAFETY: all bytes are initialized to 0 above, and the kernel writes only bytes.
            let control = control.map(|byte| unsafe { byte.assume_init() });
            let refusal = name
                .as_socket()
                .and_then(|to| parse(to, &control[..written]));
            // The entry may contain no usable error. In this case, the loop reads the next entry.
            if refusal.is_some() {
                return Ok(refusal);
            }
        }
    }
}

/// Decodes the control messages of an error about a datagram that was sent to `to`.
fn parse(to: SocketAddr, control: &[u8]) -> Option<Refusal> {
    let is_error = |level: i32, kind: i32| {
        (level, kind) == (libc::IPPROTO_IP, libc::IP_RECVERR)
            || (level, kind) == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    };
    let mut messages = Messages::of(control);
    let (_, _, data) = messages.find(|(level, kind, _)| is_error(*level, *kind))?;
    let (error, offender) = data.split_first_chunk::<ERROR>()?;
    let [e0, e1, e2, e3, origin, kind, code, _, i0, i1, i2, i3, ..] = *error;
    let errno = i32::from_ne_bytes([e0, e1, e2, e3]);
    let info = u32::from_ne_bytes([i0, i1, i2, i3]);
    let cause = match (origin, kind, code) {
        _ if errno == libc::EMSGSIZE => Cause::TooLong(info),
        // The types and codes are from RFC 792, RFC 1122 (section 3.2.2.1) and RFC 4443 (section 3.1).
        (ICMP, 3, 3) | (ICMP6, 1, 4) => Cause::Port,
        (ICMP, 3, 9 | 10 | 13) | (ICMP6, 1, 1 | 5 | 6) => Cause::Prohibited,
        (ICMP, 3, _) | (ICMP6, 1, _) => Cause::Unreachable,
        (LOCAL, ..) if errno == libc::EHOSTUNREACH => Cause::Unreachable,
        _ => Cause::Other(kind, code),
    };
    let by = match origin {
        ICMP | ICMP6 => address(offender),
        _ => None,
    };
    Some(Refusal { to, by, cause })
}

/// Returns the IP address in a `struct sockaddr_in` or `sockaddr_in6`.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    match family {
        libc::AF_INET => {
            let octets: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Some(Ipv4Addr::from(octets).into())
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}
