//! Copies of requests over TCP. A host has one TCP endpoint per class.
//! With separate endpoints, segments of the high class leave the NIC first, and switches can read the class.
//! Flows that are not requests are in the high class.
//! If TCP itself has classes (PIAS), the high class uses TCP's classes, and the low class is below all of them.

use super::carry::{Carry, CopyChange, CopyEvent};
use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy};
use crate::tcp::{ConnectionEvent, ConnectionId, Endpoint, Messages, Role, TcpConfig, sent};
use crate::{ConfigError, Event, FlowStats, Message, PathPin, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_requests::SendSpace;
use tailcut_requests::{HIGH, LOW};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

/// Identifier of a connection: its class, and its number in the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// Class: [`HIGH`] or [`LOW`].
    pub class: u8,
    /// Connection in the endpoint of the class.
    pub id: ConnectionId,
}

/// Transport for requests over TCP. Each copy of a request uses one connection.
/// The client opens the connection and sends the request, and the server answers on it.
/// A client that cancels a copy resets the connection, and switches purge the queued segments.
/// As a [`Transport`] the carrier also sends flows that are not requests.
///
/// An open connection may change its class ([`set_class`](Carry::set_class)).
/// Segments that have left keep their old class, so later segments may overtake them.
#[derive(Debug)]
pub struct Carrier {
    classes: [Endpoint; 2],
    flows: Messages,
    /// Events of the connections that transfer copies.
    events: VecDeque<CopyEvent<Carried>>,
    /// Whether a connection may be in another class than its port shows.
    has_moved: bool,
    /// Whether the carrier reports the number of bytes that servers may write.
    tells_windows: bool,
    /// Number of the low class at switches.
    low: u8,
    /// Ports on which servers accept connections, by class.
    ports: [u16; 2],
    /// Port on which hosts accept flows that are not requests.
    flow_port: u16,
}

impl Carrier {
    /// Creates the carrier of `host`.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: impl Into<Arc<TcpConfig>>) -> Result<Self, ConfigError> {
        let config = config.into();
        let endpoint = || -> Result<Endpoint, ConfigError> {
            let mut endpoint = Endpoint::new(host, Arc::clone(&config))?;
            endpoint.report_delivered(true);
            Ok(endpoint)
        };
        Ok(Self {
            classes: [endpoint()?, endpoint()?],
            flows: Messages::default(),
            events: VecDeque::new(),
            has_moved: false,
            tells_windows: false,
            low: config.tags.map_or(LOW, |tags| tags.demotion.classes()),
            // Each class has its own port, so that every segment shows its class to the receiving host.
            ports: [config.port, config.port + 1],
            flow_port: config.port + 2,
        })
    }

    /// Turns on reports of windows: the application of a server gets a report when segments leave and arrive.
    /// The report contains the connection's window and the number of bytes that may be written ([`CopyChange::Room`]).
    pub const fn tell_windows(&mut self) {
        self.tells_windows = true;
    }

    /// Sorts the events of connections into events of flows and events of copies.
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
                let Some(number) = flow.and_then(copy_of_flow) else {
                    self.flows.on_event(now, endpoint, event);
                    continue;
                };
                let tells_windows = self.tells_windows;
                let changes = changes(class, endpoint, event, tells_windows);
                let changes = changes.into_iter().flatten();
                let events = changes.map(|change| CopyEvent { number, change });
                self.events.extend(events);
            }
        }
    }

    /// Reports how many bytes may be written on the connection that sends with `tuple`.
    /// Called after a segment of the connection has left or arrived in `class`.
    /// Only the server of a copy gets this report, and only if it may write at least one byte.
    fn tell_room(&mut self, class: u8, tuple: &FiveTuple) {
        if !self.tells_windows {
            return;
        }
        let endpoint = &self.classes[usize::from(class)];
        let room = || {
            let id = endpoint.find(tuple)?;
            let number = copy_of_flow(endpoint.flow(id)?)?;
            // Clients open the connections, so the accepting host is the server.
            let answers = endpoint.role(id) == Some(Role::Acceptor);
            let room = room(endpoint, id).filter(|room| answers && room.bytes > 0)?;
            let change = CopyChange::Room(room);
            Some(CopyEvent { number, change })
        };
        self.events.extend(room());
    }

    /// Returns the class of the connection to which an arriving segment belongs.
    fn class_of(&self, segment: &Segment) -> u8 {
        let tuple = &segment.tuple;
        // The service port shows the class. The service port is the source port or the destination port.
        let is_low = [tuple.src_port, tuple.dst_port].contains(&self.ports[usize::from(LOW)]);
        let by_port = if is_low { LOW } else { HIGH };
        if self.has_moved {
            let has = |class: u8| self.classes[usize::from(class)].find(&tuple.reversed());
            // There are only two classes, so the sum minus one class is the other class.
            let other = HIGH + LOW - by_port;
            if has(by_port).is_none() && has(other).is_some() {
                return other;
            }
        }
        by_port
    }
}

impl Carry for Carrier {
    type Handle = Carried;

    /// Opens a connection and sends a request on it.
    /// Further messages can [follow](Self::say) until [`finish`](Self::finish) is called.
    /// Returns `None` if every port is in use.
    fn ask(&mut self, now: Time, ask: Ask) -> Option<Carried> {
        let class = ask.class.min(LOW);
        let (server, dst_port) = (ask.server, self.ports[usize::from(class)]);
        let [first, second] = &mut self.classes;
        let (endpoint, other) = match class {
            HIGH => (first, second),
            _ => (second, first),
        };
        let mut tuple = FiveTuple {
            src: endpoint.host(),
            dst: server,
            src_port: endpoint.unused_port(server, &[dst_port])?,
            dst_port,
            protocol: Protocol::Tcp,
        };
        // The other class may use the same ports, because a connection keeps its ports when it changes its class.
        while other.find(&tuple).is_some() {
            tuple.src_port = endpoint.unused_port(server, &[dst_port])?;
        }
        let flow = flow_of_copy(ask.number);
        let id = endpoint.connect(now, tuple, flow, PathPin::NONE).ok()?;
        endpoint.write(now, id, ask.bytes);
        Some(Carried { class, id })
    }

