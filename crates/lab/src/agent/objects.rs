//! Flows as objects that SCDP carries over UDP. Each host has an endpoint of the library `cast`, with a thread
//! of its own; this passes on what they tell.
//!
//! An object starts with its flow's number, so that its receiver knows which it is. One that is too short for
//! that is the first of its length that was sent to the receiver and has not arrived.

use super::orders::Start;
use super::report::Reporter;
use crate::addresses;
use crate::poller::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Poll, Wake, Waker as TaskWaker};
use tailcut_cast::driver::{Endpoint, Options, Received, Sending, Sent};
use tailcut_transport::scdp::ScdpConfig;
use tailcut_transport::{Event, FlowStats};
use tailcut_units::{FlowId, HostId};

/// Bytes of a flow's number.
const NUMBER: usize = size_of::<u32>();

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
}

/// The endpoints of all hosts, and what they send.
pub struct Objects {
    stations: Vec<Station>,
    port: u16,
    flows: BTreeMap<FlowId, OnItsWay>,
    /// Flows that are too short for a number: by sender, receiver and length.
    short: BTreeMap<(HostId, HostId, usize), VecDeque<FlowId>>,
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
            ..Options::default()
        };
        let local = SocketAddr::from((addresses::ipv4(host), self.port));
        let bell = self.bell(Told::Host(host));
        let endpoint = Endpoint::bind(local, &options)?;
        // The first look leaves the bell there.
        self.rung.0.send(Told::Host(host)).ok();
        self.stations.push(Station { endpoint, bell });
        Ok(())
    }

    /// Sends a flow.
    ///
    /// # Errors
    /// There is no such host, or the flow is longer than this machine's memory can be.
    pub fn send(&mut self, start: &Start) -> io::Result<()> {
        let refused = io::ErrorKind::InvalidInput;
        let bytes = usize::try_from(start.bytes).map_err(|_| refused)?;
        let mut object = vec![0; bytes];
        match object.first_chunk_mut::<NUMBER>() {
            Some(front) => *front = start.flow.0.to_be_bytes(),
            None => {
                let name = (start.from, start.to, bytes);
                self.short.entry(name).or_default().push_back(start.flow);
            }
        }
        let to = SocketAddr::from((addresses::ipv4(start.to), self.port));
        let station = self.stations.get(start.from.0 as usize).ok_or(refused)?;
        let sending = station.endpoint.send(to, object);
        let bell = self.bell(Told::Flow(start.flow));
        let flow = OnItsWay {
            from: start.from,
            sending,
            bell,
        };
        self.flows.insert(start.flow, flow);
        // The first look leaves the bell there.
        self.rung.0.send(Told::Flow(start.flow)).ok();
        Ok(())
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
        let hosts = self.stations.len() as u32;
        let Some(station) = self.stations.get(host.0 as usize) else {
            return;
        };
        let mut context = Context::from_waker(&station.bell);
        while let Poll::Ready(Some(received)) = pin!(station.endpoint.arrival()).poll(&mut context)
        {
            if let Some(flow) = flow_of(&received, host, hosts, &mut self.short) {
                report.tell(host, Event::Completed(flow));
            }
        }
    }

    fn sent(&mut self, flow: FlowId, report: &Reporter) {
        let Some(on_its_way) = self.flows.get_mut(&flow) else {
            return;
        };
        let mut context = Context::from_waker(&on_its_way.bell);
        if let Poll::Ready(result) = Pin::new(&mut on_its_way.sending).poll(&mut context) {
            let event = match result {
                Ok(sent) => Event::Closed(flow, stats(&sent)),
                Err(_) => Event::Failed(flow, FlowStats::default()),
            };
            report.tell(on_its_way.from, event);
            self.flows.remove(&flow);
        }
    }

    /// The run is over: open flows are told as failed ones.
    pub fn leave(&self, report: &Reporter) {
        for (flow, on_its_way) in &self.flows {
            report.tell(on_its_way.from, Event::Failed(*flow, FlowStats::default()));
        }
    }
}

/// The flow that an object is.
fn flow_of(
    received: &Received,
    to: HostId,
    hosts: u32,
    short: &mut BTreeMap<(HostId, HostId, usize), VecDeque<FlowId>>,
) -> Option<FlowId> {
    if let Some(front) = received.bytes.first_chunk::<NUMBER>() {
        return Some(FlowId(u32::from_be_bytes(*front)));
    }
    let SocketAddr::V4(from) = received.from else {
        return None;
    };
    let from = addresses::host_of_ipv4(*from.ip(), hosts)?;
    short
        .get_mut(&(from, to, received.bytes.len()))?
        .pop_front()
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
