//! One end of a replicated flow, at the client or at the server. RepNet sends the flow over one or two connections.
//!
//! [`Flow`] is the state machine, and the kernel provides the TCP connections.
//! The two connections of a flow use one client port and two server ports, as in the paper (RepNet, section II-C).
//! The simulator uses ports in the same way. RepNet adds no bytes to the data here.
//!
//! The library `repnet` uses the same state machine, but not the same deadlines.
//! In this module, only the waiting list has a deadline.
//! The slower connection is never cut off, because its load is part of the cost of replication.

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

/// One end of a replicated flow.
#[derive(Debug)]
pub struct Replicated {
    /// Number of the flow.
    pub id: FlowId,
    /// Host at which this end is.
    pub host: HostId,
    flow: Flow,
    slots: [Slot; 2],
    /// Length of the whole flow in bytes.
    bytes: u64,
    /// Statistics of the connections that are already closed.
    spent: FlowStats,
    has_failed: bool,
}

/// Event of a replicated flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The client's first connection is established.
    Established,
    /// All bytes of the flow have arrived.
    Completed,
    /// The flow has ended at the server.
    /// The server must remember the flow, because its second connection may still arrive.
    Buried,
}

/// State of the socket of one of the flow's two connections.
#[derive(Default, Debug)]
enum Slot {
    #[default]
    Empty,
    /// The socket is bound, but the flow has not ordered to open its connection yet.
    Bound(OwnedFd, SocketAddrV4),
    Connecting(OwnedFd),
    Open(OpenConnection),
    /// The flow no longer needs the connection, but the kernel has not closed it yet.
    Draining(OwnedFd),
    /// Connection attempt that the flow no longer needs. The client resets the connection only after the handshake.
    /// The server waits for the second connection, because its addresses identify the flow.
    Abandoned(OwnedFd),
}

/// Established connection that transfers bytes of the flow.
#[derive(Debug)]
struct OpenConnection {
    socket: OwnedFd,
    received: u64,
    wakes: WakeUps,
    /// Whether the peer has shut down its direction of the connection.
    has_ended: bool,
}

/// Returns the limits of a flow.
/// The size has no limit, because the caller selects the mode by size before the flow opens.
/// The delay has no limit, because the slower connection is never cut off.
/// The only limit is the number of bytes that a server keeps for a connection that has not arrived yet.
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