    fn say(&mut self, now: Time, copy: Carried, bytes: u64) {
        self.classes[usize::from(copy.class)].write(now, copy.id, bytes);
    }

    fn finish(&mut self, now: Time, copy: Carried) {
        self.classes[usize::from(copy.class)].finish(now, copy.id);
    }

    fn answer(&mut self, now: Time, copy: Carried, answer: Answer) {
        self.say(now, copy, answer.bytes);
        if answer.is_last {
            self.finish(now, copy);
        }
    }

    fn set_class(&mut self, _now: Time, copy: Carried, class: u8) -> Carried {
        let class = class.min(LOW);
        if class == copy.class {
            return copy;
        }
        let [high, low] = &mut self.classes;
        let (from, to) = match class {
            HIGH => (low, high),
            _ => (high, low),
        };
        match from.hand_over(copy.id, to) {
            Some(id) => {
                self.has_moved = true;
                Carried { class, id }
            }
            // The connection has ended, or the other class uses the connection's ports.
            None => copy,
        }
    }

    /// Resets a connection. The peer is notified, and this host drops unsent data of the connection.
    fn reset(&mut self, now: Time, copy: Carried) {
        self.classes[usize::from(copy.class)].reset(now, copy.id);
    }

    fn payload_sent(&self, copy: Carried) -> Option<u64> {
        let stats = self.classes[usize::from(copy.class)].stats(copy.id)?;
        Some(stats.payload_sent)
    }

    fn poll_copy(&mut self) -> Option<CopyEvent<Carried>> {
        self.events.pop_front()
    }
}

/// Returns the number of bytes that may be written on a connection, or `None` after the end of writing.
/// With the returned number of bytes, the next segment or burst, and one more segment, are always ready to leave.
/// With enough written data, the connection never waits for the application.
fn room(endpoint: &Endpoint, id: ConnectionId) -> Option<SendSpace> {
    let config = endpoint.config();
    let kept = u64::from(config.mss.max(config.lso_bytes)) + u64::from(config.mss);
    Some(SendSpace {
        bytes: kept.saturating_sub(endpoint.unsent(id)?),
        window: endpoint.window(id)?.cwnd,
    })
}

/// Returns the changes of a copy that an event of its connection causes.
fn changes(
    class: u8,
    endpoint: &Endpoint,
    event: ConnectionEvent,
    tells_windows: bool,
) -> [Option<CopyChange<Carried>>; 2] {
    let (summary, end) = match event {
        ConnectionEvent::Established { .. } => return [None, None],
        ConnectionEvent::Accepted { id, .. } => {
            let handle = Carried { class, id };
            let room = tells_windows.then(|| room(endpoint, id)).flatten();
            return [Some(CopyChange::Accepted { handle, room }), None];
        }
        ConnectionEvent::Delivered { total, .. } => {
            return [Some(CopyChange::Delivered { total }), None];
        }
        ConnectionEvent::PeerFinished { id, total } => {
            let is_client = endpoint.role(id) == Some(Role::Opener);
            return [
                Some(CopyChange::Delivered { total }),
                is_client.then_some(CopyChange::Whole),
            ];
        }
        // Only a client that cancels a copy resets a connection.
        ConnectionEvent::Reset { summary, .. } => (summary, End::Purged),
        ConnectionEvent::Failed { summary, .. } => (summary, End::Failed),
        ConnectionEvent::Closed { summary, .. } => (summary, End::Whole),
    };
    let (role, stats) = (summary.role, summary.stats);
    [Some(CopyChange::Ended { role, stats, end }), None]
}

impl Transport for Carrier {
    fn submit(&mut self, now: Time, message: Message) {
        let endpoint = &mut self.classes[usize::from(HIGH)];
        self.flows.submit(now, endpoint, message, self.flow_port);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let class = self.class_of(&segment);
        self.classes[usize::from(class)].on_segment(now, &segment);
        self.sort_events(now);
        // The report of free space comes last, because the server must accept a copy before it may write.
        self.tell_room(class, &segment.tuple.reversed());
    }

    fn on_timeout(&mut self, now: Time) {
        for endpoint in &mut self.classes {
            endpoint.on_timeout(now);
        }
        self.sort_events(now);
    }

    /// Returns the next segment. Segments of the high class leave first.
    /// Resets are in the high class, because they stop needless work at servers.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        for class in [HIGH, LOW] {
            if let Some(mut segment) = self.classes[usize::from(class)].poll_transmit(now) {
                if segment.header.is_reset() {
                    segment.priority = HIGH;
                } else if class != HIGH {
                    segment.priority = self.low;
                }
                self.tell_room(class, &segment.tuple);
                return Some(segment);
            }
        }
        None
    }

    fn has_transmit(&self) -> bool {
        self.classes.iter().any(Endpoint::has_transmit)
    }

    /// Returns the next event of a flow that is not a copy of a request.
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        let timeouts = self.classes.iter().filter_map(Endpoint::next_timeout);
        timeouts.min()
    }

    /// Returns the flows that are not copies of requests. [`poll_copy`](Carry::poll_copy) reports the copies.
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.classes.iter().flat_map(Endpoint::unfinished);
        sent(open)
            .filter(|(flow, _)| copy_of_flow(*flow).is_none())
            .collect()
    }
}
