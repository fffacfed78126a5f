//! The thread that serves the sockets of all hosts.

use super::connection::{self, Progress, Receiver, Sender};
use super::copies::{self, Copies};
use super::objects::Objects;
use super::orders::{Ends, Order, Start};
use super::replicas::Replicas;
use super::report::{News, Reporter};
use crate::emulator::addresses;
use crate::emulator::clock::Clock;
use crate::emulator::network::be_punctual;
use crate::emulator::poller::{Poller, Ready, Waker};
use crate::emulator::world::namespaces::{self, Namespace};
use anyhow::{Context, Result, anyhow};
use rustix::net::SocketAddrV4;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver as Inbox, Sender as Outbox, TryRecvError};
use std::thread::JoinHandle;
use tailcut_transport::Event;
use tailcut_transport::copies::CopyOrder;
use tailcut_transport::repnet::{Leg, RepNetConfig};
use tailcut_transport::scdp::ScdpConfig;
use tailcut_units::{Duration, FlowId, HostId, Time};

/// How long before a flow starts the thread stops sleeping: the system wakes it some 25 us late.
const EARLY: Duration = Duration::from_us(60);
/// The file for wake-ups.
const WAKE: u64 = u64::MAX;
/// Listening sockets have keys from here on, two for each host.
const LISTENERS: u64 = 1 << 62;
/// Connections of replicated flows have keys from here on.
const REPLICAS: u64 = 1 << 61;
/// Connections of copies of requests have keys from here on, and others those below.
const COPIES: u64 = 1 << 60;

/// The agents of all hosts.
pub struct Agent {
    /// What the agents are told goes here.
    pub orders: Outbox<Order>,
    /// Wakes the agents.
    pub waker: Waker,
    /// What has happened.
    pub news: Inbox<News>,
    thread: JoinHandle<Result<()>>,
}

impl Agent {
    /// Starts the agents in the networks of hosts. `told` is woken when there are news.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(
        networks: Vec<OwnedFd>,
        config: AgentConfig,
        clock: Clock,
        told: Waker,
    ) -> Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, news) = mpsc::channel();
        let waker = Waker::new().context("cannot make a file for wake-ups")?;
        let woken = waker.try_clone().context("too many open files")?;
        let (ready, began) = mpsc::channel();
        let run = move || {
            be_punctual();
            let report = Reporter::new(clock, outbox, told);
            let agents = Agents::new(networks, &config, report, &woken);
            let _ = ready.send(());
            agents?.live(&inbox, &woken)
        };
        let thread = std::thread::Builder::new().name("agents".to_owned());
        let thread = thread.spawn(run).context("cannot start a thread")?;
        let agent = Self {
            orders,
            waker,
            news,
            thread,
        };
        began.recv().context("the agents' thread has died")?;
        Ok(agent)
    }

    /// Ends the agents, and gives what they have not told yet.
    ///
    /// # Errors
    /// What they have died of.
    pub fn end(self) -> Result<Vec<News>> {
        // One that has died needs no order to end.
        let _ = self.orders.send(Order::End);
        self.waker.wake();
        let died = |_| anyhow!("the agents' thread has died");
        self.thread.join().map_err(died)??;
        Ok(self.news.try_iter().collect())
    }
}

/// What the agents of a run are to be.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Where they listen. Where flows are replicated, and for copies of requests, they listen at the port after it too.
    pub port: u16,
    /// What is replicated; `None`: nothing.
    pub replication: Option<RepNetConfig>,
    /// Whether they carry copies of requests.
    pub has_requests: bool,
    /// SCDP's parameters on each host, by the wall's clock; `None`: flows are TCP connections.
    pub scdp: Option<Vec<ScdpConfig>>,
}

enum End {
    Sends(Sender),
    Receives(Receiver),
}

/// The state of the thread.
struct Agents {
    networks: Vec<OwnedFd>,
    /// The host whose network this thread is in.
    at: Option<HostId>,
    port: u16,
    /// One for each host where flows are plain, else two.
    listeners: Vec<[Option<OwnedFd>; 2]>,
    poller: Poller,
    ends: HashMap<u64, End>,
    next_key: u64,
    replicas: Option<Replicas>,
    /// Where requests are measured.
    copies: Option<Copies>,
    /// Where flows are SCDP's objects.
    objects: Option<Objects>,
    /// Flows whose connections have been opened and not accepted: by sender, its port, and receiver.
    expected: HashMap<(HostId, u16, HostId), (FlowId, u64)>,
    waiting: BTreeMap<(Time, FlowId), (Start, Ends)>,
    report: Reporter,
    buffer: Vec<u8>,
}