/// Returns two sockets that are bound to the same port, and the port.
/// The sockets belong to the network namespace of the calling thread.
/// If `path` is given, the port pins the flow to this path.
fn pair(path: Option<u16>) -> io::Result<([OwnedFd; 2], u16)> {
    let sockets = [connection::stream_socket()?, connection::stream_socket()?];
    // The option for a shared port is set only after the first bind.
    // If the option were set before the bind, the kernel could choose a port that another socket already uses.
    let port = connection::bind(&sockets[0], path)?;
    for socket in &sockets {
        sockopt::set_socket_reuseaddr(socket, true)?;
    }
    rustix::net::bind(&sockets[1], &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
    Ok((sockets, port))
}

impl Replicated {
    /// Opens the connections of a flow to two ports of its receiver.
    /// The calling thread must be in the network namespace of the sender.
    /// Returns the client's end of the flow and its local port.
    ///
    /// # Errors
    /// The kernel rejects a call.
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
        // Before a connection is established, there are no events to report.
        opened.run_commands(now, &mut |_| {});
        Ok((opened, port))
    }

    /// Creates the server's end of a flow. `leg` is the connection that has arrived first.
    pub fn accepted(
        now: Time,
        flow: (FlowId, HostId, u64),
        (leg, socket): (Leg, OwnedFd),
        config: &RepNetConfig,
    ) -> Self {
        // A SYN does not show whether the client uses RepSYN or RepFlow, so the server assumes RepFlow.
        let served = Flow::server(now, Mode::RepFlow, leg, limits(config, Role::Server));
        let mut accepted = Self::new(flow, served, Default::default());
        accepted.slots[leg as usize] = Slot::Open(OpenConnection::new(socket, accepted.bytes));
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

    /// Adds the second connection of the flow. Resets the connection if the flow does not accept it.
    pub fn join(&mut self, now: Time, leg: Leg, socket: OwnedFd) {
        match self.flow.joined(now, leg) {
            true => self.slots[leg as usize] = Slot::Open(OpenConnection::new(socket, self.bytes)),
            false => connection::reset(socket),
        }
    }

    /// Returns the socket of a connection.
    pub fn socket(&self, leg: Leg) -> Option<&OwnedFd> {
        match &self.slots[leg as usize] {
            Slot::Empty => None,
            Slot::Open(open) => Some(&open.socket),
            Slot::Bound(socket, _)
            | Slot::Connecting(socket)
            | Slot::Draining(socket)
            | Slot::Abandoned(socket) => Some(socket),
        }
    }

    /// Returns whether this is the end that sends.
    pub fn is_sender(&self) -> bool {
        self.flow.role() == Role::Client
    }

    /// Returns whether the flow has ended. Abandoned connection attempts may still be open.
    pub fn is_over(&self) -> bool {
        let is_done = |slot: &Slot| matches!(slot, Slot::Empty | Slot::Abandoned(_));
        self.flow.has_ended() && self.slots.iter().all(is_done)
    }

    /// Returns whether the flow has ended and has no socket left.
    pub fn is_gone(&self) -> bool {
        self.is_over() && self.slots.iter().all(|slot| matches!(slot, Slot::Empty))
    }

    /// Returns whether the last connection of the flow has failed.
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns the statistics of all connections so far.
    pub fn stats(&self) -> FlowStats {
        let mut stats = self.spent;
        for slot in &self.slots {
            match slot {
                Slot::Open(OpenConnection { socket, .. })
                | Slot::Connecting(socket)
                | Slot::Draining(socket) => stats.add(tcp_info::stats(socket)),
                Slot::Empty | Slot::Bound(..) | Slot::Abandoned(_) => {}
            }
        }
        stats
    }

    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout), or `None` if none is necessary.
    pub fn next_timeout(&self) -> Option<Time> {
        self.flow.next_timeout().filter(|at| *at < Time::MAX)
    }

    /// Advances the flow's clock to `now`.
    pub fn on_timeout(&mut self, now: Time) {
        self.flow.on_timeout(now);
    }

    /// Processes the result of a connection attempt, after its socket has become readable or writable.
    pub fn wake(&mut self, now: Time, leg: Leg, is_writable: bool) {
        let slot = &mut self.slots[leg as usize];
        match std::mem::take(slot) {
            Slot::Connecting(socket) if is_writable && connection::is_connected(&socket) => {
                *slot = Slot::Open(OpenConnection::new(socket, 0));
                self.flow.connected(now, leg);
            }
            Slot::Connecting(socket) if is_writable => {
                self.spent.add(tcp_info::stats(&socket));
                self.flow.refused(now, leg, Refusal::Failed);
            }
            Slot::Abandoned(socket) if is_writable => connection::reset(socket),
            other => *slot = other,
        }
    }

    /// Reads, writes and closes connections until the sockets block. `buffer` receives the data that is read.
    /// Calls `on_progress` for each event.
    pub fn serve(&mut self, now: Time, buffer: &mut [u8], mut on_progress: impl FnMut(Progress)) {
        loop {
            self.run_commands(now, &mut on_progress);
            let mut has_moved = false;
            for leg in Leg::ALL {
                has_moved |= self.read(now, leg, buffer, &mut on_progress);
                has_moved |= self.write(now, leg);
            }
            if !has_moved {
                break;
            }
        }
        for leg in Leg::ALL {
            self.drain_released(leg, buffer);
        }
    }

    /// Reads all available data. Returns whether the state of the flow has changed.
    fn read(
        &mut self,
        now: Time,
        leg: Leg,
        buffer: &mut [u8],
        on_progress: &mut impl FnMut(Progress),
    ) -> bool {
        let mut has_moved = false;
        while self.flow.leg(leg) == LegState::Live
            && let Slot::Open(open) = &mut self.slots[leg as usize]
            && !open.has_ended
        {
            match rustix::net::recv(&open.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    open.has_ended = true;
                    self.flow.end_received(now, leg);
                }
                Ok((count, _)) => {
                    open.received += count as u64;
                    open.wakes
                        .set(&open.socket, self.bytes.saturating_sub(open.received));
                    let before = self.flow.delivered();
                    self.flow.received(now, leg, count as u64);
                    if before < self.bytes && self.flow.delivered() >= self.bytes {
                        on_progress(Progress::Completed);
                    }
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(_) => self.flow.failed(now, leg),
            }
            has_moved = true;
            self.run_commands(now, on_progress);
        }
        has_moved
    }

    /// Writes until the socket blocks. Returns whether the state of the flow has changed.
    fn write(&mut self, now: Time, leg: Leg) -> bool {
        let mut has_moved = false;
        while let Slot::Open(open) = &self.slots[leg as usize] {
            let (_, left) = self.flow.to_send(leg);
            if left > 0 {
                let part = &NOTHING[..left.min(NOTHING.len() as u64) as usize];
                match rustix::net::send(&open.socket, part, SendFlags::NOSIGNAL) {
                    Ok(sent) => self.flow.sent(leg, sent as u64),
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => break,
                    Err(_) => self.flow.failed(now, leg),
                }
            } else if self.flow.is_to_finish(leg) {
                let _ = rustix::net::shutdown(&open.socket, Shutdown::Write);
                self.flow.end_sent(now, leg);
            } else {
                break;
            }
            has_moved = true;
        }
        has_moved
    }

    /// Reads and discards data of a connection that the flow no longer needs, until the kernel has closed it.
    /// The final statistics of the connection are available only after the kernel has closed it.
    fn drain_released(&mut self, leg: Leg, buffer: &mut [u8]) {
        let slot = &mut self.slots[leg as usize];
        let Slot::Draining(socket) = slot else {
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

    /// Executes the commands of the flow's state machine.
    fn run_commands(&mut self, now: Time, on_progress: &mut impl FnMut(Progress)) {
        while let Some(command) = self.flow.poll_command() {
            match command {
                Command::Open(leg) => self.connect(now, leg),
                Command::Deliver if self.is_sender() => on_progress(Progress::Established),
                Command::Deliver if self.bytes == 0 => on_progress(Progress::Completed),
                Command::EndOfStream if !self.is_sender() => self.flow.finish(now),
                Command::Reset(leg, _) | Command::Leave(leg) => self.reset(leg),
                Command::Close(leg) | Command::Release(leg) => self.release(leg),
                Command::Fail(_) => self.has_failed = true,
                Command::Bury => on_progress(Progress::Buried),
                Command::Ended => Leg::ALL.into_iter().for_each(|leg| self.reset(leg)),
                // The commands in this list need no action here, or belong to flows with hello messages.
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
                *slot = Slot::Abandoned(socket);
            }
            Slot::Open(open) => {
                self.spent.add(tcp_info::stats(&open.socket));
                connection::reset(open.socket);
            }
            other @ (Slot::Draining(_) | Slot::Abandoned(_)) => *slot = other,
            Slot::Empty | Slot::Bound(..) => {}
        }
    }

    fn release(&mut self, leg: Leg) {
        let slot = &mut self.slots[leg as usize];
        match std::mem::take(slot) {
            Slot::Open(open) => *slot = Slot::Draining(open.socket),
            other => *slot = other,
        }
    }
}

impl OpenConnection {
    /// Creates a connection on which `expected` bytes will arrive.
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
