//! Flows over SCDP: each flow is an object that SCDP sends over UDP.
//! Each host has an endpoint of the library `cast`, with its own thread.
//! The agents' module for objects starts the transfers of the objects and reports their events.
//!
//! Each object starts with a name of 8 bytes: the number of its flow, or the port at which the receiver collects it.
//! The receiver identifies the flow by the name. An object of less than 8 bytes has no name.
//! For an object without a name, the receiver takes the first missing flow with the same sender, receiver and length.

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

/// Length of an object's name in bytes.
const NAME: usize = size_of::<u64>();
/// Bit of an object's name.
/// If the bit is set, the receiver collects the object at a port, and the name contains this port.
const COLLECTED: u64 = 1 << 63;

/// Source of an event: an endpoint or the sender of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventSource {
    /// Endpoint of a host: an object has arrived.
    Host(HostId),
    /// Sender of a flow: the transfer has made progress.
    Flow(FlowId),
}

/// Waker that queues the source of an event and wakes the agents' thread.
struct EventWaker {
    source: EventSource,
    events: Sender<EventSource>,
    waker: Arc<Waker>,
}

impl Wake for EventWaker {
    fn wake(self: Arc<Self>) {
        // The send fails only if the run has ended.
        let _ = self.events.send(self.source);
        self.waker.wake();
    }
}

/// Returns the multicast group for a flow to several hosts. The address is in the block for local use (RFC 2365).
fn group_of(flow: FlowId) -> IpAddr {
    let [_, high, middle, low] = flow.0.to_be_bytes();
    Ipv4Addr::new(239, 0x80 | high, middle, low).into()
}

/// SCDP endpoint of a host.
struct HostEndpoint {
    endpoint: Endpoint,
    task_waker: TaskWaker,
}

/// Flow that SCDP has not finished yet.
struct ActiveFlow {
    from: HostId,
    sending: Sending,
    task_waker: TaskWaker,
    is_to_group: bool,
    /// Receivers that have not reported the arrival yet.
    left: usize,
    /// Statistics of the sender; `None` until all receivers have acknowledged the object.
    /// The statistics are reported only after all receivers have also reported the arrival.
    cost: Option<FlowStats>,
}

/// Endpoints of all hosts, and the flows that they send.
pub struct Objects {
    endpoints: Vec<HostEndpoint>,
    port: u16,
    flows: BTreeMap<FlowId, ActiveFlow>,
    /// Flows that are too short for a name. Each key consists of the sender, the receiver and the length in bytes.
    short: BTreeMap<(HostId, HostId, usize), VecDeque<FlowId>>,
    /// Flows that hosts collect. Each key consists of the host and the port.
    collected: BTreeMap<(HostId, u16), FlowId>,
    /// Queue of the event sources that must be polled.
    events: (Sender<EventSource>, Receiver<EventSource>),
    waker: Arc<Waker>,
}

impl Objects {
    /// Creates a set without endpoints. Each event wakes `waker`.
    /// The woken thread must call [`Self::report_events`].
    pub fn new(waker: Waker) -> Self {
        Self {
            endpoints: Vec::new(),
            port: 0,
            flows: BTreeMap::new(),
            short: BTreeMap::new(),
            collected: BTreeMap::new(),
            events: mpsc::channel(),
            waker: Arc::new(waker),
        }
    }

    fn event_waker(&self, source: EventSource) -> TaskWaker {
        let events = self.events.0.clone();
        let waker = Arc::clone(&self.waker);
        Arc::new(EventWaker {
            source,
            events,
            waker,
        })
        .into()
    }