impl Agents {
    fn new(
        networks: Vec<OwnedFd>,
        config: &AgentConfig,
        report: Reporter,
        woken: &Waker,
    ) -> Result<Self> {
        let (hosts, port) = (networks.len(), config.port);
        let replicas = |config| Replicas::new(config, hosts, port, REPLICAS);
        let mut agents = Self {
            networks,
            at: None,
            port,
            listeners: Vec::new(),
            poller: Poller::new()?,
            ends: HashMap::new(),
            next_key: 0,
            replicas: config.replication.map(replicas),
            copies: config.has_requests.then(|| Copies::new(port, COPIES)),
            objects: None,
            expected: HashMap::new(),
            waiting: BTreeMap::new(),
            report,
            buffer: vec![0; 256 << 10],
        };
        agents.poller.add(woken, WAKE)?;
        if let Some(scdp) = &config.scdp {
            let bell = woken.try_clone().context("too many open files")?;
            let mut objects = Objects::new(bell);
            for (host, config) in (0..).map(HostId).zip(scdp) {
                agents.move_to(host)?;
                let opened = objects.open(host, config);
                opened.with_context(|| format!("h{} cannot receive at {}", host.0, config.port))?;
            }
            agents.objects = Some(objects);
            return Ok(agents);
        }
        for host in 0..agents.networks.len() as u32 {
            agents.move_to(HostId(host))?;
            let mut listeners = [None, None];
            let legs = match agents.replicas.is_some() || agents.copies.is_some() {
                true => 2,
                false => 1,
            };
            for (leg, listener) in listeners.iter_mut().enumerate().take(legs) {
                let port = port + leg as u16;
                let socket = connection::listen(port);
                let socket = socket.with_context(|| format!("h{host} cannot listen at {port}"))?;
                if agents.copies.is_some() {
                    copies::mark(&socket, copies::class_of(Leg::ALL[leg]));
                }
                let key = LISTENERS + 2 * u64::from(host) + leg as u64;
                agents.poller.add(&socket, key)?;
                *listener = Some(socket);
            }
            agents.listeners.push(listeners);
        }
        Ok(agents)
    }

    /// Enters the network of a host.
    fn move_to(&mut self, host: HostId) -> io::Result<()> {
        if self.at != Some(host) {
            namespaces::enter(&self.networks[host.0 as usize], Namespace::Network)?;
            self.at = Some(host);
        }
        Ok(())
    }

