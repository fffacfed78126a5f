//! What carries requests over TCP: that of one host, once a class, so that the high class sends before the
//! low one at the NIC and every segment tells switches its class. Flows that are no requests are in the high
//! class. Where TCP itself has classes (PIAS) the high one keeps them, and the low one is below them all.

use super::carry::{Carry, CopyChange, CopyEvent};
use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy};
use crate::tcp::{ConnectionEvent, ConnectionId, Endpoint, Messages, Role, TcpConfig, sent};
use crate::{ConfigError, Event, FlowStats, Message, PathPin, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_requests::Room;
use tailcut_requests::{HIGH, LOW};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

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
///
/// A connection may change its class while it is open ([`set_class`](Carry::set_class)). What has left has
/// the class that it left with, so that segments may overtake those before them.
#[derive(Debug)]
pub struct Carrier {
    classes: [Endpoint; 2],
    flows: Messages,
    /// What happened to connections of copies.
    events: VecDeque<CopyEvent<Carried>>,
    /// Whether a connection may be in another class than its port says.
    has_moved: bool,
    /// Whether answers tell the windows of their senders.
    tells_windows: bool,
    /// What switches call the low class.
    low: u8,
    /// The ports that servers are reached at, by class.
    ports: [u16; 2],
    /// The port that hosts are reached at by flows that are no requests.
    flow_port: u16,
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
            has_moved: false,
            tells_windows: false,
            low: config.tags.map_or(LOW, |tags| tags.demotion.classes()),
            ports: [config.port, config.port + 1],
            flow_port: config.port + 2,
        })
    }

    /// Answers tell the windows of their senders from now on: a server hears of each window, and how much it
    /// may hand over ([`CopyChange::Room`]), as segments leave and arrive.
    pub const fn tell_windows(&mut self) {
        self.tells_windows = true;
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

    /// A segment of the connection that sends with `tuple` has left or arrived, in `class`: what there is
    /// room for, if this end answers a copy and may hand something over.
    fn tell_room(&mut self, class: u8, tuple: &FiveTuple) {
        if !self.tells_windows {
            return;
        }
        let endpoint = &self.classes[usize::from(class)];
        let room = || {
            let id = endpoint.find(tuple)?;
            let number = copy_of_flow(endpoint.flow(id)?)?;
            let answers = endpoint.role(id) == Some(Role::Acceptor);
            let room = room(endpoint, id).filter(|room| answers && room.bytes > 0)?;
            let change = CopyChange::Room(room);
            Some(CopyEvent { number, change })
        };
        self.events.extend(room());
    }

    /// The class of the connection that a segment which has arrived belongs to.
    fn class_of(&self, segment: &Segment) -> u8 {
        let tuple = &segment.tuple;
        let is_low = [tuple.src_port, tuple.dst_port].contains(&self.ports[usize::from(LOW)]);
        let by_port = if is_low { LOW } else { HIGH };
        if self.has_moved {
            let has = |class: u8| self.classes[usize::from(class)].find(&tuple.reversed());
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

    /// Opens a connection and sends a request on it; more can be [said](Self::say) until
    /// [`finish`](Self::finish). `None` where every port is in use.
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
        // One that has changed its class has kept its ports.
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
            None => copy,
        }
    }

    /// Resets a connection: the peer is told, and what this end has not sent yet is gone.
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

/// What there is room for on a connection: the next segment, or burst, and one more are kept ready to leave,
/// so that it never waits for its application. `None` where nothing more may be written.
fn room(endpoint: &Endpoint, id: ConnectionId) -> Option<Room> {
    let config = endpoint.config();
    let kept = u64::from(config.mss.max(config.lso_bytes)) + u64::from(config.mss);
    Some(Room {
        bytes: kept.saturating_sub(endpoint.unsent(id)?),
        window: endpoint.window(id)?.cwnd,
    })
}

/// What happened to the copy of a connection.
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
        self.tell_room(class, &segment.tuple.reversed());
    }

    fn on_timeout(&mut self, now: Time) {
        for endpoint in &mut self.classes {
            endpoint.on_timeout(now);
        }
        self.sort_events(now);
    }

    /// The high class first. Resets are high, since they end work.
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

    /// What happened to flows that are no requests.
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        let timeouts = self.classes.iter().filter_map(Endpoint::next_timeout);
        timeouts.min()
    }

    /// Copies of requests are told of by [`poll_copy`](Carry::poll_copy).
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.classes.iter().flat_map(Endpoint::unfinished);
        sent(open)
            .filter(|(flow, _)| copy_of_flow(*flow).is_none())
            .collect()
    }
}
