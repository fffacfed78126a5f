//! One end of a flow that RepNet carries over one connection or two.
//!
//! [`Flow`] decides; the connections are the kernel's. Both come from one port and go to two, as in the paper
//! (RepNet, section II-C) and in the simulator: not a byte is added. What differs from a flow of the library
//! `repnet` is settings only: no deadline but the waiting list's, and losers run to their ends however long
//! that takes, since their load is what replication costs.

use super::connection::{self, NOTHING, WakeUps};
use super::orders::Start;
use super::tcp_info;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketAddrV4, sockopt};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use tailcut_transport::FlowStats;
use tailcut_transport::repnet::{
    Command, Flow, FlowLimits, Leg, LegState, Mode, Refusal, RepNetConfig, Role,
};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// One end of a flow.
#[derive(Debug)]
pub struct Replicated {
    /// What it carries.
    pub id: FlowId,
    /// Where it is.
    pub host: HostId,
    flow: Flow,
    slots: [Slot; 2],
    /// Bytes of the whole flow.
    bytes: u64,
    /// What connections have cost that are no more.
    spent: FlowStats,
    has_failed: bool,
}

/// What has become of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The opener has its first connection.
    Established,
    /// Every byte is there.
    Completed,
    /// The server is to remember the flow, of which a connection may still come.
    Buried,
}

#[derive(Default, Debug)]
enum Slot {
    #[default]
    Empty,
    /// Bound, and not to be connected yet.
    Bound(OwnedFd, SocketAddrV4),
    Connecting(OwnedFd),
    Open(Line),
    /// The flow has done with it, and the kernel has not.
    Leaving(OwnedFd),
    /// An attempt to connect that is reset when it has ended: a server that knows flows by their addresses
    /// waits for it.
    GivenUp(OwnedFd),
}

/// A connection that carries bytes.
#[derive(Debug)]
struct Line {
    socket: OwnedFd,
    received: u64,
    wakes: WakeUps,
    /// The end of the peer's direction was read.
    has_ended: bool,
}

/// What bounds a flow: the size decides before it opens, nothing lags, and the archive's limit is the server's.
fn limits(config: &RepNetConfig, role: Role) -> FlowLimits {
    FlowLimits {
        max_bytes: u64::MAX,
        archive_cap: match role {
            Role::Client => u64::MAX,
            Role::Server => config.archive_limit,
        },
        lag_cap: u64::MAX,
        leg_deadline: Duration::MAX,
        confirm_timeout: Duration::MAX,
        waiting_list_timeout: config.waiting_list_timeout,
        idle_time: None,
    }
}

