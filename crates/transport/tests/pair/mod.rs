//! Two hosts and the network between them.
//! Every segment has the same delay, unless the `Fault` of the test decides otherwise.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use std::collections::BTreeMap;
use tailcut_transport::tcp::{Host, TcpConfig, TcpFlags, TcpHeader};
use tailcut_transport::{
    Condition, Ecn, Event, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

/// Fate of one segment in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Deliver,
    Drop,
    /// The segment is delivered with a congestion mark, if it is ECN-capable.
    Mark,
    /// The segment is delivered twice. The second copy is this much later.
    Duplicate(Duration),
    /// The segment is delayed by this additional time.
    Late(Duration),
    /// The segment is delivered without its payload.
    Trim,
    /// The segment is delivered without its payload. A whole copy arrives this much later.
    TrimAndDeliver(Duration),
    /// The segment is returned to the sender without its payload.
    Return,
}

/// Segment in flight, as the input of a `Fault`.
pub struct Passage<'a> {
    pub from: usize,
    pub segment: &'a Segment,
    pub header: &'a TcpHeader,
    pub now: Time,
}

impl Passage<'_> {
    /// Returns whether the segment contains payload from host A.
    pub fn is_data(&self) -> bool {
        self.from == A && self.segment.payload > 0
    }
    pub fn has(&self, flags: TcpFlags) -> bool {
        self.header.flags.has(flags)
    }
}

pub type Fault = Box<dyn FnMut(&Passage) -> Fate>;

pub const A: usize = 0;
pub const B: usize = 1;

/// Returns the TCP header of a segment. For other protocols the header is empty.
fn tcp_header(segment: &Segment) -> TcpHeader {
    match segment.header {
        Header::Tcp(header) => header,
        _ => TcpHeader::default(),
    }
}

/// Segment that a host passed to its NIC.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub from: usize,
    pub segment: Segment,
}

impl Sent {
    pub fn header(&self) -> TcpHeader {
        tcp_header(&self.segment)
    }
}

pub struct Pair<T> {
    pub now: Time,
    pub hosts: [T; 2],
    pub one_way: Duration,
    /// Rate of each host's NIC.
    pub rates: [Rate; 2],
    pub fault: Fault,
    pub sent: Vec<Sent>,
    pub events: Vec<(Time, usize, Event)>,
    on_the_way: BTreeMap<(Time, u64), (usize, Segment)>,
    nic_free: [Time; 2],
    /// Whether each host sent nothing at its last poll. If so, `has_transmit` of this host is ignored.
    silent: [bool; 2],
    count: u64,
}

/// Creates a pair of TCP hosts.
pub fn tcp(config: &TcpConfig) -> Pair<Host> {
    let host = |id| Host::new(HostId(id), config.clone()).expect("a valid configuration");
    Pair::new(host(0), host(1))
}

/// Returns a configuration with segments of 1,000 B and an ACK for each. Sequences with it can be computed by hand.
pub fn plain_config() -> TcpConfig {
    TcpConfig {
        mss: 1_000,
        delayed_ack: None,
        ..TcpConfig::default()
    }
}

