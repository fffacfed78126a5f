//! The replicated flows of all hosts: which end a connection belongs to, the servers' waiting lists and
//! tombstones, and timers by the network's clock.

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
use tailcut_transport::repnet::{FlowTable, Leg, Mode, Place, RepNetConfig, Ticket};
use tailcut_units::{FlowId, HostId, Time};

/// Flows that a server remembers at most, those that live included.
const REMEMBERED: usize = 1 << 16;

/// A client as its server knows it: its host, and the port that both connections come from.
type Client = (HostId, u16);

/// One end of a flow, and what the agents know of it.
struct End {
    flow: Replicated,
    /// A server's place in its host's table.
    place: Option<(Client, Ticket)>,
    /// When it is to be woken.
    alarm: Option<Time>,
    /// Whether its end was told.
    is_told: bool,
}

/// The replicated flows of all hosts.
pub struct Replicas {
    config: RepNetConfig,
    port: u16,
    /// Sockets have keys from here on: two for each end.
    keys: u64,
    ends: HashMap<u64, End>,
    next: u64,
    alarms: BTreeSet<(Time, u64)>,
    /// What each host serves.
    tables: Vec<FlowTable<Client, u64>>,
    buffer: Vec<u8>,
}

impl Replicas {
    /// Those of `hosts` hosts that serve `port` and the port after it. Sockets are known to the poller by
    /// keys from `keys` on.
    pub fn new(config: RepNetConfig, hosts: usize, port: u16, keys: u64) -> Self {
        // A client sends its last SYN of a flow within two timeouts, as the simulator's servers count.
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

    /// Opens a flow from this thread's network, which is that of its sender. Gives the port that its connections
    /// come from.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(
        &mut self,
        start: &Start,
        mode: Mode,
        poller: &Poller,
        report: &Reporter,
    ) -> io::Result<u16> {
        let ports = [self.port, self.port + 1];
        let to = ports.map(|port| SocketAddrV4::new(addresses::ipv4(start.to), port));
        let (flow, port) = Replicated::open(report.now(), start, to, (mode, &self.config))?;
        let number = self.add(flow);
        for leg in Leg::ALL {
            self.watch(number, leg, poller);
        }
        self.go_on(number, report);
        Ok(port)
    }

    /// A connection from `client` has come to a host, at the port of `leg`. `expected` gives the flow that
    /// the client has opened, and its bytes.
    pub fn arrived(
        &mut self,
        (host, leg): (HostId, Leg),
        (client, socket): (Client, OwnedFd),
        expected: impl FnOnce() -> Option<(FlowId, u64)>,
        poller: &Poller,
        report: &Reporter,
    ) {
        let now = report.now();
        let table = &mut self.tables[host.0 as usize];
        let number = match table.place(now, &client, leg) {
            Place::New => {
                let Some((flow, bytes)) = expected() else {
                    return connection::reset(socket);
                };
                let flow = (flow, host, bytes);
                let flow = Replicated::accepted(now, flow, (leg, socket), &self.config);
                let number = self.add(flow);
                let ticket = self.tables[host.0 as usize].add(now, client, leg, number);
                if let Some(end) = self.ends.get_mut(&number) {
                    end.place = Some((client, ticket));
                }
                number
            }
            Place::Known(number) => {
                table.saw(&client, leg);
                match self.ends.get_mut(&number) {
                    Some(end) => end.flow.join(now, leg, socket),
                    None => return connection::reset(socket),
                }
                number
            }
            Place::Late | Place::Full => return connection::reset(socket),
        };
        self.watch(number, leg, poller);
        self.go_on(number, report);
    }

    /// The socket of this key has something.
    pub fn wake(&mut self, key: u64, is_writable: bool, report: &Reporter) {
        let (number, leg) = (
            (key - self.keys) / 2,
            Leg::ALL[(key - self.keys) as usize % 2],
        );
        if let Some(end) = self.ends.get_mut(&number) {
            end.flow.wake(report.now(), leg, is_writable);
            self.go_on(number, report);
        }
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called; [`Time::MAX`]: never.
    pub fn next_timeout(&self) -> Time {
        self.alarms.first().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Wakes the flows that are to be woken by now.
    pub fn on_timeout(&mut self, report: &Reporter) {
        let now = report.now();
        while let Some((at, number)) = self.alarms.first().copied()
            && at <= now
        {
            self.alarms.pop_first();
            if let Some(end) = self.ends.get_mut(&number) {
                end.alarm = None;
                end.flow.on_timeout(now);
                self.go_on(number, report);
            }
        }
    }

    /// Tells what the flows that are still open have cost, as of failed ones.
    pub fn leave(&self, report: &Reporter) {
        for End { flow, is_told, .. } in self.ends.values() {
            if flow.is_sender() && !is_told {
                report.tell(flow.host, Event::Failed(flow.id, flow.stats()));
            }
        }
    }

    fn add(&mut self, flow: Replicated) -> u64 {
        let number = self.next;
        self.next += 1;
        let end = End {
            flow,
            place: None,
            alarm: None,
            is_told: false,
        };
        self.ends.insert(number, end);
        number
    }

    fn watch(&self, number: u64, leg: Leg, poller: &Poller) {
        let end = self.ends.get(&number);
        if let Some(socket) = end.and_then(|end| end.flow.socket(leg)) {
            let key = self.keys + 2 * number + leg as u64;
            // What is not waited for brings nothing: the flow is open when the run ends.
            let _ = poller.add_edges(socket, key);
        }
    }

    /// A flow goes on as far as it can.
    fn go_on(&mut self, number: u64, report: &Reporter) {
        let Some(end) = self.ends.get_mut(&number) else {
            return;
        };
        let flow = &mut end.flow;
        let (id, host) = (flow.id, flow.host);
        let now = report.now();
        let mut is_buried = false;
        flow.go_on(now, &mut self.buffer, |progress| match progress {
            Progress::Established => report.tell(host, Event::Established(id)),
            Progress::Completed => report.tell(host, Event::Completed(id)),
            Progress::Buried => is_buried = true,
        });
        if let Some((client, ticket)) = end.place.take_if(|_| is_buried) {
            self.tables[host.0 as usize].bury(now, &client, ticket);
        }
        if flow.is_over() && flow.is_sender() && !std::mem::replace(&mut end.is_told, true) {
            let stats = flow.stats();
            report.tell(
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
