//! What carries requests in a network: the TCP of one host, once a class, so that the high class sends
//! before the low one at the NIC and every segment tells switches its class. Flows that are no requests
//! are in the high class.

use super::header::{HIGH, LOW};
use crate::tcp::{
    ConfigError, ConnectionEvent, ConnectionId, Endpoint, Messages, Summary, TcpConfig,
};
use crate::{Event, Header, Message, PathPin, Segment, TcpFlags, Transport};
use alloc::collections::VecDeque;
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

/// The ports that servers are reached at, by class.
const PORTS: [u16; 2] = [80, 81];
/// The port that hosts are reached at by flows that are no requests.
const FLOWS: u16 = 82;

/// The bit of a flow's number that tells copies of requests from other flows.
const COPY: u32 = 1 << 30;

/// The flow that carries copy `number`, below 2^30, of all copies in a run.
pub const fn flow_of_copy(number: u32) -> FlowId {
    FlowId(COPY | number)
}

/// The number of the copy that a flow carries; `None` for other flows.
pub const fn copy_of_flow(flow: FlowId) -> Option<u32> {
    match flow.0 & COPY {
        0 => None,
        _ => Some(flow.0 ^ COPY),
    }
}

/// A connection: its class and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// [`HIGH`] or [`LOW`].
    pub class: u8,
    /// The connection among those of the class.
    pub id: ConnectionId,
}

/// See the module. Each copy of a request is one connection: the client opens it and sends the request,
/// the server answers on it, and a client that wants no more resets it, which is what purges. As a
/// [`Transport`] it sends flows that are no requests.
#[derive(Debug)]
pub struct Carrier {
    classes: [Endpoint; 2],
    flows: Messages,
    /// What happened to connections of copies, with their class.
    events: VecDeque<(u8, ConnectionEvent)>,
}

impl Carrier {
    /// The carrier of `host`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: &TcpConfig) -> Result<Self, ConfigError> {
        let endpoint = || -> Result<Endpoint, ConfigError> {
            let mut endpoint = Endpoint::new(host, config.clone())?;
            endpoint.report_delivered(true);
            Ok(endpoint)
        };
        Ok(Self {
            classes: [endpoint()?, endpoint()?],
            flows: Messages::default(),
            events: VecDeque::new(),
        })
    }

    /// Opens a connection for copy `number` ([`flow_of_copy`]) and sends `bytes` on it, the whole of a
    /// request. `None` where every port is in use.
    pub fn ask(
        &mut self,
        now: Time,
        class: u8,
        server: HostId,
        number: u32,
        bytes: u64,
    ) -> Option<Carried> {
        let class = class.min(LOW);
        let port = PORTS[usize::from(class)];
        let endpoint = &mut self.classes[usize::from(class)];
        let tuple = FiveTuple {
            src: endpoint.host(),
            dst: server,
            src_port: endpoint.unused_port(server, &[port])?,
            dst_port: port,
            protocol: Protocol::Tcp,
        };
        let flow = flow_of_copy(number);
        let id = endpoint.connect(now, tuple, flow, PathPin::NONE).ok()?;
        endpoint.write(now, id, bytes);
        endpoint.finish(now, id);
        Some(Carried { class, id })
    }

    /// Sends `bytes` as the whole answer of a connection.
    pub fn answer(&mut self, now: Time, connection: Carried, bytes: u64) {
        let endpoint = &mut self.classes[usize::from(connection.class)];
        endpoint.write(now, connection.id, bytes);
        endpoint.finish(now, connection.id);
    }

    /// Resets a connection: the peer is told, and what this end has not sent yet is gone.
    pub fn reset(&mut self, now: Time, connection: Carried) -> Option<Summary> {
        self.classes[usize::from(connection.class)].reset(now, connection.id)
    }

    /// The copy that a connection carries, if it still is one.
    pub fn copy(&self, connection: Carried) -> Option<u32> {
        let flow = self.classes[usize::from(connection.class)].flow(connection.id)?;
        copy_of_flow(flow)
    }

    /// Payload bytes that this end has sent on a connection, those sent again included.
    pub fn payload_sent(&self, connection: Carried) -> Option<u64> {
        let stats = self.classes[usize::from(connection.class)].stats(connection.id)?;
        Some(stats.payload_sent)
    }

    /// What happened to connections of copies, with their class. In order within a class.
    pub fn poll_connection(&mut self) -> Option<(u8, ConnectionEvent)> {
        self.events.pop_front()
    }

    /// Sorts what happened to connections into what concerns flows and what concerns copies.
    fn sort_events(&mut self, now: Time) {
        for (class, endpoint) in (HIGH..).zip(&mut self.classes) {
            while let Some(event) = endpoint.poll_event() {
                let flow = match event {
                    ConnectionEvent::Accepted { flow, .. } => Some(flow),
                    ConnectionEvent::Established { id }
                    | ConnectionEvent::Delivered { id, .. }
                    | ConnectionEvent::PeerFinished { id, .. } => endpoint.flow(id),
                    ConnectionEvent::Reset { summary, .. }
                    | ConnectionEvent::Failed { summary, .. }
                    | ConnectionEvent::Closed { summary, .. } => Some(summary.flow),
                };
                match flow.and_then(copy_of_flow) {
                    Some(_) => self.events.push_back((class, event)),
                    None => self.flows.on_event(now, endpoint, event),
                }
            }
        }
    }
}

impl Transport for Carrier {
    fn submit(&mut self, now: Time, message: Message) {
        let endpoint = &mut self.classes[usize::from(HIGH)];
        self.flows.submit(now, endpoint, message, FLOWS);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let tuple = &segment.tuple;
        let is_low = [tuple.src_port, tuple.dst_port].contains(&PORTS[usize::from(LOW)]);
        self.classes[usize::from(is_low)].on_segment(now, &segment);
        self.sort_events(now);
    }

    fn on_timeout(&mut self, now: Time) {
        for endpoint in &mut self.classes {
            endpoint.on_timeout(now);
        }
        self.sort_events(now);
    }

    /// The high class first. Resets are high, since they end work.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        for (class, endpoint) in (HIGH..).zip(&mut self.classes) {
            if let Some(mut segment) = endpoint.poll_transmit(now) {
                let resets = match &segment.header {
                    Header::Tcp(header) => header.flags.has(TcpFlags::RST),
                    _ => false,
                };
                segment.priority = if resets { HIGH } else { class };
                return Some(segment);
            }
        }
        None
    }

    fn has_transmit(&self) -> bool {
        self.classes.iter().any(Endpoint::has_transmit)
    }

    /// What happened to flows that are no requests.
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        let timeouts = self.classes.iter().filter_map(Endpoint::next_timeout);
        timeouts.min()
    }
}
