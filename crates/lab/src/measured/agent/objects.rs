//! Flows as objects that SCDP carries over UDP. Each host has an endpoint of the library `cast`, with a thread
//! of its own; this passes on what they tell.
//!
//! An object starts with its flow's number, or with the port that it is collected at, so that its receiver knows
//! which it is. One that is too short for that is the first of its length that was sent to the receiver and has
//! not arrived.

use super::orders::{Ends, Start};
use super::report::Reporter;
use crate::emulator::addresses;
use crate::emulator::host::CARD;
use crate::emulator::poller::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Poll, Wake, Waker as TaskWaker};
use tailcut_cast::driver::{Endpoint, Options, Received, Sending, Sent};
use tailcut_cast::udp::Multicast;
use tailcut_transport::scdp::ScdpConfig;
use tailcut_transport::{Event, FlowStats};
use tailcut_units::{FlowId, HostId};

/// Bytes of an object's name.
const NAME: usize = size_of::<u64>();
/// Names of objects that are collected at a port have this bit.
const COLLECTED: u64 = 1 << 63;

/// Who has something to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    /// The endpoint of a host, of an object that has arrived.
    Host(HostId),
    /// What sends a flow.
    Flow(FlowId),
}

/// Tells this thread that somebody has something to tell.
struct Bell {
    who: Told,
    rung: Sender<Told>,
    waker: Arc<Waker>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Whoever listened has ended the run.
        let _ = self.rung.send(self.who);
        self.waker.wake();
    }
}

/// The multicast group of a flow to several hosts, of those for local use (RFC 2365).
fn group_of(flow: FlowId) -> IpAddr {
    let [_, high, middle, low] = flow.0.to_be_bytes();
    Ipv4Addr::new(239, 0x80 | high, middle, low).into()
}

/// A host's endpoint.
struct Station {
    endpoint: Endpoint,
    bell: TaskWaker,
}

/// A flow on its way.
struct OnItsWay {
    from: HostId,
    sending: Sending,
    bell: TaskWaker,
    is_to_group: bool,
    /// Receivers that have not told that it has arrived.
    left: usize,
    /// What it has cost, once its sender knows that all have it: told after they have.
    cost: Option<FlowStats>,
}

/// The endpoints of all hosts, and what they send.
pub struct Objects {
    stations: Vec<Station>,
    port: u16,
    flows: BTreeMap<FlowId, OnItsWay>,
    /// Flows that are too short for a number: by sender, receiver and length.
    short: BTreeMap<(HostId, HostId, usize), VecDeque<FlowId>>,
    /// What hosts collect at their ports.
    collected: BTreeMap<(HostId, u16), FlowId>,
    rung: (Sender<Told>, Receiver<Told>),
    waker: Arc<Waker>,
}

impl Objects {
    /// Without endpoints. `waker` wakes the thread that calls [`Self::go_on`].
    pub fn new(waker: Waker) -> Self {
        Self {
            stations: Vec::new(),
            port: 0,
            flows: BTreeMap::new(),
            short: BTreeMap::new(),
            collected: BTreeMap::new(),
            rung: mpsc::channel(),
            waker: Arc::new(waker),
        }
    }

    fn bell(&self, who: Told) -> TaskWaker {
        let rung = self.rung.0.clone();
        let waker = Arc::clone(&self.waker);
        Arc::new(Bell { who, rung, waker }).into()
    }

