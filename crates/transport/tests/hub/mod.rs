//! Several hosts at one wire, for transfers with several ends. Every segment has the same delay.
//! A segment for a group reaches each member that has not left. The fault function of a test decides about each copy.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use std::collections::BTreeMap;
use tailcut_transport::{
    Condition, Event, Message, Part, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

/// Fate of one copy of a segment in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Deliver,
    Drop,
    Trim,
    /// The copy arrives twice. The second arrival is this much later.
    Duplicate(Duration),
}

/// Function that decides the fate of a copy from the time, the receiving host and the segment.
pub type Fault = Box<dyn FnMut(Time, usize, &Segment) -> Fate>;

pub struct Hub<T> {
    pub now: Time,
    pub hosts: Vec<T>,
    /// Rate of each host's link to the wire.
    pub rates: Vec<Rate>,
    pub fault: Fault,
    /// Segments that hosts passed to their links.
    pub sent: Vec<(Time, usize, Segment)>,
    pub events: Vec<(Time, usize, Event)>,
    groups: Vec<Vec<HostId>>,
    on_the_way: BTreeMap<(Time, u64), (usize, Segment)>,
    free_at: Vec<Time>,
    silent: Vec<bool>,
    count: u64,
}

const ONE_WAY: Duration = Duration::from_us(5);
/// Bytes that headers, preamble and gap add to a segment on the wire.
const OVERHEAD: u64 = 78;

/// Returns the message for the object `flow`, which has `bytes` bytes and is sent to `dst`.
pub fn message(flow: u32, dst: HostId, bytes: u64) -> Message {
    Message {
        flow: FlowId(flow),
        dst,
        bytes,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}

impl<T: Transport> Hub<T> {
    /// Creates a network with a one-way delay of 5 us at 10 Gb/s, without loss.
    pub fn new(hosts: Vec<T>) -> Self {
        let count = hosts.len();
        Self {
            now: Time::ZERO,
            hosts,
            rates: vec![Rate::from_gbps(10); count],
            fault: Box::new(|_, _, _| Fate::Deliver),
            sent: Vec::new(),
            events: Vec::new(),
            groups: Vec::new(),
            on_the_way: BTreeMap::new(),
            free_at: vec![Time::ZERO; count],
            silent: vec![false; count],
            count: 0,
        }
    }

    pub fn with_fault(
        mut self,
        fault: impl FnMut(Time, usize, &Segment) -> Fate + 'static,
    ) -> Self {
        self.fault = Box::new(fault);
        self
    }

    /// Returns the address of a group of `members`.
    pub fn form_group(&mut self, members: &[HostId]) -> HostId {
        self.groups.push(members.to_vec());
        HostId::group(self.groups.len() as u32 - 1)
    }

    /// Removes `member` from a group. Later segments to the group do not reach it.
    pub fn leave_group(&mut self, group: HostId, member: HostId) {
        let number = group.group_number().expect("a group's address") as usize;
        self.groups[number].retain(|host| *host != member);
    }

    pub fn submit(&mut self, host: usize, message: Message) {
        self.hosts[host].submit(self.now, message);
        self.silent[host] = false;
        self.collect(host);
    }

    /// Runs an action of a host's application or driver other than submitting a flow.
    pub fn act<R>(&mut self, host: usize, act: impl FnOnce(&mut T, Time) -> R) -> R {
        let result = act(&mut self.hosts[host], self.now);
        self.silent[host] = false;
        self.collect(host);
        result
    }

    pub fn take_part(&mut self, host: usize, part: Part<'_>) {
        self.hosts[host]
            .take_part(self.now, part)
            .expect("a transport with parts");
        self.silent[host] = false;
        self.collect(host);
    }

    fn collect(&mut self, host: usize) {
        while let Some(event) = self.hosts[host].poll_event() {
            self.events.push((self.now, host, event));
        }
    }

    fn transmit(&mut self, from: usize) {
        let Some(segment) = self.hosts[from].poll_transmit(self.now) else {
            self.silent[from] = true;
            return;
        };
        self.sent.push((self.now, from, segment));
        let size = u64::from(segment.payload) + OVERHEAD;
        self.free_at[from] = self.now + self.rates[from].serialisation(size);
        let members = match segment.tuple.dst.group_number() {
            Some(number) => self.groups[number as usize].clone(),
            None => vec![segment.tuple.dst],
        };
        for member in members {
            self.put(member.0 as usize, self.free_at[from] + ONE_WAY, segment);
        }
    }

    fn put(&mut self, to: usize, at: Time, mut segment: Segment) {
        let again = match (self.fault)(self.now, to, &segment) {
            Fate::Deliver => None,
            Fate::Drop => return,
            Fate::Trim => {
                if segment.trimmable {
                    segment.condition = Condition::Trimmed;
                }
                None
            }
            Fate::Duplicate(later) => Some(later),
        };
        for at in [Some(at), again.map(|later| at + later)]
            .into_iter()
            .flatten()
        {
            self.count += 1;
            self.on_the_way.insert((at, self.count), (to, segment));
        }
    }

    /// Runs the next event, if it is due at or before `end`. Returns whether an event was due.
    fn step(&mut self, end: Time) -> bool {
        let hosts = 0..self.hosts.len();
        let ready = hosts
            .clone()
            .filter(|&host| !self.silent[host] && self.hosts[host].has_transmit())
            .map(|host| (self.free_at[host].max(self.now), host))
            .min();
        let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
        let timer = hosts
            .filter_map(|host| Some((self.hosts[host].next_timeout()?.max(self.now), host)))
            .min();
        let times = [ready.map(|(at, _)| at), arrival, timer.map(|(at, _)| at)];
        let Some(next) = times.into_iter().flatten().min().filter(|at| *at <= end) else {
            return false;
        };
        self.now = next;
        if arrival == Some(next) {
            let (_, (to, segment)) = self.on_the_way.pop_first().expect("an arrival");
            self.hosts[to].on_segment(next, segment);
            self.silent[to] = false;
            self.collect(to);
        } else if let Some((_, host)) = ready.filter(|(at, _)| *at == next) {
            self.transmit(host);
            self.collect(host);
        } else if let Some((_, host)) = timer {
            self.hosts[host].on_timeout(next);
            self.silent[host] = false;
            self.collect(host);
        }
        true
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        let end = self.now + Duration::from_ms(100_000);
        while self.step(end) {}
        assert!(self.now < end, "it does not end");
    }

    /// Runs until the time `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.step(end) {}
        self.now = end;
    }

    /// Returns the time at which flow `flow` was complete at `host`.
    pub fn completed(&self, flow: u32, host: usize) -> Option<Time> {
        let wanted = Event::Completed(FlowId(flow));
        let mut found = self
            .events
            .iter()
            .filter(|(_, at, event)| *at == host && *event == wanted);
        let first = found.next().map(|(at, _, _)| *at);
        assert!(
            found.next().is_none(),
            "flow {flow} complete twice at {host}"
        );
        first
    }
}
