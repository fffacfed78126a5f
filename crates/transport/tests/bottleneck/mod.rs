//! Hosts behind one bottleneck: a link with a drop-tail queue, which loses packets at random.
//! All symbols and segments from even-numbered hosts to odd-numbered hosts cross this link.
//! The reverse direction has the same delay and loss, but no queue.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use std::collections::{BTreeMap, VecDeque};
use tailcut_transport::{Event, Message, PathPin, Replication, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time, mix64};

/// Bytes that headers, preamble and gap add to a packet on the wire.
const OVERHEAD: u64 = 78;

/// Parameters of the network between the hosts.
#[derive(Clone, Copy)]
pub struct Link {
    pub rate: Rate,
    /// Round-trip time with empty queues.
    pub round_trip: Duration,
    /// Largest number of packets in the queue.
    pub queue: usize,
    /// Number of lost packets in a thousand.
    pub loss_permille: f64,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Longest random wait of a host before it sends its next packet.
    /// A wait of up to one packet time of the bottleneck avoids phase effects.
    /// With waits of up to one packet time, no flow meets a full queue only because of its phase.
    /// Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992.
    pub jitter: Duration,
}

enum Happens {
    /// A packet arrives at the queue.
    Enqueue(Segment),
    /// The packet at the head of the queue has been sent.
    Sent,
    Deliver(Segment),
    /// The link of a host is free.
    Free(usize),
}

pub struct Bottleneck {
    pub now: Time,
    pub link: Link,
    pub hosts: Vec<Box<dyn Transport>>,
    pub events: Vec<(Time, usize, Event)>,
    /// Payload bytes that have left the bottleneck, by flow.
    pub delivered: BTreeMap<FlowId, u64>,
    pub dropped: u64,
    queue: VecDeque<Segment>,
    calendar: BTreeMap<(Time, u64), Happens>,
    busy: Vec<bool>,
    count: u64,
    draws: u64,
    /// Reduced rate of each host's link; `None` if the rate is not reduced.
    pub slow: Vec<Option<Rate>>,
    pub dead: Vec<bool>,
}

pub fn message(flow: u32, dst: u32, bytes: u64) -> Message {
    Message {
        flow: FlowId(flow),
        dst: HostId(dst),
        bytes,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}

impl Bottleneck {
    pub fn new(link: Link, hosts: Vec<Box<dyn Transport>>, seed: u64) -> Self {
        let count = hosts.len();
        Self {
            now: Time::ZERO,
            link,
            hosts,
            events: Vec::new(),
            delivered: BTreeMap::new(),
            dropped: 0,
            queue: VecDeque::new(),
            calendar: BTreeMap::new(),
            busy: vec![false; count],
            count: 0,
            draws: seed << 32,
            slow: vec![None; count],
            dead: vec![false; count],
        }
    }

    fn at(&mut self, at: Time, what: Happens) {
        self.count += 1;
        self.calendar.insert((at, self.count), what);
    }

    /// Returns a random number from 0 to 1, excluding 1.
    fn draw(&mut self) -> f64 {
        self.draws += 1;
        (mix64(self.draws) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn is_lost(&mut self) -> bool {
        self.draw() < self.link.loss_permille / 1_000.0
    }

    pub fn act<R>(&mut self, host: usize, act: impl FnOnce(&mut dyn Transport, Time) -> R) -> R {
        let result = act(&mut *self.hosts[host], self.now);
        self.pump(host);
        result
    }

    pub fn submit(&mut self, host: usize, message: Message) {
        self.act(host, |transport, now| transport.submit(now, message));
    }

    /// Sends the next packet of a host, if the link of the host is free.
    fn pump(&mut self, host: usize) {
        while let Some(event) = self.hosts[host].poll_event() {
            self.events.push((self.now, host, event));
        }
        if self.busy[host] {
            return;
        }
        let Some(segment) = self.hosts[host].poll_transmit(self.now) else {
            return;
        };
        self.busy[host] = true;
        let size = u64::from(segment.payload) + OVERHEAD;
        let rate = self.slow[host].unwrap_or(self.link.host_rate);
        let mut free = self.now + rate.serialisation(size);
        if self.link.jitter > Duration::ZERO {
            free += Duration::from_secs_f64(self.link.jitter.as_secs_f64() * self.draw());
        }
        self.at(free, Happens::Free(host));
        let half = self.link.round_trip / 2;
        match host % 2 {
            0 => self.at(free, Happens::Enqueue(segment)),
            _ if self.is_lost() => {}
            _ => self.at(free + half, Happens::Deliver(segment)),
        }
    }

    fn start(&mut self) {
        if let Some(segment) = self.queue.front() {
            let size = u64::from(segment.payload) + OVERHEAD;
            let sent = self.now + self.link.rate.serialisation(size);
            self.at(sent, Happens::Sent);
        }
    }

    fn deliver(&mut self, to: usize, segment: Segment) {
        if !self.dead[to] {
            self.hosts[to].on_segment(self.now, segment);
            self.pump(to);
        }
    }

    /// Runs until the time `end`, or until no event is left.
    pub fn run_until(&mut self, end: Time) {
        loop {
            let next = self.calendar.keys().next().map(|(at, _)| *at);
            let timers = (0..self.hosts.len()).filter(|&host| !self.dead[host]);
            let timer = timers
                .filter_map(|host| Some((self.hosts[host].next_timeout()?, host)))
                .min();
            let timer = timer.map(|(at, host)| (at.max(self.now), host));
            let is_timer = match (next, timer) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(next), Some((at, _))) => at < next,
            };
            if is_timer {
                let Some((at, host)) = timer.filter(|(at, _)| *at <= end) else {
                    break;
                };
                self.now = at;
                self.hosts[host].on_timeout(at);
                self.pump(host);
                continue;
            }
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = next;
            let (_, what) = self.calendar.pop_first().expect("an entry");
            match what {
                Happens::Free(host) => {
                    self.busy[host] = false;
                    if !self.dead[host] {
                        self.pump(host);
                    }
                }
                Happens::Enqueue(segment) if self.queue.len() > self.link.queue => {
                    let _ = segment;
                    self.dropped += 1;
                }
                Happens::Enqueue(segment) => {
                    self.queue.push_back(segment);
                    if self.queue.len() == 1 {
                        self.start();
                    }
                }
                Happens::Sent => {
                    let segment = self.queue.pop_front().expect("a packet");
                    *self.delivered.entry(segment.flow).or_default() += u64::from(segment.payload);
                    let to_group = segment.tuple.dst.is_group();
                    if to_group || !self.is_lost() {
                        let arrives = self.now + self.link.round_trip / 2;
                        self.at(arrives, Happens::Deliver(segment));
                    }
                    self.start();
                }
                Happens::Deliver(segment) => match segment.tuple.dst.group_number() {
                    None => self.deliver(segment.tuple.dst.0 as usize, segment),
                    Some(_) => {
                        // The packet is sent to all odd hosts. Each copy is lost independently after the bottleneck.
                        for to in (1..self.hosts.len()).step_by(2) {
                            if !self.is_lost() {
                                self.deliver(to, segment);
                            }
                        }
                    }
                },
            }
        }
        self.now = self.now.max(end);
    }

    /// Returns the time at which flow `flow` was complete at its receiver.
    pub fn completed(&self, flow: u32) -> Option<Time> {
        let wanted = Event::Completed(FlowId(flow));
        let mut events = self.events.iter();
        events
            .find(|(_, _, event)| *event == wanted)
            .map(|(at, _, _)| *at)
    }
}