    /// Opens the endpoint of the next host, in whose network this thread is.
    ///
    /// # Errors
    /// The system refuses, or a parameter is outside its range.
    pub fn open(&mut self, host: HostId, config: &ScdpConfig) -> io::Result<()> {
        self.port = config.port;
        let options = Options {
            scdp: Some(*config),
            object: u64::MAX,
            memory: u64::MAX,
            multicast: Multicast {
                interface: CARD,
                ..Multicast::default()
            },
            ..Options::default()
        };
        // What is sent to a group does not come to the host's own address.
        let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port));
        let bell = self.bell(Told::Host(host));
        let endpoint = Endpoint::bind(local, &options)?;
        // The first look leaves the bell there.
        self.rung.0.send(Told::Host(host)).ok();
        self.stations.push(Station { endpoint, bell });
        Ok(())
    }

    /// A flow is ordered: its receivers join its group, so that the network knows them when it starts.
    ///
    /// # Errors
    /// The system refuses, or there is no such host.
    pub fn expect(&self, flow: FlowId, ends: &Ends) -> io::Result<()> {
        let Ends::All(receivers, _) = ends else {
            return Ok(());
        };
        for host in receivers {
            let station = self.stations.get(host.0 as usize);
            let station = station.ok_or(io::ErrorKind::InvalidInput)?;
            station.endpoint.join(group_of(flow), CARD)?;
        }
        Ok(())
    }

    /// Sends a flow.
    ///
    /// # Errors
    /// There is no such host, or the flow is longer than this machine's memory can be.
    pub fn send(&mut self, start: &Start, ends: &Ends) -> io::Result<()> {
        let refused = io::ErrorKind::InvalidInput;
        let bytes = usize::try_from(start.bytes).map_err(|_| refused)?;
        let mut object = vec![0; bytes];
        let name = match ends {
            Ends::Share(port, _) => COLLECTED | u64::from(*port),
            Ends::One | Ends::All(..) => start.flow.0.into(),
        };
        match object.first_chunk_mut::<NAME>() {
            Some(front) => *front = name.to_be_bytes(),
            None => {
                let name = (start.from, start.to, bytes);
                self.short.entry(name).or_default().push_back(start.flow);
            }
        }
        let address = |host| SocketAddr::from((addresses::ipv4(host), self.port));
        let station = self.stations.get(start.from.0 as usize).ok_or(refused)?;
        let endpoint = &station.endpoint;
        let (sending, left) = match ends {
            Ends::One => (endpoint.send(address(start.to), object), 1),
            Ends::All(receivers, stragglers) => {
                let to: Vec<SocketAddr> = receivers.iter().copied().map(address).collect();
                let group = SocketAddr::from((group_of(start.flow), self.port));
                let sending = endpoint.send_to_group(group, &to, *stragglers, object);
                (sending, to.len())
            }
            Ends::Share(port, share) => {
                // One that all its senders know.
                let session = u64::from(start.to.0) << 16 | u64::from(*port);
                let to = address(start.to);
                (endpoint.send_share(to, session, *share, object), 0)
            }
        };
        let bell = self.bell(Told::Flow(start.flow));
        let flow = OnItsWay {
            from: start.from,
            sending,
            bell,
            is_to_group: matches!(ends, Ends::All(..)),
            left,
            cost: None,
        };
        self.flows.insert(start.flow, flow);
        // The first look leaves the bell there.
        self.rung.0.send(Told::Flow(start.flow)).ok();
        Ok(())
    }

    /// A host collects a flow at a port.
    pub fn collect(&mut self, host: HostId, flow: FlowId, port: u16) {
        self.collected.insert((host, port), flow);
    }

    /// Passes on what there is to tell.
    pub fn go_on(&mut self, report: &Reporter) {
        while let Ok(who) = self.rung.1.try_recv() {
            match who {
                Told::Host(host) => self.arrivals(host, report),
                Told::Flow(flow) => self.sent(flow, report),
            }
        }
    }

    fn arrivals(&mut self, host: HostId, report: &Reporter) {
        loop {
            let Some(station) = self.stations.get(host.0 as usize) else {
                return;
            };
            let mut context = Context::from_waker(&station.bell);
            let arrival = pin!(station.endpoint.arrival()).poll(&mut context);
            let Poll::Ready(Some(received)) = arrival else {
                return;
            };
            self.arrived(&received, host, report);
        }
    }

    fn arrived(&mut self, received: &Received, host: HostId, report: &Reporter) {
        let name = received.bytes.first_chunk::<NAME>();
        let name = name.map(|front| u64::from_be_bytes(*front));
        match name {
            Some(name) if name & COLLECTED != 0 => {
                if let Some(flow) = self.collected.remove(&(host, name as u16)) {
                    report.tell(host, Event::Completed(flow));
                    report.tell(host, Event::Closed(flow, FlowStats::default()));
                }
            }
            Some(name) => self.is_with(FlowId(name as u32), host, report),
            None => {
                let SocketAddr::V4(from) = received.from else {
                    return;
                };
                let hosts = self.stations.len() as u32;
                let from = addresses::host_of_ipv4(*from.ip(), hosts);
                let flow = from.and_then(|from| {
                    let name = (from, host, received.bytes.len());
                    self.short.get_mut(&name)?.pop_front()
                });
                if let Some(flow) = flow {
                    self.is_with(flow, host, report);
                }
            }
        }
    }

    /// A flow has arrived at a host.
    fn is_with(&mut self, flow: FlowId, host: HostId, report: &Reporter) {
        report.tell(host, Event::Completed(flow));
        if let Some(on_its_way) = self.flows.get_mut(&flow) {
            if let (true, Some(station)) =
                (on_its_way.is_to_group, self.stations.get(host.0 as usize))
            {
                // What the group still brings is not for it. It had joined.
                let _ = station.endpoint.leave(group_of(flow), CARD);
            }
            on_its_way.left = on_its_way.left.saturating_sub(1);
            self.close(flow, report);
        }
    }

    /// Tells that a flow is over, if it is.
    fn close(&mut self, flow: FlowId, report: &Reporter) {
        if let Some(OnItsWay {
            from,
            left: 0,
            cost: Some(cost),
            ..
        }) = self.flows.get(&flow)
        {
            report.tell(*from, Event::Closed(flow, *cost));
            self.flows.remove(&flow);
        }
    }

    fn sent(&mut self, flow: FlowId, report: &Reporter) {
        let Some(on_its_way) = self.flows.get_mut(&flow) else {
            return;
        };
        let mut context = Context::from_waker(&on_its_way.bell);
        match Pin::new(&mut on_its_way.sending).poll(&mut context) {
            Poll::Pending => {}
            Poll::Ready(Ok(sent)) => {
                on_its_way.left = on_its_way.left.saturating_sub(sent.missed);
                on_its_way.cost = Some(stats(&sent));
                self.close(flow, report);
            }
            Poll::Ready(Err(_)) => {
                report.tell(on_its_way.from, Event::Failed(flow, FlowStats::default()));
                self.flows.remove(&flow);
            }
        }
    }

    /// The run is over: open flows are told as failed ones.
    pub fn leave(&self, report: &Reporter) {
        for (flow, on_its_way) in &self.flows {
            let cost = on_its_way.cost.unwrap_or_default();
            report.tell(on_its_way.from, Event::Failed(*flow, cost));
        }
    }
}

/// What a flow has cost.
fn stats(sent: &Sent) -> FlowStats {
    FlowStats {
        retransmissions: sent.repair,
        timeouts: sent.timeouts,
        copies: 1,
        payload_sent: sent.bytes,
    }
}
