//! Bound UDP socket with its options.

use super::control::MOST_SEGMENTS;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Options of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// Size of the kernel's receive buffer in bytes.
    /// The limit is `net.core.rmem_max`, or none for a process with the capability CAP_NET_ADMIN. Default 8 MiB.
    pub receive_buffer: usize,
    /// Size of the kernel's send buffer in bytes. The limit is `net.core.wmem_max`. Default 2 MiB.
    pub send_buffer: usize,
    /// DSCP of datagrams that have no other DSCP, 0 to 63. Default 0.
    pub dscp: u8,
    /// Whether other sockets of the same user may bind to the same address (SO_REUSEPORT).
    /// The kernel then distributes the senders over these sockets. Default false.
    pub shares_address: bool,
    /// Whether the kernel merges received datagrams (UDP_GRO). Default true.
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

/// Options for sending to multicast groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// Index of the outgoing interface. 0: the routing table selects the interface.
    pub interface: u32,
    /// TTL of multicast datagrams: the number of routers that may forward a datagram, plus one. 1: local network only.
    /// Default 1.
    pub hops: u8,
    /// Whether the members of the group on this machine receive the datagrams too. Default true.
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

/// Non-blocking UDP socket for either IPv4 or IPv6. Its datagrams have the "don't fragment" bit.
/// The kernel refuses a datagram that is larger than the MTU of the interface.
/// A datagram that is larger than the MTU of the path is lost.
#[derive(Debug)]
pub struct Socket {
    inner: socket2::Socket,
    local: SocketAddr,
    /// DSCP of datagrams that have no other DSCP.
    pub(super) dscp: u8,
    /// Largest number of datagrams in one message.
    pub(super) segments: AtomicUsize,
    /// Number of datagrams that the kernel has dropped because its buffer was full.
    pub(super) overflows: AtomicU32,
}

impl Socket {
    /// Opens a socket at `local`. Port 0 selects a free port.
    ///
    /// # Errors
    /// The system refuses the address, for example because it is in use or does not belong to this machine.
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
        // All options are set before the call of `bind`, so that every datagram arrives with its control messages.
        set(&inner, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set(&inner, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        match local {
            SocketAddr::V4(_) => {
                inner.set_recv_tos_v4(true)?;
                // The kernel must not deliver packets of groups that other sockets of this machine have joined.
                inner.set_multicast_all_v4(false)?;
                set(&inner, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
                // With this mode, datagrams have the "don't fragment" bit, and the kernel ignores its known path MTU.
                // So probes of any size are sent.
                let probe = libc::IP_PMTUDISC_PROBE;
                set(&inner, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe)?;
            }
            SocketAddr::V6(_) => {
                // The control messages for sending depend on the IP version of the socket.
                // So an IPv6 socket must not have IPv4 peers with mapped addresses.
                inner.set_only_v6(true)?;
                inner.set_recv_tclass_v6(true)?;
                inner.set_multicast_all_v6(false)?;
                set(&inner, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
                let probe = libc::IPV6_PMTUDISC_PROBE;
                set(&inner, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)?;
            }
        }
        if options.merges {
            // Linux before 5.0 cannot merge datagrams. The socket works without this option.
            let _ = set(&inner, libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        // Linux before 4.18 cannot split messages. The value 0 means that messages are not split by default.
        let cuts = set(&inner, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        inner.bind(&local.into())?;
        let bound = inner.local_addr()?.as_socket();
        Ok(Self {
            inner,
            local: bound.unwrap_or(local),
            // A DSCP has six bits.
            dscp: options.dscp & 63,
            segments: AtomicUsize::new(if cuts { MOST_SEGMENTS } else { 1 }),
            overflows: AtomicU32::new(0),
        })
    }

    /// Returns the address that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns the largest number of datagrams in one message.
    /// The number is 1 if the kernel cannot split messages, or if an interface has refused to split a message.
    pub fn segments(&self) -> usize {
        self.segments.load(Ordering::Relaxed)
    }

    /// Returns the number of datagrams that the kernel has dropped because the socket's buffer was full.
    /// Each received datagram updates the value.
    pub fn overflows(&self) -> u32 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Returns the size of the kernel's receive buffer in bytes.
    /// Linux returns twice the requested size, because the size includes the kernel's data structures.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn receive_buffer(&self) -> io::Result<usize> {
        self.inner.recv_buffer_size()
    }

    /// Joins a multicast group at the interface with the index `interface`.
    /// With 0, the routing table selects the interface.
    ///
    /// # Errors
    /// The system refuses the request, or the address is not a multicast address.
    /// It is also an error if the address and the socket have different IP versions.
    pub fn join(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        match self.group(group)? {
            IpAddr::V4(group) => {
                let interface = InterfaceIndexOrAddress::Index(interface);
                self.inner.join_multicast_v4_n(&group, &interface)
            }
            IpAddr::V6(group) => self.inner.join_multicast_v6(&group, interface),
        }
    }

    /// Leaves a multicast group that was joined at the interface.
    ///
    /// # Errors
    /// The system refuses the request, or the group was not joined at this interface.
    pub fn leave(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        match self.group(group)? {
            IpAddr::V4(group) => {
                let interface = InterfaceIndexOrAddress::Index(interface);
                self.inner.leave_multicast_v4_n(&group, &interface)
            }
            IpAddr::V6(group) => self.inner.leave_multicast_v6(&group, interface),
        }
    }

    /// Sets the options for sending to multicast groups.
    ///
    /// # Errors
    /// The system refuses the options, or there is no such interface.
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

/// Sets the size of a buffer. The first attempt ignores the system's limit. Only a network administrator may do this.
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

/// Sets the outgoing interface of multicast by its index. The call needs a `struct ip_mreqn` with zero addresses.
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
    // SAFETY: the kernel reads `N` bytes of `value`, which lives until the call returns.
    // The kernel copies the bytes, so they need no alignment.
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