    fn live(mut self, orders: &Inbox<Order>, woken: &Waker) -> Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            loop {
                match orders.try_recv() {
                    Ok(Order::Start(start, ends)) => {
                        if let Some(objects) = &self.objects {
                            // Where a receiver cannot, its sender tells.
                            let _ = objects.expect(start.flow, &ends);
                        }
                        self.waiting.insert((start.at, start.flow), (start, ends));
                    }
                    Ok(Order::Collect { host, flow, port }) => {
                        if let Some(objects) = &mut self.objects {
                            objects.collect(host, flow, port);
                        }
                    }
                    Ok(Order::Copy(host, order)) => {
                        // Only a new connection has to know whose it is.
                        let moved = match order {
                            CopyOrder::Ask(_) => self.move_to(host),
                            _ => Ok(()),
                        };
                        if let (Ok(()), Some(copies)) = (moved, &mut self.copies) {
                            copies.order(host, order, &self.poller, &self.report);
                        }
                    }
                    Err(TryRecvError::Empty) => break,
                    Ok(Order::End) | Err(TryRecvError::Disconnected) => {
                        self.leave();
                        return Ok(());
                    }
                }
            }
            while let Some(first) = self.waiting.first_entry()
                && first.key().0 <= self.report.now()
            {
                let (start, ends) = first.remove();
                self.begin(&start, &ends);
            }
            let first = self.waiting.first_key_value();
            let mut next = first.map_or(Time::MAX, |((at, _), _)| *at);
            if let Some(replicas) = &mut self.replicas {
                replicas.on_timeout(&self.report);
                next = next.min(replicas.next_timeout());
            }
            ready.clear();
            if let Some(objects) = &mut self.objects {
                objects.go_on(&self.report);
            }
            let sleep = self.report.sleep(next, EARLY);
            self.poller.wait(sleep, |file| ready.push(file));
            for file in &ready {
                match file.key {
                    WAKE => woken.clear(),
                    LISTENERS.. => {
                        let number = file.key - LISTENERS;
                        self.accept(HostId((number / 2) as u32), Leg::ALL[number as usize % 2]);
                    }
                    REPLICAS.. => {
                        if let Some(replicas) = &mut self.replicas {
                            replicas.wake(file.key, file.is_writable, &self.report);
                        }
                    }
                    COPIES.. => {
                        if let Some(copies) = &mut self.copies {
                            copies.wake(file.key, file.is_writable, &self.report);
                        }
                    }
                    key => self.go_on(key, file.is_writable),
                }
            }
        }
    }

    /// Opens the connection of a flow, or both.
    fn begin(&mut self, start: &Start, ends: &Ends) {
        if let Err(_refused) = self.open(start, ends) {
            let failed = Event::Failed(start.flow, Default::default());
            self.report.tell(start.from, failed);
        }
    }

    fn open(&mut self, start: &Start, ends: &Ends) -> io::Result<()> {
        if let Some(objects) = &mut self.objects {
            return objects.send(start, ends);
        }
        self.move_to(start.from)?;
        let port = match (start.mode, &mut self.replicas) {
            (Some(mode), Some(replicas)) => {
                replicas.open(start, mode, &self.poller, &self.report)?
            }
            _ => {
                let to = SocketAddrV4::new(addresses::ipv4(start.to), self.port);
                let (sender, port) = Sender::open(start, to)?;
                self.keep(End::Sends(sender));
                port
            }
        };
        let opened = (start.from, port, start.to);
        self.expected.insert(opened, (start.flow, start.bytes));
        Ok(())
    }

    fn keep(&mut self, end: End) {
        let key = self.next_key;
        self.next_key += 1;
        let added = match &end {
            End::Sends(sender) => self.poller.add_edges(sender, key),
            End::Receives(receiver) => self.poller.add_edges(receiver, key),
        };
        if added.is_ok() {
            self.ends.insert(key, end);
        }
    }

    /// Takes the connections that others have opened to a host, at its first or second port.
    fn accept(&mut self, host: HostId, leg: Leg) {
        loop {
            let Some(listener) = &self.listeners[host.0 as usize][leg as usize] else {
                return;
            };
            let Ok(Some((socket, peer))) = connection::accept(listener.as_fd()) else {
                return;
            };
            let from = addresses::host_of_ipv4(*peer.ip(), self.networks.len() as u32);
            let Some(from) = from else {
                continue;
            };
            if let Some(copies) = &mut self.copies {
                let (class, client) = (copies::class_of(leg), (from, peer.port()));
                let with = (&self.poller, &self.report);
                copies.arrived(host, class, client, socket, with);
                continue;
            }
            let mut expected = || self.expected.remove(&(from, peer.port(), host));
            if let Some(replicas) = &mut self.replicas {
                let arrived = ((from, peer.port()), socket);
                replicas.arrived((host, leg), arrived, expected, &self.poller, &self.report);
            } else if let Some((flow, bytes)) = expected() {
                if bytes == 0 {
                    self.report.tell(host, Event::Completed(flow));
                }
                self.keep(End::Receives(Receiver::new(socket, flow, host, bytes)));
            }
        }
    }

    /// An end has something to do.
    fn go_on(&mut self, key: u64, is_writable: bool) {
        let Some(end) = self.ends.get_mut(&key) else {
            return;
        };
        let (report, mut is_over) = (&self.report, false);
        let tell = |host: HostId, event: Event| report.tell(host, event);
        match end {
            End::Sends(sender) => {
                let (flow, host) = (sender.flow, sender.host);
                let mut last = None;
                sender.go_on(is_writable, |progress| match progress {
                    Progress::Established => tell(host, Event::Established(flow)),
                    Progress::Closed | Progress::Failed => last = Some(progress),
                    Progress::Completed => {}
                });
                if let Some(progress) = last {
                    is_over = true;
                    let stats = sender.stats();
                    match progress {
                        Progress::Failed => tell(host, Event::Failed(flow, stats)),
                        _ => tell(host, Event::Closed(flow, stats)),
                    }
                }
            }
            End::Receives(receiver) => {
                let (flow, host) = (receiver.flow, receiver.host);
                receiver.go_on(&mut self.buffer, |progress| match progress {
                    Progress::Completed => tell(host, Event::Completed(flow)),
                    Progress::Closed | Progress::Failed => is_over = true,
                    Progress::Established => {}
                });
            }
        }
        if is_over {
            self.ends.remove(&key);
        }
    }

    /// The run is over: what open flows have cost is told as that of failed ones.
    fn leave(self) {
        if let Some(objects) = &self.objects {
            objects.leave(&self.report);
        }
        for end in self.ends.values() {
            if let End::Sends(sender) = end {
                let failed = Event::Failed(sender.flow, sender.stats());
                self.report.tell(sender.host, failed);
            }
        }
        if let Some(replicas) = &self.replicas {
            replicas.leave(&self.report);
        }
        if let Some(copies) = &self.copies {
            copies.leave(&self.report);
        }
    }
}
