//! Thread of the agents, which serves the sockets of all hosts.

use super::connection::{self, Progress, Receiver, Sender};
use super::copies::{self, Copies};
use super::objects::Objects;
use super::orders::{Ends, Order, Start};
use super::replicas::Replicas;
use super::report::{AgentEvent, Reporter};
use crate::emulator::addresses;
use crate::emulator::clock::Clock;
use crate::emulator::network::use_exact_timers;
use crate::emulator::poller::{Poller, Ready, Waker};
use crate::emulator::sandbox::namespaces::{self, Namespace};
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

/// Time by which the thread wakes up before the start of a flow. The kernel wakes a thread about 25 us late.
const EARLY: Duration = Duration::from_us(60);
/// Poller key of the file for wake-ups.
const WAKE: u64 = u64::MAX;
/// Lowest poller key of listening sockets. Each host has two keys of listening sockets.
const LISTENERS: u64 = 1 << 62;
/// Lowest poller key of connections of replicated flows.
const REPLICAS: u64 = 1 << 61;
/// Lowest poller key of connections for copies of requests. Lower keys belong to all other connections.
const COPIES: u64 = 1 << 60;

/// Handle of the agents' thread.
pub struct Agent {
    /// Queue of orders to the agents.
    pub orders: Outbox<Order>,
    /// Waker of the agents' thread. The caller must wake the thread after it has sent an order.
    pub waker: Waker,
    /// Queue of events of the agents.
    pub events: Inbox<AgentEvent>,
    thread: JoinHandle<Result<()>>,
}

impl Agent {
    /// Starts the agents in the network namespaces of the hosts. Each event of an agent wakes `run_waker`.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn start(
        networks: Vec<OwnedFd>,
        config: AgentConfig,
        clock: Clock,
        run_waker: Waker,
    ) -> Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, events) = mpsc::channel();
        let waker = Waker::new().context("cannot make a file for wake-ups")?;
        let woken = waker.try_clone().context("too many open files")?;
        let (ready, began) = mpsc::channel();
        let run = move || {
            use_exact_timers();
            let reporter = Reporter::new(clock, outbox, run_waker);
            let agents = Agents::new(networks, &config, reporter, &woken);
            let _ = ready.send(());
            agents?.run(&inbox, &woken)
        };
        let thread = std::thread::Builder::new().name("agents".to_owned());
        let thread = thread.spawn(run).context("cannot start a thread")?;
        let agent = Self {
            orders,
            waker,
            events,
            thread,
        };
        began.recv().context("the agents' thread has died")?;
        Ok(agent)
    }

    /// Ends the agents, and returns the events that are still queued.
    ///
    /// # Errors
    /// The agents' thread has failed.
    pub fn end(self) -> Result<Vec<AgentEvent>> {
        // The send fails only if the thread has already ended.
        let _ = self.orders.send(Order::End);
        self.waker.wake();
        let died = |_| anyhow!("the agents' thread has died");
        self.thread.join().map_err(died)??;
        Ok(self.events.try_iter().collect())
    }
}

/// Configuration of the agents of a run.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Listening port. For replicated flows and for copies of requests, the agents also listen on the next port.
    pub port: u16,
    /// Replication of flows; `None`: no flow is replicated.
    pub replication: Option<RepNetConfig>,
    /// Whether the workload consists of requests, whose copies the agents send.
    pub has_requests: bool,
    /// SCDP's parameters for each host, in times of the wall clock; `None` means that flows are TCP connections.
    pub scdp: Option<Vec<ScdpConfig>>,
}

/// One end of a plain TCP flow.
enum End {
    Sends(Sender),
    Receives(Receiver),
}

/// State of the agents' thread.
struct Agents {
    networks: Vec<OwnedFd>,
    /// Host whose network namespace this thread has entered; `None` before the first host.
    at: Option<HostId>,
    port: u16,
    /// Listening sockets of each host: two for replicated flows and for copies of requests, otherwise one.
    listeners: Vec<[Option<OwnedFd>; 2]>,
    poller: Poller,
    ends: HashMap<u64, End>,
    next_key: u64,
    replicas: Option<Replicas>,
    /// Copies of requests, in a run with requests.
    copies: Option<Copies>,
    /// Flows as SCDP objects, in a run with SCDP.
    objects: Option<Objects>,
    /// Number and length in bytes of each flow whose connection is opened but not accepted yet.
    /// The key is the sender, its port, and the receiver.
    expected: HashMap<(HostId, u16, HostId), (FlowId, u64)>,
    /// Flows that start later, in the order of their start times.
    waiting: BTreeMap<(Time, FlowId), (Start, Ends)>,
    reporter: Reporter,
    buffer: Vec<u8>,
}

