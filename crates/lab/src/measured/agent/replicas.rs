//! Replicated flows of all hosts. The module assigns each accepted connection to its flow.
//! The module contains the flow tables of the servers, and timers on the clock of the emulated network.
//! A flow table has waiting lists and tombstones (records of ended flows).

use super::connection;
use super::orders::Start;
use super::replicated::{Progress, Replicated};
use super::report::Reporter;
use crate::emulator::addresses;
use crate::emulator::poller::Poller;
use rustix::net::SocketAddrV4;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use tailcut_transport::Event;
use tailcut_transport::repnet::{FlowTable, Leg, Mode, Placement, RepNetConfig, Ticket};
use tailcut_units::{FlowId, HostId, Time};

/// Largest number of flows in the table of a server, including ended flows.
const REMEMBERED: usize = 1 << 16;

/// Identity of a flow's client at the server: the host, and the port from which both connections come.
type Client = (HostId, u16);

/// One end of a replicated flow, at the client or at the server.
struct End {
    flow: Replicated,
    /// Entry in the flow table of the server; `None` for a client.
    entry: Option<(Client, Ticket)>,
    /// Time of the next wake-up; `None` if no wake-up is necessary.
    alarm: Option<Time>,
    /// Whether this end has already reported the end of the flow.
    is_reported: bool,
}

/// Replicated flows of all hosts.
pub struct Replicas {
    config: RepNetConfig,
    port: u16,
    /// Lowest poller key of the sockets. Each end has two keys.
    keys: u64,
    ends: HashMap<u64, End>,
    /// Number of the next end of a flow.
    next: u64,
    /// Times at which ends must wake up, each with the number of the end.
    alarms: BTreeSet<(Time, u64)>,
    /// Flow table of each host, with the flows that the host receives as a server.
    tables: Vec<FlowTable<Client, u64>>,
    buffer: Vec<u8>,
}

impl Replicas {
    /// Creates an empty set of replicated flows. Each of the `hosts` hosts listens on `port` and on the next port.
    /// `keys` is the lowest poller key of the sockets.
    pub fn new(config: RepNetConfig, hosts: usize, port: u16, keys: u64) -> Self {
        // A client sends the last SYN of a flow within two timeouts. After two timeouts, a server can forget the flow.
        // Simulated servers forget flows after the same time.
        let remembered = config.waiting_list_timeout.saturating_mul(2);
        let table = || FlowTable::new(true, remembered, REMEMBERED);
        Self {
            config,
            port,
            keys,
            ends: HashMap::new(),
            next: 0,
            alarms: BTreeSet::new(),
            tables: (0..hosts).map(|_| table()).collect(),
            buffer: vec![0; 256 << 10],
        }
    }

