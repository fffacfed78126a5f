//! Copies of requests over the kernel's TCP. Each copy is one connection, as in the simulator's carrier: the
//! client opens it and asks, the server answers on it, and a client that wants no more resets it. The class of
//! a copy is the DSCP of its packets.

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
    /// The byte of IPv4's header that has the DSCP.
    TypeOfService,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_TOS,
    i32
);

/// The class of a port of servers.
pub fn class_of(leg: Leg) -> u8 {
    match leg {
        Leg::First => HIGH,
        Leg::Second => LOW,
    }
}

/// Gives what a socket sends from now on the DSCP of a class. ECN's bits stay the kernel's.
pub fn mark(socket: &OwnedFd, class: u8) {
    // A socket of IPv4 has the option.
    let _ = setsockopt(socket, TypeOfService, &(i32::from(code_point(class)) << 2));
}

/// One end of a copy.
struct End {
    socket: OwnedFd,
    number: u32,
    side: Side,
    host: HostId,
    is_connected: bool,
    /// Bytes that the socket has not taken yet.
    unsent: u64,
    /// Whether nothing follows them.
    is_last: bool,
    /// Whether the peer was told so.
    has_shut: bool,
    received: u64,
    peer_has_shut: bool,
}

/// The copies of all hosts.
pub struct Copies {
    port: u16,
    /// Sockets have keys from here on.
    keys: u64,
    next: u64,
    ends: HashMap<u64, End>,
    /// The key of each end.
    open: HashMap<(u32, Side), u64>,
    /// Copies whose connections have been opened and not accepted: by client, its port, and server.
    expected: HashMap<(HostId, u16, HostId), u32>,
    buffer: Vec<u8>,
}

impl Copies {
    /// Those of servers that high copies reach at `port`, and low ones at the port after it. Sockets are known
    /// to the poller by keys from `keys` on.
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

    /// A host orders something. An ask has to come in the network of that host.
    pub fn order(&mut self, host: HostId, order: CopyOrder, poller: &Poller, report: &Reporter) {
        match order {
            CopyOrder::Ask(ask) => {
                if self.ask(host, ask, poller).is_err() {
                    let (side, stats, end) = (Side::Client, FlowStats::default(), Ending::Failed);
                    let ended = CopyNews::Ended { side, stats, end };
                    report.tell(host, Event::Copy(ask.number, ended));
                }
            }
            CopyOrder::Say { number, bytes } => {
                self.change((number, Side::Client), report, |end| end.unsent += bytes);
            }
            CopyOrder::Finish { number } => {
                self.change((number, Side::Client), report, |end| end.is_last = true);
            }
            CopyOrder::Answer { number, answer } => {
                self.change((number, Side::Server), report, |end| {
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
                    // The word that ends work is urgent.
                    mark(&end.socket, HIGH);
                    connection::reset(end.socket);
                }
            }
        }
    }

    /// Opens the connection of a copy, and asks.
    fn ask(&mut self, host: HostId, ask: Ask, poller: &Poller) -> io::Result<()> {
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
        self.keep(end, poller)
    }

    /// A connection from a client's port has come to a server, at the port of a class.
    pub fn arrived(
        &mut self,
        server: HostId,
        class: u8,
        (client, port): (HostId, u16),
        socket: OwnedFd,
        (poller, report): (&Poller, &Reporter),
    ) {
        let number = self.expected.remove(&(client, port, server));
        // One that its client has reset before it was accepted is nobody's.
        let Some(number) = number else {
            return connection::reset(socket);
        };
        mark(&socket, class);
        // Without it the end of an answer would wait for the ACK of what is before it.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let accepted = CopyNews::Accepted { room: None };
        report.tell(server, Event::Copy(number, accepted));
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
        // What cannot be waited for is reset, and its client tells.
        let _ = self.keep(end, poller);
    }

    /// The socket of this key has something.
    pub fn wake(&mut self, key: u64, is_writable: bool, report: &Reporter) {
        if let Some(end) = self.ends.get_mut(&key) {
            let ended = end.go_on(is_writable, &mut self.buffer, report);
            self.settle(key, ended, report);
        }
    }

    /// The run is over: what open answers have cost is told as that of failed ones.
    pub fn leave(&self, report: &Reporter) {
        for end in self.ends.values().filter(|end| end.side == Side::Server) {
            end.tell(end.ended(Ending::Failed), report);
        }
    }

    fn keep(&mut self, end: End, poller: &Poller) -> io::Result<()> {
        let key = self.keys + self.next;
        self.next += 1;
        poller.add_edges(&end.socket, key)?;
        self.open.insert((end.number, end.side), key);
        self.ends.insert(key, end);
        Ok(())
    }

    /// Changes an end, if it is still open, and goes on with it.
    fn change(&mut self, name: (u32, Side), report: &Reporter, change: impl FnOnce(&mut End)) {
        if let Some(&key) = self.open.get(&name)
            && let Some(end) = self.ends.get_mut(&key)
        {
            change(end);
            let ended = match end.is_connected {
                true => end.go_on(true, &mut self.buffer, report),
                false => None,
            };
            self.settle(key, ended, report);
        }
    }

    /// Tells that an end is over, if it is.
    fn settle(&mut self, key: u64, ended: Option<Ending>, report: &Reporter) {
        let name = |end: &End| (end.number, end.side);
        if let Some(ending) = ended
            && let Some(name) = self.ends.get(&key).map(name)
            && let Some(end) = self.remove(name)
        {
            end.tell(end.ended(ending), report);
        }
    }

    fn remove(&mut self, name: (u32, Side)) -> Option<End> {
        let key = self.open.remove(&name)?;
        self.ends.remove(&key)
    }
}

impl End {
    fn tell(&self, news: CopyNews, report: &Reporter) {
        report.tell(self.host, Event::Copy(self.number, news));
    }

    fn ended(&self, end: Ending) -> CopyNews {
        let (side, stats) = (self.side, tcp_info::stats(&self.socket));
        CopyNews::Ended { side, stats, end }
    }

    /// Goes on as far as it can; how it has ended, if it has.
    fn go_on(&mut self, is_writable: bool, buffer: &mut [u8], report: &Reporter) -> Option<Ending> {
        if !self.is_connected {
            if !is_writable {
                return None;
            }
            if !connection::is_connected(&self.socket) {
                return Some(Ending::Failed);
            }
            self.is_connected = true;
        }
        if let Err(error) = self.send().and_then(|()| self.receive(buffer, report)) {
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

    /// Reads what there is, and tells how much there is now.
    fn receive(&mut self, buffer: &mut [u8], report: &Reporter) -> Result<(), Errno> {
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
            self.tell(CopyNews::Delivered { total }, report);
        }
        if self.peer_has_shut && self.side == Side::Client {
            self.tell(CopyNews::Whole, report);
        }
        result
    }
}
