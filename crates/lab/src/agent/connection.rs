//! One end of a connection.

use super::tcp_info;
use nix::{setsockopt_impl, sockopt_impl};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrV4, SocketFlags, SocketType, sockopt,
};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tailcut_transport::FlowStats;
use tailcut_units::{FlowId, HostId};

/// What is sent: zeros.
static NOTHING: [u8; 256 << 10] = [0; 256 << 10];

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
    /// How many bytes there must be for the kernel to wake it.
    wakes_at: u64,
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

fn stream_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
}

impl Sender {
    /// Opens a connection from this thread's network, for `bytes` of a flow of `host`. Gives the port, too.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(
        flow: FlowId,
        host: HostId,
        to: SocketAddrV4,
        bytes: u64,
    ) -> io::Result<(Self, u16)> {
        let socket = stream_socket()?;
        // The end of a message does not wait for the ACK of what is before it.
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let own = SocketAddrV4::try_from(rustix::net::getsockname(&socket)?)?;
        let sender = Self {
            socket,
            flow,
            host,
            left: bytes,
            is_established: false,
            has_ended: false,
        };
        Ok((sender, own.port()))
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
            if !matches!(sockopt::socket_error(&self.socket), Ok(Ok(()))) {
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
            wakes_at: 1,
        };
        receiver.wake_at_the_end();
        receiver
    }

    /// Sees to it that the last byte wakes.
    fn wake_at_the_end(&mut self) {
        let bytes = self.left.clamp(1, AT_ONCE);
        // Where it cannot be set each segment wakes.
        if bytes != self.wakes_at
            && nix::sys::socket::setsockopt(&self.socket, ReceiveLowWater, &(bytes as usize))
                .is_ok()
        {
            self.wakes_at = bytes;
        }
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
                    self.wake_at_the_end();
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return tell(Progress::Failed),
            }
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