/// Returns a fault that loses the first transmission of each of `segments` (of 1,000 B) from A.
pub fn lose_once(segments: &[u64]) -> impl FnMut(&Passage) -> Fate + 'static {
    let mut left: Vec<u64> = segments.iter().map(|segment| segment * 1_000).collect();
    move |passage| {
        let lost = passage.is_data().then_some(passage.header.offset);
        match left.iter().position(|offset| Some(*offset) == lost) {
            Some(at) => {
                left.remove(at);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    }
}

/// Bytes that headers, preamble and gap add to a segment on the wire.
const OVERHEAD: u64 = 78;

impl<T: Transport> Pair<T> {
    /// Creates a network with a one-way delay of 100 us at 10 Gb/s, without loss.
    pub fn new(a: T, b: T) -> Self {
        Self {
            now: Time::ZERO,
            hosts: [a, b],
            one_way: Duration::from_us(100),
            rates: [Rate::from_gbps(10); 2],
            fault: Box::new(|_| Fate::Deliver),
            sent: Vec::new(),
            events: Vec::new(),
            on_the_way: BTreeMap::new(),
            nic_free: [Time::ZERO; 2],
            silent: [false; 2],
            count: 0,
        }
    }

    pub fn with_one_way(mut self, one_way: Duration) -> Self {
        self.one_way = one_way;
        self
    }

    /// Limits ACKs to 100 Mb/s, so that all segments that an ACK releases leave before the next ACK arrives.
    pub fn with_slow_acks(mut self) -> Self {
        self.rates[B] = Rate::from_mbps(100);
        self
    }

    pub fn with_fault(mut self, fault: impl FnMut(&Passage) -> Fate + 'static) -> Self {
        self.fault = Box::new(fault);
        self
    }

    /// Host A sends `bytes` to host B as flow `flow`.
    pub fn submit(&mut self, flow: u32, bytes: u64) {
        let message = Message {
            flow: FlowId(flow),
            dst: HostId(1),
            bytes,
            path: PathPin::NONE,
            replication: Replication::AsConfigured,
        };
        self.hosts[A].submit(self.now, message);
        self.silent[A] = false;
        self.collect(A);
    }

    /// Runs an action of a host's application other than submitting a flow.
    pub fn act<R>(&mut self, host: usize, act: impl FnOnce(&mut T, Time) -> R) -> R {
        self.silent[host] = false;
        let result = act(&mut self.hosts[host], self.now);
        self.collect(host);
        result
    }

    fn collect(&mut self, host: usize) {
        while let Some(event) = self.hosts[host].poll_event() {
            self.events.push((self.now, host, event));
        }
    }

    fn put(&mut self, to: usize, at: Time, segment: Segment) {
        self.count += 1;
        self.on_the_way.insert((at, self.count), (to, segment));
    }

    fn transmit(&mut self, from: usize) {
        let Some(mut segment) = self.hosts[from].poll_transmit(self.now) else {
            self.silent[from] = true;
            return;
        };
        let header = tcp_header(&segment);
        self.sent.push(Sent {
            at: self.now,
            from,
            segment,
        });
        let size = u64::from(segment.payload) + OVERHEAD;
        self.nic_free[from] = self.now + self.rates[from].serialisation(size);
        let arrival = self.nic_free[from] + self.one_way;
        let passage = Passage {
            from,
            segment: &segment,
            header: &header,
            now: self.now,
        };
        let to = 1 - from;
        match (self.fault)(&passage) {
            Fate::Deliver => self.put(to, arrival, segment),
            Fate::Drop => {}
            Fate::Mark => {
                if segment.ecn == Ecn::Capable {
                    segment.ecn = Ecn::Marked;
                }
                self.put(to, arrival, segment);
            }
            Fate::Duplicate(later) => {
                self.put(to, arrival, segment);
                self.put(to, arrival + later, segment);
            }
            Fate::Late(by) => self.put(to, arrival + by, segment),
            Fate::Trim => {
                segment.condition = Condition::Trimmed;
                self.put(to, arrival, segment);
            }
            Fate::TrimAndDeliver(later) => {
                self.put(to, arrival + later, segment);
                segment.condition = Condition::Trimmed;
                self.put(to, arrival, segment);
            }
            Fate::Return => {
                segment.condition = Condition::Returned;
                self.put(from, arrival + self.one_way, segment);
            }
        }
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Option<Time> {
        let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
        let nics = [A, B]
            .into_iter()
            .filter(|host| self.hosts[*host].has_transmit() && !self.silent[*host]);
        let nic = nics.map(|host| self.nic_free[host].max(self.now)).min();
        let timer = self.hosts.iter().filter_map(Transport::next_timeout).min();
        [arrival, nic, timer].into_iter().flatten().min()
    }

    /// Runs the next event. Returns `false` if no event is left.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next() else {
            return false;
        };
        assert!(
            next >= self.now,
            "a timer in the past: {next} at {}",
            self.now
        );
        self.now = next;
        while let Some(entry) = self.on_the_way.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, segment) = entry.remove();
            self.hosts[to].on_segment(self.now, segment);
            self.silent[to] = false;
            self.collect(to);
        }
        for host in [A, B] {
            if self.hosts[host]
                .next_timeout()
                .is_some_and(|at| at <= self.now)
            {
                self.hosts[host].on_timeout(self.now);
                self.silent[host] = false;
                let next = self.hosts[host].next_timeout();
                assert!(
                    next.is_none_or(|at| at > self.now),
                    "a timer that fired is still due"
                );
                self.collect(host);
            }
            if self.nic_free[host] <= self.now {
                self.transmit(host);
            }
        }
        true
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        while self.step() {}
    }

    pub fn run_until(&mut self, end: Time) {
        while self.next().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Returns the time at which host B had received all of `flow`.
    pub fn completed(&self, flow: u32) -> Option<Time> {
        let done = |(_, host, event): &&(Time, usize, Event)| {
            *host == B && *event == Event::Completed(FlowId(flow))
        };
        self.events.iter().find(done).map(|(at, _, _)| *at)
    }

    /// Returns the statistics that host A reports at the end of `flow`.
    pub fn stats(&self, flow: u32) -> tailcut_transport::FlowStats {
        let end = self.events.iter().find_map(|(_, host, event)| match event {
            Event::Closed(id, stats) | Event::Failed(id, stats) if *host == A && id.0 == flow => {
                Some(*stats)
            }
            _ => None,
        });
        end.expect("the flow ended")
    }

    /// Returns the segments that each host sent, in order.
    /// Each line contains the sender, the flags, the payload range `first..end` and the acknowledgment.
    /// Numbers are in units of `mss` if they are whole.
    pub fn trace(&self, mss: u64) -> Vec<String> {
        self.sent.iter().map(|sent| describe(sent, mss)).collect()
    }

    /// Returns the times at which host A sent payload at `offset`.
    pub fn sendings(&self, offset: u64) -> Vec<Time> {
        let of = |sent: &&Sent| {
            sent.from == A && sent.segment.payload > 0 && sent.header().offset == offset
        };
        self.sent.iter().filter(of).map(|sent| sent.at).collect()
    }

    /// Returns the offsets of the payload that host A sent, in segments of `mss`.
    pub fn data_offsets(&self, mss: u64) -> Vec<u64> {
        let data = |sent: &&Sent| sent.from == A && sent.segment.payload > 0;
        self.sent
            .iter()
            .filter(data)
            .map(|sent| sent.header().offset / mss)
            .collect()
    }
}

fn describe(sent: &Sent, mss: u64) -> String {
    let header = sent.header();
    let mut line = String::from(if sent.from == A { "A" } else { "B" });
    let names = [
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
    ];
    for (flag, name) in names {
        if header.flags.has(flag) {
            line += &format!(" {name}");
        }
    }
    if sent.segment.payload > 0 {
        let end = header.offset + u64::from(sent.segment.payload);
        line += &format!(
            " {}..{}",
            in_segments(header.offset, mss),
            in_segments(end, mss)
        );
    }
    if header.flags.has(TcpFlags::ACK) {
        line += &format!(" ack {}", in_segments(header.ack, mss));
    }
    for block in header.sack.iter().filter(|block| block.end > 0) {
        let (start, end) = (
            header.ack + u64::from(block.start),
            header.ack + u64::from(block.end),
        );
        line += &format!(
            " sack {}..{}",
            in_segments(start, mss),
            in_segments(end, mss)
        );
    }
    line
}

/// Formats an offset in segments: `3` means three segments, and `3+1` one byte (or a FIN) more.
fn in_segments(offset: u64, mss: u64) -> String {
    match offset % mss {
        0 => (offset / mss).to_string(),
        rest => format!("{}+{rest}", offset / mss),
    }
}