/// Two sockets of this thread's network that are bound to one port, for a path if one is named. Gives the
/// port, too.
fn pair(path: Option<u16>) -> io::Result<([OwnedFd; 2], u16)> {
    let sockets = [connection::stream_socket()?, connection::stream_socket()?];
    // Only the second socket may share the port, with the first one.
    let port = connection::bind(&sockets[0], path)?;
    for socket in &sockets {
        sockopt::set_socket_reuseaddr(socket, true)?;
    }
    rustix::net::bind(&sockets[1], &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
    Ok((sockets, port))
}

impl Replicated {
    /// Opens both connections of a flow from this thread's network, to two ports of its receiver. Gives the
    /// port that they come from, too.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(
        now: Time,
        start: &Start,
        to: [SocketAddrV4; 2],
        (mode, config): (Mode, &RepNetConfig),
    ) -> io::Result<(Self, u16)> {
        let ([first, second], port) = pair(start.path)?;
        let flow = Flow::client(now, mode, None, limits(config, Role::Client));
        let slots = [Slot::Bound(first, to[0]), Slot::Bound(second, to[1])];
        let mut opened = Self::new((start.flow, start.from, start.bytes), flow, slots);
        opened.flow.write(now, start.bytes);
        opened.flow.finish(now);
        // Nothing is told before a connection is there.
        opened.obey(now, &mut |_| {});
        Ok((opened, port))
    }

    /// A flow of which the connection `leg` has come.
    pub fn accepted(
        now: Time,
        flow: (FlowId, HostId, u64),
        (leg, socket): (Leg, OwnedFd),
        config: &RepNetConfig,
    ) -> Self {
        // Nothing in a SYN tells RepSYN from RepFlow.
        let served = Flow::server(now, Mode::RepFlow, leg, limits(config, Role::Server));
        let mut accepted = Self::new(flow, served, Default::default());
        accepted.slots[leg as usize] = Slot::Open(Line::new(socket, accepted.bytes));
        accepted
    }

    fn new((id, host, bytes): (FlowId, HostId, u64), flow: Flow, slots: [Slot; 2]) -> Self {
        Self {
            id,
            host,
            flow,
            slots,
            bytes,
            spent: FlowStats::default(),
            has_failed: false,
        }
    }

    /// The other connection has come. Resets it where the flow takes none.
    pub fn join(&mut self, now: Time, leg: Leg, socket: OwnedFd) {
        match self.flow.joined(now, leg) {
            true => self.slots[leg as usize] = Slot::Open(Line::new(socket, self.bytes)),
            false => connection::reset(socket),
        }
    }

    /// The socket of a connection.
    pub fn socket(&self, leg: Leg) -> Option<&OwnedFd> {
        match &self.slots[leg as usize] {
            Slot::Empty => None,
            Slot::Open(line) => Some(&line.socket),
            Slot::Bound(socket, _)
            | Slot::Connecting(socket)
            | Slot::Leaving(socket)
            | Slot::GivenUp(socket) => Some(socket),
        }
    }

    /// Whether this is the sender's end.
    pub fn is_sender(&self) -> bool {
        self.flow.role() == Role::Client
    }

    /// Whether the flow is over, attempts to connect aside that have been given up.
    pub fn is_over(&self) -> bool {
        let is_done = |slot: &Slot| matches!(slot, Slot::Empty | Slot::GivenUp(_));
        self.flow.has_ended() && self.slots.iter().all(is_done)
    }

    /// Whether nothing is left of it.
    pub fn is_gone(&self) -> bool {
        self.is_over() && self.slots.iter().all(|slot| matches!(slot, Slot::Empty))
    }

    /// Whether its last connection has failed.
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// What all its connections have cost so far.
    pub fn stats(&self) -> FlowStats {
        let mut stats = self.spent;
        for slot in &self.slots {
            match slot {
                Slot::Open(Line { socket, .. })
                | Slot::Connecting(socket)
                | Slot::Leaving(socket) => stats.add(tcp_info::stats(socket)),
                Slot::Empty | Slot::Bound(..) | Slot::GivenUp(_) => {}
            }
        }
        stats
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called, if ever.
    pub fn next_timeout(&self) -> Option<Time> {
        self.flow.next_timeout().filter(|at| *at < Time::MAX)
    }

    /// The clock has come to `now`.
    pub fn on_timeout(&mut self, now: Time) {
        self.flow.on_timeout(now);
    }

    /// The socket of a connection has something.
    pub fn wake(&mut self, now: Time, leg: Leg, is_writable: bool) {
        let slot = &mut self.slots[leg as usize];
        match std::mem::take(slot) {
            Slot::Connecting(socket) if is_writable && connection::is_connected(&socket) => {
                *slot = Slot::Open(Line::new(socket, 0));
                self.flow.connected(now, leg);
            }
            Slot::Connecting(socket) if is_writable => {
                self.spent.add(tcp_info::stats(&socket));
                self.flow.refused(now, leg, Refusal::Failed);
            }
            Slot::GivenUp(socket) if is_writable => connection::reset(socket),
            other => *slot = other,
        }
    }

    /// Goes on as far as it can: reads into `buffer`, writes, ends. Tells `tell` what has become of it.
    pub fn go_on(&mut self, now: Time, buffer: &mut [u8], mut tell: impl FnMut(Progress)) {
        loop {
            self.obey(now, &mut tell);
            let mut has_moved = false;
            for leg in Leg::ALL {
                has_moved |= self.read(now, leg, buffer, &mut tell);
                has_moved |= self.write(now, leg);
            }
            if !has_moved {
                break;
            }
        }
        for leg in Leg::ALL {
            self.look_after(leg, buffer);
        }
    }

    /// Reads what there is. Whether there was anything.
    fn read(
        &mut self,
        now: Time,
        leg: Leg,
        buffer: &mut [u8],
        tell: &mut impl FnMut(Progress),
    ) -> bool {
        let mut has_moved = false;
        while self.flow.leg(leg) == LegState::Live
            && let Slot::Open(line) = &mut self.slots[leg as usize]
            && !line.has_ended
        {
            match rustix::net::recv(&line.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    line.has_ended = true;
                    self.flow.end_received(now, leg);
                }
                Ok((count, _)) => {
                    line.received += count as u64;
                    line.wakes
                        .set(&line.socket, self.bytes.saturating_sub(line.received));
                    let before = self.flow.delivered();
                    self.flow.received(now, leg, count as u64);
                    if before < self.bytes && self.flow.delivered() >= self.bytes {
                        tell(Progress::Completed);
                    }
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(_) => self.flow.failed(now, leg),
            }
            has_moved = true;
            self.obey(now, tell);
        }
        has_moved
    }

    /// Gives a connection what it takes. Whether it took anything.
    fn write(&mut self, now: Time, leg: Leg) -> bool {
        let mut has_moved = false;
        while let Slot::Open(line) = &self.slots[leg as usize] {
            let (_, left) = self.flow.to_send(leg);
            if left > 0 {
                let part = &NOTHING[..left.min(NOTHING.len() as u64) as usize];
                match rustix::net::send(&line.socket, part, SendFlags::NOSIGNAL) {
                    Ok(sent) => self.flow.sent(leg, sent as u64),
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => break,
                    Err(_) => self.flow.failed(now, leg),
                }
            } else if self.flow.is_to_finish(leg) {
                let _ = rustix::net::shutdown(&line.socket, Shutdown::Write);
                self.flow.end_sent(now, leg);
            } else {
                break;
            }
            has_moved = true;
        }
        has_moved
    }

    /// A connection that the flow has done with: what it cost is known when the kernel has done with it too.
    fn look_after(&mut self, leg: Leg, buffer: &mut [u8]) {
        let slot = &mut self.slots[leg as usize];
        let Slot::Leaving(socket) = slot else {
            return;
        };
        let failed = loop {
            match rustix::net::recv(&*socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) | Err(Errno::AGAIN) => break false,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break true,
            }
        };
        if failed || tcp_info::is_over(&*socket) {
            self.spent.add(tcp_info::stats(&*socket));
            *slot = Slot::Empty;
        }
    }

    /// Does what the flow orders.
    fn obey(&mut self, now: Time, tell: &mut impl FnMut(Progress)) {
        while let Some(command) = self.flow.poll_command() {
            match command {
                Command::Open(leg) => self.connect(now, leg),
                Command::Deliver if self.is_sender() => tell(Progress::Established),
                Command::Deliver if self.bytes == 0 => tell(Progress::Completed),
                Command::EndOfStream if !self.is_sender() => self.flow.finish(now),
                Command::Reset(leg, _) | Command::Leave(leg) => self.reset(leg),
                Command::Close(leg) | Command::Release(leg) => self.let_go(leg),
                Command::Fail(_) => self.has_failed = true,
                Command::Bury => tell(Progress::Buried),
                Command::Ended => Leg::ALL.into_iter().for_each(|leg| self.reset(leg)),
                // Nothing to do, or of flows with hellos.
                Command::Deliver
                | Command::EndOfStream
                | Command::Promote { .. }
                | Command::Settled
                | Command::NoteDiverged
                | Command::SendHello(_)
                | Command::Learn(_)
                | Command::Outcome(_)
                | Command::MayRejoin(_) => {}
            }
        }
    }

    fn connect(&mut self, now: Time, leg: Leg) {
        let slot = &mut self.slots[leg as usize];
        let Slot::Bound(socket, to) = std::mem::take(slot) else {
            return;
        };
        match connection::connect(&socket, to) {
            Ok(()) => *slot = Slot::Connecting(socket),
            Err(_) => self.flow.refused(now, leg, Refusal::Local),
        }
    }

    fn reset(&mut self, leg: Leg) {
        let slot = &mut self.slots[leg as usize];
        match std::mem::take(slot) {
            Slot::Connecting(socket) => {
                self.spent.add(tcp_info::stats(&socket));
                *slot = Slot::GivenUp(socket);
            }
            Slot::Open(line) => {
                self.spent.add(tcp_info::stats(&line.socket));
                connection::reset(line.socket);
            }
            other @ (Slot::Leaving(_) | Slot::GivenUp(_)) => *slot = other,
            Slot::Empty | Slot::Bound(..) => {}
        }
    }

    fn let_go(&mut self, leg: Leg) {
        let slot = &mut self.slots[leg as usize];
        match std::mem::take(slot) {
            Slot::Open(line) => *slot = Slot::Leaving(line.socket),
            other => *slot = other,
        }
    }
}

impl Line {
    /// A connection on which `expected` bytes come.
    fn new(socket: OwnedFd, expected: u64) -> Self {
        let mut wakes = WakeUps::default();
        wakes.set(&socket, expected);
        Self {
            socket,
            received: 0,
            wakes,
            has_ended: false,
        }
    }
}
