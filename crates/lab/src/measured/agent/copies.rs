//! Copies of requests over the kernel's TCP.
//! As in the simulator, each copy has its own connection. The client opens the connection and sends the request.
//! The server answers on the same connection. A client that no longer needs a copy resets its connection.
//! The DSCP of the packets contains the priority class of the copy.

use super::connection::{self, NOTHING};
use super::report::Reporter;
use super::tcp_info;
use crate::emulator::addresses;
use crate::emulator::frames::code_point;
use crate::emulator::poller::Poller;
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketAddrV4, sockopt};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use tailcut_requests::{HIGH, LOW};
use tailcut_transport::copies::{Ask, CopyNews, CopyOrder, End as Ending, Side};
use tailcut_transport::repnet::Leg;
use tailcut_transport::{Event, FlowStats};
use tailcut_units::HostId;

sockopt_impl!(
    /// Socket option for the byte of the IPv4 header that contains the DSCP.
    TypeOfService,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_TOS,
    i32
);

/// Returns the priority class of the copies that arrive at one of the server's two ports.
/// Copies of the high class arrive at the first port, and copies of the low class at the second port.
pub fn class_of(leg: Leg) -> u8 {
    match leg {
        Leg::First => HIGH,
        Leg::Second => LOW,
    }
}

/// Sets the DSCP of all later packets of a socket to the DSCP of `class`. The kernel still controls the ECN bits.
pub fn mark(socket: &OwnedFd, class: u8) {
    // Setting the option cannot fail, because every IPv4 socket supports it.
    let _ = setsockopt(socket, TypeOfService, &(i32::from(code_point(class)) << 2));
}

/// One end of a copy's connection, at the client or at the server.
struct End {
    socket: OwnedFd,
    number: u32,
    side: Side,
    host: HostId,
    is_connected: bool,
    /// Bytes that the socket has not accepted yet.
    unsent: u64,
    /// Whether `unsent` contains the last bytes that this end sends.
    is_last: bool,
    /// Whether this end has shut down its direction of the connection.
    has_shut: bool,
    received: u64,
    peer_has_shut: bool,
}

/// Open copies of requests of all hosts.
pub struct Copies {
    port: u16,
    /// Lowest poller key of the sockets.
    keys: u64,
    /// Number of sockets that were registered so far.
    next: u64,
    ends: HashMap<u64, End>,
    /// Poller key of each open end, by the number of the copy and the side.
    open: HashMap<(u32, Side), u64>,
    /// Number of each copy whose connection is opened but not accepted yet.
    /// The key is the client, its port, and the server.
    expected: HashMap<(HostId, u16, HostId), u32>,
    buffer: Vec<u8>,
}

impl Copies {
    /// Creates an empty set of copies.
    /// Servers receive copies of the high class at `port`, and copies of the low class at the next port.
    /// `keys` is the lowest poller key of the sockets.
    pub fn new(port: u16, keys: u64) -> Self {
        Self {
            port,
            keys,
            next: 0,
            ends: HashMap::new(),
            open: HashMap::new(),
            expected: HashMap::new(),
            buffer: vec![0; 256 << 10],
        }
    }

    /// Executes an order of a host.
    /// For [`CopyOrder::Ask`], the calling thread must be in the network namespace of `host`.
    pub fn order(&mut self, host: HostId, order: CopyOrder, poller: &Poller, reporter: &Reporter) {
        match order {
            CopyOrder::Ask(ask) => {
                if self.open_copy(host, ask, poller).is_err() {
                    let (side, stats, end) = (Side::Client, FlowStats::default(), Ending::Failed);
                    let ended = CopyNews::Ended { side, stats, end };
                    reporter.report(host, Event::Copy(ask.number, ended));
                }
            }
            CopyOrder::Say { number, bytes } => {
                self.change((number, Side::Client), reporter, |end| end.unsent += bytes);
            }
            CopyOrder::Finish { number } => {
                self.change((number, Side::Client), reporter, |end| end.is_last = true);
            }
            CopyOrder::Answer { number, answer } => {
                self.change((number, Side::Server), reporter, |end| {
                    end.unsent += answer.bytes;
                    end.is_last |= answer.is_last;
                });
            }
            CopyOrder::SetClass { number, class } => {
                for side in [Side::Client, Side::Server] {
                    let key = self.open.get(&(number, side));
                    let end = key.and_then(|key| self.ends.get(key));
                    if let Some(end) = end.filter(|end| end.host == host) {
                        mark(&end.socket, class);
                    }
                }
            }
            CopyOrder::Reset { number } => {
                if let Some(end) = self.remove((number, Side::Client)) {
                    // The reset stops the work of the server.
                    // The reset has the high class, so that it overtakes queued data.
                    mark(&end.socket, HIGH);
                    connection::reset(end.socket);
                }
            }
        }
    }

    /// Opens the connection of a copy and queues the request.
    fn open_copy(&mut self, host: HostId, ask: Ask, poller: &Poller) -> io::Result<()> {
        let class = ask.class.min(LOW);
        let socket = connection::stream_socket()?;
        mark(&socket, class);
        let port = self.port + u16::from(class - HIGH);
        connection::connect(
            &socket,
            SocketAddrV4::new(addresses::ipv4(ask.server), port),
        )?;
        let from = (host, connection::port_of(&socket)?, ask.server);
        self.expected.insert(from, ask.number);
        let end = End {
            socket,
            number: ask.number,
            side: Side::Client,
            host,
            is_connected: false,
            unsent: ask.bytes,
            is_last: false,
            has_shut: false,
            received: 0,
            peer_has_shut: false,
        };
        self.register(end, poller)
    }

