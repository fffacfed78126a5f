//! A bound UDP socket and its options.

use super::message::MOST_SEGMENTS;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How a socket is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// Bytes of the kernel's buffer for what arrives, as far as the system allows
    /// (`net.core.rmem_max`; more where the process may administer the network). Default 8 MiB.
    pub receive_buffer: usize,
    /// Bytes of the kernel's buffer for what leaves (`net.core.wmem_max`). Default 2 MiB.
    pub send_buffer: usize,
    /// The code point (DSCP) of datagrams that say none, 0 to 63. Default 0.
    pub dscp: u8,
    /// Whether other sockets of this user may have the same address (SO_REUSEPORT): the kernel
    /// spreads senders over them. Default false.
    pub shares_address: bool,
    /// Whether the kernel merges datagrams that it hands over (UDP_GRO). Default true.
    pub merges: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            receive_buffer: 8 << 20,
            send_buffer: 2 << 20,
            dscp: 0,
            shares_address: false,
            merges: true,
        }
    }
}

/// How a socket sends to multicast groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// The number of the interface that it goes out at; 0: as the routes say.
    pub interface: u32,
    /// Routers that may forward it, plus one: 1 stays in the local network. Default 1.
    pub hops: u8,
    /// Whether sockets of this machine that have joined receive it too. Default true.
    pub loops: bool,
}

impl Default for Multicast {
    fn default() -> Self {
        Self {
            interface: 0,
            hops: 1,
            loops: true,
        }
    }
}

/// A UDP socket of IPv4 or of IPv6 alone, which never blocks. Datagrams have the "don't fragment"
/// bit; one that is larger than the interface takes is refused, and one that is larger than the
/// path takes is lost.
#[derive(Debug)]
pub struct Socket {
    inner: socket2::Socket,
    local: SocketAddr,
    /// The code point of datagrams that say none.
    pub(super) dscp: u8,
    pub(super) segments: AtomicUsize,
    pub(super) overflows: AtomicU32,
}

impl Socket {
    /// Opens a socket at `local`; port 0: one that is free.
    ///
    /// # Errors
    /// What the system says; the address is in use, or none of this machine's.
    pub fn bind(local: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let domain = Domain::for_address(local);
        let inner = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        inner.set_nonblocking(true)?;
        if options.shares_address {
            inner.set_reuse_port(true)?;
        }
        set_buffer(
            &inner,
            options.receive_buffer,
            [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF],
        )?;
        set_buffer(
            &inner,
            options.send_buffer,
            [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF],
        )?;
        set(&inner, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set(&inner, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        match local {
            SocketAddr::V4(_) => {
                inner.set_recv_tos_v4(true)?;
                // Only groups that this socket has joined.
                inner.set_multicast_all_v4(false)?;
                set(&inner, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
                let probe = libc::IP_PMTUDISC_PROBE;
                set(&inner, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe)?;
            }
            SocketAddr::V6(_) => {
                inner.set_only_v6(true)?;
                inner.set_recv_tclass_v6(true)?;
                inner.set_multicast_all_v6(false)?;
                set(&inner, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
                let probe = libc::IPV6_PMTUDISC_PROBE;
                set(&inner, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)?;
            }
        }
        if options.merges {
            // Before Linux 5.0 the kernel merges nothing.
            let _ = set(&inner, libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        // Before Linux 4.18 the kernel cuts nothing. Zero says that nothing is cut by default.
        let cuts = set(&inner, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        inner.bind(&local.into())?;
        let bound = inner.local_addr()?.as_socket();
        Ok(Self {
            inner,
            local: bound.unwrap_or(local),
            dscp: options.dscp & 63,
            segments: AtomicUsize::new(if cuts { MOST_SEGMENTS } else { 1 }),
            overflows: AtomicU32::new(0),
        })
    }

    /// The address that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that one message may be cut into: 1 where the kernel, or an interface that was
    /// tried, does not cut.
    pub fn segments(&self) -> usize {
        self.segments.load(Ordering::Relaxed)
    }

    /// Datagrams that the kernel has dropped so far because its buffer was full, as far as what has
    /// been received since tells.
    pub fn overflows(&self) -> u32 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Bytes of the kernel's buffer for what arrives. Linux tells twice what was asked for, and
    /// counts its own structures too.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive_buffer(&self) -> io::Result<usize> {
        self.inner.recv_buffer_size()
    }

    /// Receives what is sent to a multicast group from now on, at the interface of that number; 0:
    /// as the routes say.
    ///
    /// # Errors
    /// What the system says; the address is no group, or of the other version of IP.
    pub fn join(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        match self.group(group)? {
            IpAddr::V4(group) => {
                let interface = InterfaceIndexOrAddress::Index(interface);
                self.inner.join_multicast_v4_n(&group, &interface)
            }
            IpAddr::V6(group) => self.inner.join_multicast_v6(&group, interface),
        }
    }

    /// Receives nothing more of a group that was joined.
    ///
    /// # Errors
    /// What the system says; it was not joined at that interface.
    pub fn leave(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        match self.group(group)? {
            IpAddr::V4(group) => {
                let interface = InterfaceIndexOrAddress::Index(interface);
                self.inner.leave_multicast_v4_n(&group, &interface)
            }
            IpAddr::V6(group) => self.inner.leave_multicast_v6(&group, interface),
        }
    }

    /// How it sends to groups from now on.
    ///
    /// # Errors
    /// What the system says; there is no such interface.
    pub fn set_multicast(&self, multicast: &Multicast) -> io::Result<()> {
        let hops = u32::from(multicast.hops);
        match self.local {
            SocketAddr::V4(_) => {
                self.inner.set_multicast_ttl_v4(hops)?;
                self.inner.set_multicast_loop_v4(multicast.loops)?;
                set_interface_v4(&self.inner, multicast.interface)
            }
            SocketAddr::V6(_) => {
                self.inner.set_multicast_hops_v6(hops)?;
                self.inner.set_multicast_loop_v6(multicast.loops)?;
                self.inner.set_multicast_if_v6(multicast.interface)
            }
        }
    }

    fn group(&self, group: IpAddr) -> io::Result<IpAddr> {
        if group.is_multicast() && group.is_ipv4() == self.local.is_ipv4() {
            return Ok(group);
        }
        let said = format!(
            "{group} is no multicast group for a socket at {}; allowed: 224.0.0.0/4 for IPv4, ff00::/8 for IPv6",
            self.local
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, said))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Asks for more than the system's limit first, which an administrator of the network may.
fn set_buffer(socket: &impl AsFd, bytes: usize, names: [libc::c_int; 2]) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let [forced, plain] = names;
    set(socket, libc::SOL_SOCKET, forced, bytes)
        .or_else(|_| set(socket, libc::SOL_SOCKET, plain, bytes))
}

pub(super) fn set(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set_value(socket, level, name, value.to_ne_bytes())
}

/// The interface that multicast leaves at, by its number: `struct ip_mreqn` with addresses of zero.
fn set_interface_v4(socket: &impl AsFd, interface: u32) -> io::Result<()> {
    let mut request = [0; 12];
    request[8..].copy_from_slice(&interface.to_ne_bytes());
    set_value(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, request)
}

fn set_value<const N: usize>(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: [u8; N],
) -> io::Result<()> {
    // SAFETY: the kernel reads `N` bytes of `value`, which lives until the call is over; it copies
    // them, so that they need no alignment.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            N as libc::socklen_t,
        )
    };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
