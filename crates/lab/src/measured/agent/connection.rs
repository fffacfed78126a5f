//! One end of a connection.

use super::orders::Start;
use super::tcp_info;
use crate::emulator::pins;
use nix::{setsockopt_impl, sockopt_impl};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrV4, SocketFlags, SocketType, sockopt,
};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tailcut_transport::FlowStats;
use tailcut_units::{FlowId, HostId};

/// What is sent: zeros.
pub(super) static NOTHING: [u8; 256 << 10] = [0; 256 << 10];

/// A receiver is woken for so many bytes and at the end of its flow, not for each segment: a thread that is
/// woken on another CPU costs more than a segment does.
const AT_ONCE: u64 = 16 << 10;

sockopt_impl!(
    /// How many bytes there must be before a socket can be read.
    ReceiveLowWater,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    usize
);

/// The end that sends.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
    /// What it sends.
    pub flow: FlowId,
    /// From where.
    pub host: HostId,
    left: u64,
    is_established: bool,
    has_ended: bool,
}

/// The end that receives.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    /// What it receives.
    pub flow: FlowId,
    /// Where.
    pub host: HostId,
    left: u64,
    wakes: WakeUps,
}

/// When the kernel wakes a receiver.
#[derive(Debug)]
pub(super) struct WakeUps {
    /// How many bytes there must be.
    at: u64,
}

/// What has become of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The handshake is done.
    Established,
    /// Every byte is there.
    Completed,
    /// It is over.
    Closed,
    /// The other end has refused or broken it off.
    Failed,
}

/// A socket that listens at `port` in this thread's network.
///
/// # Errors
/// The system refuses.
pub fn listen(port: u16) -> io::Result<OwnedFd> {
    let socket = stream_socket()?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    let everywhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
    rustix::net::bind(&socket, &everywhere)?;
    rustix::net::listen(&socket, 4_096)?;
    Ok(socket)
}

/// The next connection that somebody has opened, with where from; `None` where there is none.
///
/// # Errors
/// The system refuses.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<(OwnedFd, SocketAddrV4)>> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    match rustix::net::acceptfrom_with(listener, flags) {
        Ok((socket, peer)) => {
            let peer = peer.and_then(|peer| SocketAddrV4::try_from(peer).ok());
            Ok(peer.map(|peer| (socket, peer)))
        }
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A socket of this thread's network.
///
/// # Errors
/// The system refuses.
pub fn stream_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
}

/// Binds a socket to a port that the kernel picks, or to one of a path. Gives the port.
///
/// # Errors
/// No port is left.
pub fn bind(socket: &OwnedFd, path: Option<u16>) -> io::Result<u16> {
    let bind = |port| rustix::net::bind(socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
    match path {
        None => bind(0)?,
        Some(path) => {
            let is_free = |port: &u16| bind(*port).is_ok();
            pins::ports(path).find(is_free).ok_or(Errno::ADDRINUSE)?;
        }
    }
    port_of(socket)
}

/// The port that a socket is bound to.
///
/// # Errors
/// The system refuses.
pub fn port_of(socket: &OwnedFd) -> io::Result<u16> {
    Ok(SocketAddrV4::try_from(rustix::net::getsockname(socket)?)?.port())
}

/// Begins to connect.
///
/// # Errors
/// The system refuses.
pub fn connect(socket: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    // The end of a message does not wait for the ACK of what is before it.
    sockopt::set_tcp_nodelay(socket, true)?;
    match rustix::net::connect(socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether an attempt to connect, which has ended, has succeeded.
pub fn is_connected(socket: &OwnedFd) -> bool {
    matches!(sockopt::socket_error(socket), Ok(Ok(())))
}

/// Closes a connection by a reset.
pub fn reset(socket: OwnedFd) {
    // What fails here is a connection that is gone already.
    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
    drop(socket);
}

impl Sender {
    /// Opens the connection of a flow from this thread's network. Gives the port, too.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(start: &Start, to: SocketAddrV4) -> io::Result<(Self, u16)> {
        let socket = stream_socket()?;
        if start.path.is_some() {
            bind(&socket, start.path)?;
        }
        connect(&socket, to)?;
        let port = port_of(&socket)?;
        let sender = Self {
            socket,
            flow: start.flow,
            host: start.from,
            left: start.bytes,
            is_established: false,
            has_ended: false,
        };
        Ok((sender, port))
    }

    /// What the connection has cost so far.
    pub fn stats(&self) -> FlowStats {
        tcp_info::stats(&self.socket)
    }

    /// Goes on as far as it can: writes, ends, and looks whether the other end has ended. Tells `tell` what
    /// has become of it.
    pub fn go_on(&mut self, is_writable: bool, mut tell: impl FnMut(Progress)) {
        if !self.is_established {
            if !is_writable {
                return;
            }
            if !is_connected(&self.socket) {
                return tell(Progress::Failed);
            }
            self.is_established = true;
            tell(Progress::Established);
        }
        while self.left > 0 {
            let part = &NOTHING[..self.left.min(NOTHING.len() as u64) as usize];
            match rustix::net::send(&self.socket, part, SendFlags::NOSIGNAL) {
                Ok(sent) => self.left -= sent as u64,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return tell(Progress::Failed),
            }
        }
        if !self.has_ended {
            self.has_ended = true;
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
        }
        let mut nothing = [0; 8];
        match rustix::net::recv(&self.socket, &mut nothing[..], RecvFlags::empty()) {
            Ok((0, _)) => tell(Progress::Closed),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => tell(Progress::Failed),
        }
    }
}

impl Receiver {
    /// The end of a connection that was accepted by `host`, for `bytes` of a flow.
    pub fn new(socket: OwnedFd, flow: FlowId, host: HostId, bytes: u64) -> Self {
        let mut receiver = Self {
            socket,
            flow,
            host,
            left: bytes,
            wakes: WakeUps::default(),
        };
        receiver.wakes.set(&receiver.socket, bytes);
        receiver
    }

    /// Reads what there is into `buffer`. Tells `tell` what has become of it.
    pub fn go_on(&mut self, buffer: &mut [u8], mut tell: impl FnMut(Progress)) {
        loop {
            match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return tell(Progress::Closed),
                Ok((count, _)) => {
                    let before = self.left;
                    self.left = self.left.saturating_sub(count as u64);
                    if before > 0 && self.left == 0 {
                        tell(Progress::Completed);
                    }
                    self.wakes.set(&self.socket, self.left);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return tell(Progress::Failed),
            }
        }
    }
}

impl Default for WakeUps {
    fn default() -> Self {
        Self { at: 1 }
    }
}

impl WakeUps {
    /// Sees to it that the last of the bytes that are `left` wakes.
    pub fn set(&mut self, socket: &OwnedFd, left: u64) {
        let bytes = left.clamp(1, AT_ONCE);
        // Where it cannot be set each segment wakes.
        if bytes != self.at
            && nix::sys::socket::setsockopt(socket, ReceiveLowWater, &(bytes as usize)).is_ok()
        {
            self.at = bytes;
        }
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
