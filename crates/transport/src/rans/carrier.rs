//! What carries requests in a network: the TCP of one host, once a class, so that the high class sends
//! before the low one at the NIC and every segment tells switches its class.

use super::header::{HIGH, LOW};
use crate::tcp::{ConfigError, ConnectionEvent, ConnectionId, Endpoint, Summary, TcpConfig};
use crate::{Header, PathPin, Segment, TcpFlags};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

/// The ports that servers are reached at, by class.
const PORTS: [u16; 2] = [80, 81];

/// A connection: its class and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// [`HIGH`] or [`LOW`].
    pub class: u8,
    /// The connection among those of the class.
    pub id: ConnectionId,
}

/// See the module. Each copy of a request is one connection: the client opens it and sends the request,
/// the server answers on it, and a client that wants no more resets it, which is what purges.
#[derive(Debug)]
pub struct Carrier {
    classes: [Endpoint; 2],
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
        })
    }

    /// Opens a connection for `flow` and sends `bytes` on it, the whole of a request. `None` where every
    /// port is in use.
    pub fn ask(
        &mut self,
        now: Time,
        class: u8,
        server: HostId,
        flow: FlowId,
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

    /// The flow of a connection that still is one.
    pub fn flow(&self, connection: Carried) -> Option<FlowId> {
        self.classes[usize::from(connection.class)].flow(connection.id)
    }

    /// Payload bytes that this end has sent on a connection, those sent again included.
    pub fn payload_sent(&self, connection: Carried) -> Option<u64> {
        let stats = self.classes[usize::from(connection.class)].stats(connection.id)?;
        Some(stats.payload_sent)
    }

    /// The network delivered `segment`.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        let tuple = &segment.tuple;
        let is_low = [tuple.src_port, tuple.dst_port].contains(&PORTS[usize::from(LOW)]);
        self.classes[usize::from(is_low)].on_segment(now, segment);
    }

    /// The next segment for the NIC: the high class first. Resets are high, since they end work.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        for (class, endpoint) in (HIGH..).zip(&mut self.classes) {
            if let Some(mut segment) = endpoint.poll_transmit(now) {
                let resets = |header: &Header| match header {
                    Header::Tcp(header) => header.flags.has(TcpFlags::RST),
                    _ => false,
                };
                segment.priority = match resets(&segment.header) {
                    true => HIGH,
                    false => class,
                };
                return Some(segment);
            }
        }
        None
    }

    /// Whether `poll_transmit` may give a segment. Never no where it would.
    pub fn has_transmit(&self) -> bool {
        self.classes.iter().any(Endpoint::has_transmit)
    }

    /// What happened to connections, with their class.
    pub fn poll_event(&mut self) -> Option<(u8, ConnectionEvent)> {
        let mut classes = (HIGH..).zip(&mut self.classes);
        classes.find_map(|(class, endpoint)| Some((class, endpoint.poll_event()?)))
    }

    /// `now` is at or past `next_timeout`.
    pub fn on_timeout(&mut self, now: Time) {
        for endpoint in &mut self.classes {
            endpoint.on_timeout(now);
        }
    }

    /// When `on_timeout` wants to be called, if ever.
    pub fn next_timeout(&self) -> Option<Time> {
        let timeouts = self.classes.iter().filter_map(Endpoint::next_timeout);
        timeouts.min()
    }
}
