//! The thread that serves the sockets of all hosts.

use super::connection::{self, Progress, Receiver, Sender};
use crate::addresses;
use crate::clock::Clock;
use crate::network::be_punctual;
use crate::poller::{Poller, Ready, Waker};
use crate::world::namespaces::{self, Namespace};
use anyhow::{Context, Result, anyhow};
use rustix::net::SocketAddrV4;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver as Inbox, Sender as Outbox, TryRecvError};
use std::thread::JoinHandle;
use tailcut_transport::Event;
use tailcut_units::{Duration, FlowId, HostId, Time};

/// How long before a flow starts the thread stops sleeping: the system wakes it some 25 us late.
const EARLY: Duration = Duration::from_us(60);
/// The file for wake-ups.
const WAKE: u64 = u64::MAX;
/// Listening sockets have keys from here on, by their hosts; connections have those below.
const LISTENERS: u64 = 1 << 62;

/// A flow that is to start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Start {
    /// When, by the network's clock.
    pub at: Time,
    /// Which.
    pub flow: FlowId,
    /// From where.
    pub from: HostId,
    /// To where.
    pub to: HostId,
    /// How much.
    pub bytes: u64,
}

/// What the agents are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// To start a flow.
    Start(Start),
    /// To end.
    End,
}

/// What has happened at a host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct News {
    /// When, by the network's clock.
    pub at: Time,
    /// Where.
    pub host: HostId,
    /// What.
    pub event: Event,
}

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
    /// Starts the agents in the networks of hosts. Their listening sockets are at `port`; `told` is woken
    /// when there are news.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(networks: Vec<OwnedFd>, port: u16, clock: Clock, told: Waker) -> Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, news) = mpsc::channel();
        let waker = Waker::new().context("cannot make a file for wake-ups")?;
        let woken = waker.try_clone().context("too many open files")?;
        let (ready, began) = mpsc::channel();
        let run = move || {
            be_punctual();
            let agents = Agents::new(networks, port, clock, outbox, told, &woken);
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
    clock: Clock,
    listeners: Vec<OwnedFd>,
    poller: Poller,
    ends: HashMap<u64, End>,
    next_key: u64,
    /// Flows whose connections have been opened and not accepted: by sender, its port, and receiver.
    expected: HashMap<(HostId, u16, HostId), (FlowId, u64)>,
    waiting: BinaryHeap<Reverse<Start>>,
    news: Outbox<News>,
    told: Waker,
    buffer: Vec<u8>,
}

impl Agents {
    fn new(
        networks: Vec<OwnedFd>,
        port: u16,
        clock: Clock,
        news: Outbox<News>,
        told: Waker,
        woken: &Waker,
    ) -> Result<Self> {
        let mut agents = Self {
            networks,
            at: None,
            port,
            clock,
            listeners: Vec::new(),
            poller: Poller::new()?,
            ends: HashMap::new(),
            next_key: 0,
            expected: HashMap::new(),
            waiting: BinaryHeap::new(),
            news,
            told,
            buffer: vec![0; 256 << 10],
        };
        agents.poller.add(woken, WAKE)?;
        for host in 0..agents.networks.len() as u32 {
            agents.move_to(HostId(host))?;
            let listener = connection::listen(port);
            let listener = listener.with_context(|| format!("h{host} cannot listen at {port}"))?;
            agents.poller.add(&listener, LISTENERS + u64::from(host))?;
            agents.listeners.push(listener);
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
                    Ok(Order::Start(start)) => self.waiting.push(Reverse(start)),
                    Err(TryRecvError::Empty) => break,
                    Ok(Order::End) | Err(TryRecvError::Disconnected) => {
                        self.leave();
                        return Ok(());
                    }
                }
            }
            while let Some(Reverse(start)) = self.waiting.peek().copied()
                && start.at <= self.clock.now()
            {
                self.waiting.pop();
                self.begin(&start);
            }
            let next = self.waiting.peek().map_or(Time::MAX, |start| start.0.at);
            ready.clear();
            self.poller
                .wait(self.clock.sleep(next, EARLY), |file| ready.push(file));
            for file in &ready {
                match file.key {
                    WAKE => woken.clear(),
                    LISTENERS.. => self.accept(HostId((file.key - LISTENERS) as u32)),
                    key => self.go_on(key, file.is_writable),
                }
            }
        }
    }

    /// Opens the connection of a flow.
    fn begin(&mut self, start: &Start) {
        let to = SocketAddrV4::new(addresses::ipv4(start.to), self.port);
        let opened = self
            .move_to(start.from)
            .and_then(|()| Sender::open(start.flow, start.from, to, start.bytes));
        match opened {
            Ok((sender, port)) => {
                let opened = (start.from, port, start.to);
                self.expected.insert(opened, (start.flow, start.bytes));
                self.keep(End::Sends(sender));
            }
            Err(_) => self.tell(start.from, Event::Failed(start.flow, Default::default())),
        }
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

    /// Takes the connections that others have opened to a host.
    fn accept(&mut self, host: HostId) {
        loop {
            let listener = self.listeners[host.0 as usize].as_fd();
            let Ok(Some((socket, peer))) = connection::accept(listener) else {
                return;
            };
            let from = addresses::host_of_ipv4(*peer.ip(), self.networks.len() as u32);
            let flow = from.and_then(|from| self.expected.remove(&(from, peer.port(), host)));
            if let Some((flow, bytes)) = flow {
                if bytes == 0 {
                    self.tell(host, Event::Completed(flow));
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
        let (news, clock, mut is_over) = (&self.news, &self.clock, false);
        let told = &self.told;
        let tell = |host: HostId, event: Event| {
            let at = clock.now();
            // Whoever heard has ended the run.
            let _ = news.send(News { at, host, event });
            told.wake();
        };
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

    fn tell(&self, host: HostId, event: Event) {
        let at = self.clock.now();
        let _ = self.news.send(News { at, host, event });
        self.told.wake();
    }

    /// The run is over: what open flows have cost is told as that of failed ones.
    fn leave(self) {
        for end in self.ends.values() {
            if let End::Sends(sender) = end {
                self.tell(sender.host, Event::Failed(sender.flow, sender.stats()));
            }
        }
    }
}
