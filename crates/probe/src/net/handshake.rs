//! Socket for one handshake.

use super::queue::{self, Icmp};
use crate::stats::Handshake;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt as options,
};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Socket with a fixed source port for one handshake. When the value is dropped, a reset closes the connection.
/// After a reset the five-tuple can be used again immediately, because neither host keeps any state.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    to: SocketAddr,
    pub began: Instant,
}

/// Result of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The handshake is complete.
    Established {
        /// Round-trip time of the answered SYN, measured by the kernel.
        rtt: Duration,
        /// Number of repeated SYNs.
        resent: u32,
    },
    /// The target answered with a reset.
    Refused,
    /// A router or host answered with an ICMP message.
    Icmp(Icmp),
    /// The system reported an error.
    Failed(Errno),
}

impl Socket {
    /// Creates a socket that is bound to a source port.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn bound(to: SocketAddr, port: u16) -> Result<Self, Errno> {
        let (family, any): (AddressFamily, SocketAddr) = match to {
            SocketAddr::V4(_) => (AddressFamily::INET, (Ipv4Addr::UNSPECIFIED, port).into()),
            SocketAddr::V6(_) => (AddressFamily::INET6, (Ipv6Addr::UNSPECIFIED, port).into()),
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, None)?;
        // An earlier socket with this five-tuple may still be partly open.
        options::set_socket_reuseaddr(&fd, true)?;
        options::set_socket_linger(&fd, Some(Duration::ZERO))?;
        bind(&fd, &any)?;
        Ok(Self {
            fd,
            to,
            began: Instant::now(),
        })
    }

    /// Sends the SYN. With a TTL, routers on the path answer by ICMP.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn connect(&mut self, ttl: Option<u8>) -> Result<(), Errno> {
        let is_v4 = self.to.is_ipv4();
        if let Some(ttl) = ttl {
            match is_v4 {
                true => options::set_ip_ttl(&self.fd, ttl.into())?,
                false => options::set_ipv6_unicast_hops(&self.fd, Some(ttl))?,
            }
        }
        let heard = match is_v4 {
            true => setsockopt(&self.fd, sockopt::Ipv4RecvErr, &true),
            false => setsockopt(&self.fd, sockopt::Ipv6RecvErr, &true),
        };
        heard.map_err(|error| Errno::from_raw_os_error(error as i32))?;
        self.began = Instant::now();
        match connect(&self.fd, &self.to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            // The error belongs to an earlier ICMP message on this connection, in the error queue.
            Err(Errno::HOSTUNREACH | Errno::CONNREFUSED) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the result, or `None` if it is not known yet.
    /// The caller should wait until the socket is ready.
    pub fn outcome(&self) -> Option<Outcome> {
        let info = tcp_info(self.fd.as_fd());
        // A measured round-trip time means that the handshake is complete.
        // The peer may have closed or reset the connection after the handshake.
        if let Some(info) = info.filter(|info| info.tcpi_rtt > 0) {
            return Some(Outcome::Established {
                rtt: Duration::from_micros(info.tcpi_rtt.into()),
                resent: info.tcpi_total_retrans,
            });
        }
        if let Some(icmp) = queue::take(&self.fd) {
            return Some(Outcome::Icmp(icmp));
        }
        match options::socket_error(&self.fd) {
            Ok(Err(Errno::CONNREFUSED)) => return Some(Outcome::Refused),
            Ok(Err(error)) | Err(error) => return Some(Outcome::Failed(error)),
            Ok(Ok(())) => {}
        }
        match info {
            Some(info) if [SYN_SENT, SYN_RECEIVED].contains(&info.tcpi_state) => None,
            Some(info) if info.tcpi_state != CLOSED => Some(Outcome::Established {
                // The kernel measures no round-trip time if the SYN was repeated.
                rtt: self.began.elapsed(),
                resent: info.tcpi_total_retrans.max(1),
            }),
            _ => Some(Outcome::Failed(Errno::CONNRESET)),
        }
    }
}

/// Returns the handshake of any connection as the kernel has measured it.
/// Returns `None` if the kernel did not measure this handshake.
pub fn handshake_of(socket: impl AsFd) -> Option<Handshake> {
    let info = tcp_info(socket.as_fd())?;
    (info.tcpi_rtt > 0).then(|| Handshake {
        sent_us: 0.0,
        us: f64::from(info.tcpi_rtt),
        resent: info.tcpi_total_retrans,
        is_answered: true,
    })
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Connection state SYN-SENT (include/net/tcp_states.h).
const SYN_SENT: u8 = 2;
const SYN_RECEIVED: u8 = 3;
const CLOSED: u8 = 7;

/// Returns the kernel's data about a connection.
fn tcp_info(socket: BorrowedFd<'_>) -> Option<libc::tcp_info> {
    // SAFETY: `tcp_info` consists of numbers, for which all-zero bytes are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, and the kernel writes at most `length` bytes.
    // `info` and `length` live until the call returns, and the kernel keeps no pointer to them.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (answer == 0).then_some(info)
}

/// Waits until one of the sockets is ready, or until the time `most` has passed.
///
/// # Errors
/// The system reports an error.
pub fn wait_for<'a>(
    sockets: impl Iterator<Item = &'a Socket>,
    most: Duration,
) -> Result<(), Errno> {
    let mut files: Vec<PollFd<'_>> = sockets
        .map(|socket| PollFd::new(socket, PollFlags::OUT))
        .collect();
    let most = Timespec {
        tv_sec: most.as_secs() as i64,
        tv_nsec: most.subsec_nanos().into(),
    };
    match poll(&mut files, Some(&most)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}