    /// Opens the endpoint of the next host. The calling thread must be in the network namespace of that host.
    ///
    /// # Errors
    /// The kernel rejects a call, or a parameter is outside its range.
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
        // An endpoint that is bound to the host's own address would not receive packets to a multicast group.
        let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port));
        let task_waker = self.event_waker(EventSource::Host(host));
        let endpoint = Endpoint::bind(local, &options)?;
        // An endpoint wakes its waker only after a first poll. The event that is sent here causes the first poll.
        self.events.0.send(EventSource::Host(host)).ok();
        self.endpoints.push(HostEndpoint {
            endpoint,
            task_waker,
        });
        Ok(())
    }

    /// Prepares a flow before its start. The receivers of the flow join the multicast group.
    /// With prepared routes, the network knows the way to the receivers when the flow starts.
    ///
    /// # Errors
    /// The kernel rejects a call, or a host does not exist.
    pub fn expect(&self, flow: FlowId, ends: &Ends) -> io::Result<()> {
        let Ends::All(receivers, _) = ends else {
            return Ok(());
        };
        for host in receivers {
            let host_endpoint = self.endpoints.get(host.0 as usize);
            let host_endpoint = host_endpoint.ok_or(io::ErrorKind::InvalidInput)?;
            host_endpoint.endpoint.join(group_of(flow), CARD)?;
        }
        Ok(())
    }

    /// Sends a flow.
    ///
    /// # Errors
    /// The host does not exist, or the flow is longer than the address space of this machine.
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
        let host_endpoint = self.endpoints.get(start.from.0 as usize).ok_or(refused)?;
        let endpoint = &host_endpoint.endpoint;
        let (sending, left) = match ends {
            Ends::One => (endpoint.send(address(start.to), object), 1),
            Ends::All(receivers, stragglers) => {
                let to: Vec<SocketAddr> = receivers.iter().copied().map(address).collect();
                let group = SocketAddr::from((group_of(start.flow), self.port));
                let sending = endpoint.send_to_group(group, &to, *stragglers, object);
                (sending, to.len())
            }
            Ends::Share(port, share) => {
                // All senders of the object derive the same session number.
                let session = u64::from(start.to.0) << 16 | u64::from(*port);
                let to = address(start.to);
                (endpoint.send_share(to, session, *share, object), 0)
            }
        };
        let task_waker = self.event_waker(EventSource::Flow(start.flow));
        let flow = ActiveFlow {
            from: start.from,
            sending,
            task_waker,
            is_to_group: matches!(ends, Ends::All(..)),
            left,
            cost: None,
        };
        self.flows.insert(start.flow, flow);
        // A transfer wakes its waker only after a first poll. The event that is sent here causes the first poll.
        self.events.0.send(EventSource::Flow(start.flow)).ok();
        Ok(())
    }

    /// Registers a flow that a host collects at a port.
    pub fn collect(&mut self, host: HostId, flow: FlowId, port: u16) {
        self.collected.insert((host, port), flow);
    }

    /// Reports all events that are queued.
    pub fn report_events(&mut self, reporter: &Reporter) {
        while let Ok(source) = self.events.1.try_recv() {
            match source {
                EventSource::Host(host) => self.poll_arrivals(host, reporter),
                EventSource::Flow(flow) => self.poll_sent(flow, reporter),
            }
        }
    }

    fn poll_arrivals(&mut self, host: HostId, reporter: &Reporter) {
        loop {
            let Some(host_endpoint) = self.endpoints.get(host.0 as usize) else {
                return;
            };
            let mut context = Context::from_waker(&host_endpoint.task_waker);
            let arrival = pin!(host_endpoint.endpoint.arrival()).poll(&mut context);
            let Poll::Ready(Some(received)) = arrival else {
                return;
            };
            self.on_received(&received, host, reporter);
        }
    }

    fn on_received(&mut self, received: &Received, host: HostId, reporter: &Reporter) {
        let name = received.bytes.first_chunk::<NAME>();
        let name = name.map(|front| u64::from_be_bytes(*front));
        match name {
            Some(name) if name & COLLECTED != 0 => {
                if let Some(flow) = self.collected.remove(&(host, name as u16)) {
                    reporter.report(host, Event::Completed(flow));
                    reporter.report(host, Event::Closed(flow, FlowStats::default()));
                }
            }
            Some(name) => self.on_delivered(FlowId(name as u32), host, reporter),
            None => {
                let SocketAddr::V4(from) = received.from else {
                    return;
                };
                let hosts = self.endpoints.len() as u32;
                let from = addresses::host_of_ipv4(*from.ip(), hosts);
                let flow = from.and_then(|from| {
                    let name = (from, host, received.bytes.len());
                    self.short.get_mut(&name)?.pop_front()
                });
                if let Some(flow) = flow {
                    self.on_delivered(flow, host, reporter);
                }
            }
        }
    }

    /// Reports that a flow has arrived at a host.
    fn on_delivered(&mut self, flow: FlowId, host: HostId, reporter: &Reporter) {
        reporter.report(host, Event::Completed(flow));
        if let Some(active) = self.flows.get_mut(&flow) {
            if let (true, Some(host_endpoint)) =
                (active.is_to_group, self.endpoints.get(host.0 as usize))
            {
                // The host leaves the group, because it needs no further packets of this group.
                // The call cannot fail, because the host has joined the group before.
                let _ = host_endpoint.endpoint.leave(group_of(flow), CARD);
            }
            active.left = active.left.saturating_sub(1);
            self.close(flow, reporter);
        }
    }

    /// Reports a flow as closed if it has ended at the sender and at all receivers.
    fn close(&mut self, flow: FlowId, reporter: &Reporter) {
        if let Some(ActiveFlow {
            from,
            left: 0,
            cost: Some(cost),
            ..
        }) = self.flows.get(&flow)
        {
            reporter.report(*from, Event::Closed(flow, *cost));
            self.flows.remove(&flow);
        }
    }

    fn poll_sent(&mut self, flow: FlowId, reporter: &Reporter) {
        let Some(active) = self.flows.get_mut(&flow) else {
            return;
        };
        let mut context = Context::from_waker(&active.task_waker);
        match Pin::new(&mut active.sending).poll(&mut context) {
            Poll::Pending => {}
            Poll::Ready(Ok(sent)) => {
                active.left = active.left.saturating_sub(sent.missed);
                active.cost = Some(stats(&sent));
                self.close(flow, reporter);
            }
            Poll::Ready(Err(_)) => {
                reporter.report(active.from, Event::Failed(flow, FlowStats::default()));
                self.flows.remove(&flow);
            }
        }
    }

    /// Reports the flows that are still open at the end of the run as failed.
    pub fn report_unfinished(&self, reporter: &Reporter) {
        for (flow, active) in &self.flows {
            let cost = active.cost.unwrap_or_default();
            reporter.report(active.from, Event::Failed(*flow, cost));
        }
    }
}

/// Converts the statistics of an SCDP sender to flow statistics.
fn stats(sent: &Sent) -> FlowStats {
    FlowStats {
        retransmissions: sent.repair,
        timeouts: sent.timeouts,
        copies: 1,
        payload_sent: sent.bytes,
    }
}
