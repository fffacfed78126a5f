//! Sender and receiver of one TCP flow, with non-blocking sockets of the kernel.

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

/// Zeros that are the payload of all flows, 256 KiB.
pub(super) static NOTHING: [u8; 256 << 10] = [0; 256 << 10];

/// Maximum wake-up threshold of a receiver in bytes. The kernel does not wake the receiver for each segment.
/// To wake a thread on another CPU costs more than to process a segment.
const AT_ONCE: u64 = 16 << 10;

sockopt_impl!(
    /// Socket option for the number of bytes in the receive buffer at which the kernel reports the socket as readable.
    ReceiveLowWater,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    usize
);

/// Sending end of a TCP flow.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
    /// Number of the flow that this end sends.
    pub flow: FlowId,
    /// Host at which this end is.
    pub host: HostId,
    /// Bytes that the socket has not accepted yet.
    left: u64,
    is_established: bool,
    /// Whether the sender has shut down its direction of the connection.
    has_ended: bool,
}

/// Receiving end of a TCP flow.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    /// Number of the flow that this end receives.
    pub flow: FlowId,
    /// Host at which this end is.
    pub host: HostId,
    /// Bytes of the flow that have not arrived yet.
    left: u64,
    wakes: WakeUps,
}

/// Threshold at which the kernel wakes a receiver: bytes in its receive buffer.
#[derive(Debug)]
pub(super) struct WakeUps {
    /// Current threshold in bytes.
    at: u64,
}

/// Event of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The handshake is complete.
    Established,
    /// All bytes of the flow have arrived.
    Completed,
    /// The connection has ended normally.
    Closed,
    /// The peer has refused or reset the connection, or the connection has timed out.
    Failed,
}

/// Returns a socket that listens on `port`, in the network namespace of the calling thread.
///
/// # Errors
/// The kernel rejects a call.
pub fn listen(port: u16) -> io::Result<OwnedFd> {
    let socket = stream_socket()?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    let everywhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
    rustix::net::bind(&socket, &everywhere)?;
    rustix::net::listen(&socket, 4_096)?;
    Ok(socket)
}

/// Accepts the next connection, and returns it with the client's address. Returns `None` if no connection is waiting.
///
/// # Errors
/// The kernel rejects the call.
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

/// Returns a TCP socket in the network namespace of the calling thread.
///
/// # Errors
/// The kernel rejects the call.
pub fn stream_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
}

/// Binds a socket and returns its port: a port that pins the flow to `path`, or any free port.
///
/// # Errors
/// No port is free.
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

/// Returns the port to which a socket is bound.
///
/// # Errors
/// The kernel rejects the call.
pub fn port_of(socket: &OwnedFd) -> io::Result<u16> {
    Ok(SocketAddrV4::try_from(rustix::net::getsockname(socket)?)?.port())
}

/// Starts to open a connection, and returns before the handshake is complete.
///
/// # Errors
/// The kernel rejects the call.
pub fn connect(socket: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    // Without TCP_NODELAY, the last segment of a message waits for the ACK of the previous segments.
    sockopt::set_tcp_nodelay(socket, true)?;
    match rustix::net::connect(socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a finished connection attempt was successful.
pub fn is_connected(socket: &OwnedFd) -> bool {
    matches!(sockopt::socket_error(socket), Ok(Ok(())))
}

/// Closes a connection with a reset.
pub fn reset(socket: OwnedFd) {
    // Setting the option fails only if the connection is already closed.
    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
    drop(socket);
}

impl Sender {
    /// Opens the connection of a flow from the network namespace of the calling thread.
    /// Returns the sender and its local port.
    ///
    /// # Errors
    /// The kernel rejects a call.
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

    /// Returns the statistics of the connection so far.
    pub fn stats(&self) -> FlowStats {
        tcp_info::stats(&self.socket)
    }

    /// Writes until the socket is full. After the last byte, shuts down the sending direction.
    /// Checks at the end whether the peer has closed the connection. Calls `on_progress` for each event.
    pub fn serve(&mut self, is_writable: bool, mut on_progress: impl FnMut(Progress)) {
        if !self.is_established {
            if !is_writable {
                return;
            }
            if !is_connected(&self.socket) {
                return on_progress(Progress::Failed);
            }
            self.is_established = true;
            on_progress(Progress::Established);
        }
        while self.left > 0 {
            let part = &NOTHING[..self.left.min(NOTHING.len() as u64) as usize];
            match rustix::net::send(&self.socket, part, SendFlags::NOSIGNAL) {
                Ok(sent) => self.left -= sent as u64,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return on_progress(Progress::Failed),
            }
        }
        if !self.has_ended {
            self.has_ended = true;
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
        }
        let mut nothing = [0; 8];
        match rustix::net::recv(&self.socket, &mut nothing[..], RecvFlags::empty()) {
            Ok((0, _)) => on_progress(Progress::Closed),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => on_progress(Progress::Failed),
        }
    }
}

impl Receiver {
    /// Creates the receiving end of a flow of `bytes` bytes, for a connection that `host` has accepted.
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

    /// Reads all available data into `buffer`. Calls `on_progress` for each event.
    pub fn serve(&mut self, buffer: &mut [u8], mut on_progress: impl FnMut(Progress)) {
        loop {
            match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return on_progress(Progress::Closed),
                Ok((count, _)) => {
                    let before = self.left;
                    self.left = self.left.saturating_sub(count as u64);
                    if before > 0 && self.left == 0 {
                        on_progress(Progress::Completed);
                    }
                    self.wakes.set(&self.socket, self.left);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return on_progress(Progress::Failed),
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
    /// Sets the threshold so that the receiver wakes up at the latest when all `left` missing bytes are in the socket.
    pub fn set(&mut self, socket: &OwnedFd, left: u64) {
        let bytes = left.clamp(1, AT_ONCE);
        // The error is ignored: without the option, each segment wakes the receiver.
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