    /// Opens a flow. The calling thread must be in the network namespace of the sender.
    /// Returns the local port that both connections of the flow use.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn open(
        &mut self,
        start: &Start,
        mode: Mode,
        poller: &Poller,
        reporter: &Reporter,
    ) -> io::Result<u16> {
        let ports = [self.port, self.port + 1];
        let to = ports.map(|port| SocketAddrV4::new(addresses::ipv4(start.to), port));
        let (flow, port) = Replicated::open(reporter.now(), start, to, (mode, &self.config))?;
        let number = self.add(flow);
        for leg in Leg::ALL {
            self.watch(number, leg, poller);
        }
        self.serve(number, reporter);
        Ok(port)
    }

    /// Assigns an accepted connection to its flow. `leg` is the connection that belongs to the server's port.
    /// `expected` returns the flow that the client has opened, and the length of the flow in bytes.
    pub fn arrived(
        &mut self,
        (host, leg): (HostId, Leg),
        (client, socket): (Client, OwnedFd),
        expected: impl FnOnce() -> Option<(FlowId, u64)>,
        poller: &Poller,
        reporter: &Reporter,
    ) {
        let now = reporter.now();
        let table = &mut self.tables[host.0 as usize];
        let number = match table.place(now, &client, leg) {
            Placement::New => {
                let Some((flow, bytes)) = expected() else {
                    return connection::reset(socket);
                };
                let flow = (flow, host, bytes);
                let flow = Replicated::accepted(now, flow, (leg, socket), &self.config);
                let number = self.add(flow);
                let ticket = self.tables[host.0 as usize].add(now, client, leg, number);
                if let Some(end) = self.ends.get_mut(&number) {
                    end.entry = Some((client, ticket));
                }
                number
            }
            Placement::Known(number) => {
                table.saw(&client, leg);
                match self.ends.get_mut(&number) {
                    Some(end) => end.flow.join(now, leg, socket),
                    None => return connection::reset(socket),
                }
                number
            }
            Placement::Late | Placement::Full => return connection::reset(socket),
        };
        self.watch(number, leg, poller);
        self.serve(number, reporter);
    }

    /// Serves the socket with this poller key. The socket is readable or writable.
    pub fn wake(&mut self, key: u64, is_writable: bool, reporter: &Reporter) {
        let (number, leg) = (
            (key - self.keys) / 2,
            Leg::ALL[(key - self.keys) as usize % 2],
        );
        if let Some(end) = self.ends.get_mut(&number) {
            end.flow.wake(reporter.now(), leg, is_writable);
            self.serve(number, reporter);
        }
    }

    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout), or [`Time::MAX`] if none is necessary.
    pub fn next_timeout(&self) -> Time {
        self.alarms.first().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Serves the flows whose wake-up time has passed.
    pub fn on_timeout(&mut self, reporter: &Reporter) {
        let now = reporter.now();
        while let Some((at, number)) = self.alarms.first().copied()
            && at <= now
        {
            self.alarms.pop_first();
            if let Some(end) = self.ends.get_mut(&number) {
                end.alarm = None;
                end.flow.on_timeout(now);
                self.serve(number, reporter);
            }
        }
    }

    /// Reports the flows that are still open at the end of the run as failed, with their statistics.
    pub fn report_unfinished(&self, reporter: &Reporter) {
        for End {
            flow, is_reported, ..
        } in self.ends.values()
        {
            if flow.is_sender() && !is_reported {
                reporter.report(flow.host, Event::Failed(flow.id, flow.stats()));
            }
        }
    }

    fn add(&mut self, flow: Replicated) -> u64 {
        let number = self.next;
        self.next += 1;
        let end = End {
            flow,
            entry: None,
            alarm: None,
            is_reported: false,
        };
        self.ends.insert(number, end);
        number
    }

    fn watch(&self, number: u64, leg: Leg, poller: &Poller) {
        let end = self.ends.get(&number);
        if let Some(socket) = end.and_then(|end| end.flow.socket(leg)) {
            let key = self.keys + 2 * number + leg as u64;
            // If the poller rejects the socket, the flow makes no progress.
            // At the end of the run, a flow without progress is reported as failed.
            let _ = poller.add_edges(socket, key);
        }
    }

    /// Serves a flow until its sockets block, and reports its events.
    fn serve(&mut self, number: u64, reporter: &Reporter) {
        let Some(end) = self.ends.get_mut(&number) else {
            return;
        };
        let flow = &mut end.flow;
        let (id, host) = (flow.id, flow.host);
        let now = reporter.now();
        let mut is_buried = false;
        flow.serve(now, &mut self.buffer, |progress| match progress {
            Progress::Established => reporter.report(host, Event::Established(id)),
            Progress::Completed => reporter.report(host, Event::Completed(id)),
            Progress::Buried => is_buried = true,
        });
        if let Some((client, ticket)) = end.entry.take_if(|_| is_buried) {
            self.tables[host.0 as usize].bury(now, &client, ticket);
        }
        if flow.is_over() && flow.is_sender() && !std::mem::replace(&mut end.is_reported, true) {
            let stats = flow.stats();
            reporter.report(
                host,
                match flow.has_failed() {
                    true => Event::Failed(id, stats),
                    false => Event::Closed(id, stats),
                },
            );
        }
        let next = flow.next_timeout();
        if next != end.alarm {
            if let Some(old) = std::mem::replace(&mut end.alarm, next) {
                self.alarms.remove(&(old, number));
            }
            self.alarms.extend(next.map(|at| (at, number)));
        }
        if flow.is_gone() {
            if let Some(at) = end.alarm {
                self.alarms.remove(&(at, number));
            }
            self.ends.remove(&number);
        }
    }
}