    /// Assigns an accepted connection to its copy. `class` is the class that belongs to the server's port.
    pub fn arrived(
        &mut self,
        server: HostId,
        class: u8,
        (client, port): (HostId, u16),
        socket: OwnedFd,
        (poller, reporter): (&Poller, &Reporter),
    ) {
        let number = self.expected.remove(&(client, port, server));
        let Some(number) = number else {
            // The copy is unknown, because the client has reset its connection before the server accepted it.
            return connection::reset(socket);
        };
        mark(&socket, class);
        // Without TCP_NODELAY, the last segment of an answer waits for the ACK of the previous segments.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let accepted = CopyNews::Accepted { room: None };
        reporter.report(server, Event::Copy(number, accepted));
        let end = End {
            socket,
            number,
            side: Side::Server,
            host: server,
            is_connected: true,
            unsent: 0,
            is_last: false,
            has_shut: false,
            received: 0,
            peer_has_shut: false,
        };
        // If the poller rejects the socket, the socket closes, and the client reports the failure.
        let _ = self.register(end, poller);
    }

    /// Serves the socket with this poller key. The socket is readable or writable.
    pub fn wake(&mut self, key: u64, is_writable: bool, reporter: &Reporter) {
        if let Some(end) = self.ends.get_mut(&key) {
            let ended = end.serve(is_writable, &mut self.buffer, reporter);
            self.finish(key, ended, reporter);
        }
    }

    /// Reports all copies whose server end is still open at the end of the run as failed, with their statistics.
    pub fn report_unfinished(&self, reporter: &Reporter) {
        for end in self.ends.values().filter(|end| end.side == Side::Server) {
            end.report(end.ended(Ending::Failed), reporter);
        }
    }

    fn register(&mut self, end: End, poller: &Poller) -> io::Result<()> {
        let key = self.keys + self.next;
        self.next += 1;
        poller.add_edges(&end.socket, key)?;
        self.open.insert((end.number, end.side), key);
        self.ends.insert(key, end);
        Ok(())
    }

    /// Applies `change` to an end of a copy's connection if the end is still open. After that, serves the end's socket.
    fn change(&mut self, name: (u32, Side), reporter: &Reporter, change: impl FnOnce(&mut End)) {
        if let Some(&key) = self.open.get(&name)
            && let Some(end) = self.ends.get_mut(&key)
        {
            change(end);
            let ended = match end.is_connected {
                true => end.serve(true, &mut self.buffer, reporter),
                false => None,
            };
            self.finish(key, ended, reporter);
        }
    }

    /// Removes an end of a copy's connection and reports its end. Does nothing if `ended` is `None`.
    fn finish(&mut self, key: u64, ended: Option<Ending>, reporter: &Reporter) {
        let name = |end: &End| (end.number, end.side);
        if let Some(ending) = ended
            && let Some(name) = self.ends.get(&key).map(name)
            && let Some(end) = self.remove(name)
        {
            end.report(end.ended(ending), reporter);
        }
    }

    fn remove(&mut self, name: (u32, Side)) -> Option<End> {
        let key = self.open.remove(&name)?;
        self.ends.remove(&key)
    }
}

impl End {
    fn report(&self, news: CopyNews, reporter: &Reporter) {
        reporter.report(self.host, Event::Copy(self.number, news));
    }

    fn ended(&self, end: Ending) -> CopyNews {
        let (side, stats) = (self.side, tcp_info::stats(&self.socket));
        CopyNews::Ended { side, stats, end }
    }

    /// Sends and receives until the socket blocks. Returns the result if this end of the connection has ended.
    fn serve(
        &mut self,
        is_writable: bool,
        buffer: &mut [u8],
        reporter: &Reporter,
    ) -> Option<Ending> {
        if !self.is_connected {
            if !is_writable {
                return None;
            }
            if !connection::is_connected(&self.socket) {
                return Some(Ending::Failed);
            }
            self.is_connected = true;
        }
        if let Err(error) = self.send().and_then(|()| self.receive(buffer, reporter)) {
            // At a server, a reset of the connection means that the client no longer needs the copy.
            let is_purged =
                self.side == Side::Server && matches!(error, Errno::CONNRESET | Errno::PIPE);
            return Some(match is_purged {
                true => Ending::Purged,
                false => Ending::Failed,
            });
        }
        let both = self.has_shut && self.peer_has_shut;
        (both && tcp_info::is_over(&self.socket)).then_some(Ending::Whole)
    }

    fn send(&mut self) -> Result<(), Errno> {
        while self.unsent > 0 {
            let part = &NOTHING[..self.unsent.min(NOTHING.len() as u64) as usize];
            match rustix::net::send(&self.socket, part, SendFlags::NOSIGNAL) {
                Ok(sent) => self.unsent -= sent as u64,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_last && !self.has_shut {
            self.has_shut = true;
            rustix::net::shutdown(&self.socket, Shutdown::Write)?;
        }
        Ok(())
    }

    /// Reads all available data, and reports the number of bytes.
    fn receive(&mut self, buffer: &mut [u8], reporter: &Reporter) -> Result<(), Errno> {
        if self.peer_has_shut {
            return Ok(());
        }
        let before = self.received;
        let result = loop {
            match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    self.peer_has_shut = true;
                    break Ok(());
                }
                Ok((count, _)) => self.received += count as u64,
                Err(Errno::AGAIN) => break Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => break Err(error),
            }
        };
        if self.received > before {
            let total = self.received;
            self.report(CopyNews::Delivered { total }, reporter);
        }
        if self.peer_has_shut && self.side == Side::Client {
            self.report(CopyNews::Whole, reporter);
        }
        result
    }
}