impl Agents {
    fn new(
        networks: Vec<OwnedFd>,
        config: &AgentConfig,
        reporter: Reporter,
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
            reporter,
            buffer: vec![0; 256 << 10],
        };
        agents.poller.add(woken, WAKE)?;
        if let Some(scdp) = &config.scdp {
            let waker = woken.try_clone().context("too many open files")?;
            let mut objects = Objects::new(waker);
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

    /// Enters the network namespace of a host.
    fn move_to(&mut self, host: HostId) -> io::Result<()> {
        if self.at != Some(host) {
            namespaces::enter(&self.networks[host.0 as usize], Namespace::Network)?;
            self.at = Some(host);
        }
        Ok(())
    }

    fn run(mut self, orders: &Inbox<Order>, woken: &Waker) -> Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            loop {
                match orders.try_recv() {
                    Ok(Order::Start(start, ends)) => {
                        if let Some(objects) = &self.objects {
                            // The result is ignored: if a receiver cannot join, the sender reports the failure.
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
                        // Only the order `Ask` creates a socket.
                        // A socket belongs to the namespace in which it is created.
                        let moved = match order {
                            CopyOrder::Ask(_) => self.move_to(host),
                            _ => Ok(()),
                        };
                        if let (Ok(()), Some(copies)) = (moved, &mut self.copies) {
                            copies.order(host, order, &self.poller, &self.reporter);
                        }
                    }
                    Err(TryRecvError::Empty) => break,
                    Ok(Order::End) | Err(TryRecvError::Disconnected) => {
                        self.report_unfinished();
                        return Ok(());
                    }
                }
            }
            while let Some(first) = self.waiting.first_entry()
                && first.key().0 <= self.reporter.now()
            {
                let (start, ends) = first.remove();
                self.start_flow(&start, &ends);
            }
            let first = self.waiting.first_key_value();
            let mut next = first.map_or(Time::MAX, |((at, _), _)| *at);
            if let Some(replicas) = &mut self.replicas {
                replicas.on_timeout(&self.reporter);
                next = next.min(replicas.next_timeout());
            }
            ready.clear();
            if let Some(objects) = &mut self.objects {
                objects.report_events(&self.reporter);
            }
            let sleep = self.reporter.sleep(next, EARLY);
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
                            replicas.wake(file.key, file.is_writable, &self.reporter);
                        }
                    }
                    COPIES.. => {
                        if let Some(copies) = &mut self.copies {
                            copies.wake(file.key, file.is_writable, &self.reporter);
                        }
                    }
                    key => self.serve(key, file.is_writable),
                }
            }
        }
    }

    /// Opens one or both connections of a flow, or reports that the flow has failed.
    fn start_flow(&mut self, start: &Start, ends: &Ends) {
        if let Err(_refused) = self.open(start, ends) {
            let failed = Event::Failed(start.flow, Default::default());
            self.reporter.report(start.from, failed);
        }
    }

    fn open(&mut self, start: &Start, ends: &Ends) -> io::Result<()> {
        if let Some(objects) = &mut self.objects {
            return objects.send(start, ends);
        }
        self.move_to(start.from)?;
        let port = match (start.mode, &mut self.replicas) {
            (Some(mode), Some(replicas)) => {
                replicas.open(start, mode, &self.poller, &self.reporter)?
            }
            _ => {
                let to = SocketAddrV4::new(addresses::ipv4(start.to), self.port);
                let (sender, port) = Sender::open(start, to)?;
                self.register(End::Sends(sender));
                port
            }
        };
        let opened = (start.from, port, start.to);
        self.expected.insert(opened, (start.flow, start.bytes));
        Ok(())
    }

    fn register(&mut self, end: End) {
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

    /// Accepts all waiting connections to a host, at its first or second port.
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
                let with = (&self.poller, &self.reporter);
                copies.arrived(host, class, client, socket, with);
                continue;
            }
            let mut expected = || self.expected.remove(&(from, peer.port(), host));
            if let Some(replicas) = &mut self.replicas {
                let arrived = ((from, peer.port()), socket);
                replicas.arrived((host, leg), arrived, expected, &self.poller, &self.reporter);
            } else if let Some((flow, bytes)) = expected() {
                // An empty flow is complete immediately, because no byte will arrive.
                if bytes == 0 {
                    self.reporter.report(host, Event::Completed(flow));
                }
                self.register(End::Receives(Receiver::new(socket, flow, host, bytes)));
            }
        }
    }

    /// Serves the plain TCP flow whose socket is readable or writable.
    fn serve(&mut self, key: u64, is_writable: bool) {
        let Some(end) = self.ends.get_mut(&key) else {
            return;
        };
        let (reporter, mut is_over) = (&self.reporter, false);
        let report = |host: HostId, event: Event| reporter.report(host, event);
        match end {
            End::Sends(sender) => {
                let (flow, host) = (sender.flow, sender.host);
                let mut last = None;
                sender.serve(is_writable, |progress| match progress {
                    Progress::Established => report(host, Event::Established(flow)),
                    Progress::Closed | Progress::Failed => last = Some(progress),
                    Progress::Completed => {}
                });
                if let Some(progress) = last {
                    is_over = true;
                    let stats = sender.stats();
                    match progress {
                        Progress::Failed => report(host, Event::Failed(flow, stats)),
                        _ => report(host, Event::Closed(flow, stats)),
                    }
                }
            }
            End::Receives(receiver) => {
                let (flow, host) = (receiver.flow, receiver.host);
                receiver.serve(&mut self.buffer, |progress| match progress {
                    Progress::Completed => report(host, Event::Completed(flow)),
                    Progress::Closed | Progress::Failed => is_over = true,
                    Progress::Established => {}
                });
            }
        }
        if is_over {
            self.ends.remove(&key);
        }
    }

    /// Reports the flows that are still open at the end of the run as failed, with their statistics.
    fn report_unfinished(self) {
        if let Some(objects) = &self.objects {
            objects.report_unfinished(&self.reporter);
        }
        for end in self.ends.values() {
            if let End::Sends(sender) = end {
                let failed = Event::Failed(sender.flow, sender.stats());
                self.reporter.report(sender.host, failed);
            }
        }
        if let Some(replicas) = &self.replicas {
            replicas.report_unfinished(&self.reporter);
        }
        if let Some(copies) = &self.copies {
            copies.report_unfinished(&self.reporter);
        }
    }
}
