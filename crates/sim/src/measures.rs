//! Optional measurements of single packets: waiting times at switch ports, bursts of hosts, and payload that arrives.

use hdrhistogram::{Counter, Histogram};
use tailcut_fabric::queue::DropReason;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_fabric::{ObservedPacket, Observer, Packet, PacketId, PortId};
use tailcut_record::{ArrivedPayload, BurstStats, SwitchWaits, WaitStats};
use tailcut_transport::Segment;
use tailcut_units::{Duration, HostId, Time};
use tailcut_workload::Class;

/// Measurements in addition to flows. They do not change the result of the run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Measures {
    /// Whether the waiting time of each packet at each switch port is measured.
    pub waits: bool,
    /// Whether the bursts in which payload leaves the hosts are measured.
    pub bursts: bool,
    /// Whether to measure the payload that reaches the hosts until the workload's last arrival.
    /// The payload of each class is measured separately.
    pub goodput: bool,
}

/// Payload that reaches the hosts until a given instant, by class.
pub(crate) struct Arrivals {
    until: Time,
    bytes: [u64; Class::ALL.len()],
}

impl Arrivals {
    pub fn until(until: Time) -> Self {
        Self {
            until,
            bytes: [0; Class::ALL.len()],
        }
    }

    /// Returns whether an arrival at `now` is counted.
    pub fn counts(&self, now: Time) -> bool {
        now <= self.until
    }

    pub fn add(&mut self, class: u8, payload: u32) {
        self.bytes[usize::from(class)] += u64::from(payload);
    }

    pub fn summary(self) -> ArrivedPayload {
        let classes = Class::ALL.iter().map(|class| class.name().to_owned());
        ArrivedPayload {
            seconds: self.until.as_secs_f64(),
            bytes: classes.zip(self.bytes).filter(|(_, n)| *n > 0).collect(),
        }
    }
}

/// Histogram of waiting times in nanoseconds, and their exact sum.
struct Waits<C: Counter> {
    histogram: Histogram<C>,
    sum_ps: u128,
}

impl<C: Counter> Waits<C> {
    fn new(digits: u8) -> Self {
        let histogram = Histogram::new(digits).expect("one to five digits");
        Self {
            histogram,
            sum_ps: 0,
        }
    }

    fn add(&mut self, wait: Duration) {
        let recorded = self.histogram.record(wait.as_ns());
        recorded.expect("the histogram grows as needed");
        self.sum_ps += u128::from(wait.as_ps());
    }

    fn stats(&self) -> WaitStats {
        let packets = self.histogram.len();
        let at = |quantile: f64| self.histogram.value_at_quantile(quantile) as f64 / 1e3;
        WaitStats {
            packets,
            mean_us: self.sum_ps as f64 / 1e6 / packets.max(1) as f64,
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: at(1.0),
        }
    }
}

/// Direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    FromHost,
    ToHost,
    BetweenSwitches,
}

/// Observer of waiting times at switch ports, by kind of port and by port.
pub struct PortWaits {
    kinds: Vec<Kind>,
    /// Waiting times by port. `None` for a port without packets.
    ports: Vec<Option<Box<Waits<u32>>>>,
    all: Waits<u64>,
    to_hosts: Waits<u64>,
    between_switches: Waits<u64>,
    /// Times at which packets reached their current ports, by the index of the packet in the pool.
    enqueued: Vec<Time>,
}

/// Observers of the fabric. `None`: the fabric is not observed.
pub type Watch<'a, B = Segment> = Option<Box<Watchers<'a, B>>>;

/// Observers of a fabric: the observer for the run's own measurements, and the observer of the caller.
pub struct Watchers<'a, B = Segment> {
    pub(crate) waits: Option<PortWaits>,
    pub(crate) other: Option<&'a mut dyn Observer<B>>,
}

impl<B> Observer<B> for Watchers<'_, B> {
    fn is_on(&self) -> bool {
        self.waits.is_some() || self.other.is_some()
    }

    fn enqueued(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(waits) = &mut self.waits {
            waits.enqueued(seen);
        }
        if let Some(other) = &mut self.other {
            other.enqueued(seen);
        }
    }

    fn started(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(waits) = &mut self.waits {
            waits.started(seen);
        }
        if let Some(other) = &mut self.other {
            other.started(seen);
        }
    }

    fn marked(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(other) = &mut self.other {
            other.marked(seen);
        }
    }

    fn trimmed(&mut self, seen: ObservedPacket<'_, B>, cut: u32) {
        if let Some(other) = &mut self.other {
            other.trimmed(seen, cut);
        }
    }

    fn dropped(
        &mut self,
        now: Time,
        port: Option<PortId>,
        reason: DropReason,
        packet: &Packet,
        body: &B,
    ) {
        if let Some(other) = &mut self.other {
            other.dropped(now, port, reason, packet, body);
        }
    }

    fn delivered(&mut self, now: Time, host: HostId, packet: &Packet, body: &B) {
        if let Some(other) = &mut self.other {
            other.delivered(now, host, packet, body);
        }
    }
}

impl<B> Observer<B> for PortWaits {
    fn enqueued(&mut self, seen: ObservedPacket<'_, B>) {
        let PacketId(slot) = seen.id;
        let slot = slot as usize;
        if self.enqueued.len() <= slot {
            self.enqueued.resize(slot + 1, Time::ZERO);
        }
        self.enqueued[slot] = seen.now;
    }

    fn started(&mut self, seen: ObservedPacket<'_, B>) {
        let PacketId(slot) = seen.id;
        if let Some(&enqueued) = self.enqueued.get(slot as usize) {
            self.add(seen.port.0, seen.now.since(enqueued));
        }
    }
}

impl PortWaits {
    pub(crate) fn new(topology: &Topology) -> Self {
        let kind = |link: &tailcut_fabric::topology::Link| match (link.from, link.to) {
            (Node::Host(_), _) => Kind::FromHost,
            (Node::Switch(_), Node::Host(_)) => Kind::ToHost,
            (Node::Switch(_), Node::Switch(_)) => Kind::BetweenSwitches,
        };
        Self {
            kinds: topology.links.iter().map(kind).collect(),
            ports: topology.links.iter().map(|_| None).collect(),
            all: Waits::new(3),
            to_hosts: Waits::new(3),
            between_switches: Waits::new(3),
            enqueued: Vec::new(),
        }
    }

    /// Adds the time that a packet waited at a port until its transmission began.
    fn add(&mut self, port: u32, wait: Duration) {
        let of_kind = match self.kinds[port as usize] {
            Kind::FromHost => return,
            Kind::ToHost => &mut self.to_hosts,
            Kind::BetweenSwitches => &mut self.between_switches,
        };
        of_kind.add(wait);
        self.all.add(wait);
        self.ports[port as usize]
            .get_or_insert_with(|| Box::new(Waits::new(2)))
            .add(wait);
    }

    /// Returns the summary. `carried` contains the bytes that each port sent.
    pub(crate) fn summary(&self, topology: &Topology, carried: &[u64]) -> SwitchWaits {
        let at_switch = |port: &usize| self.kinds[*port] != Kind::FromHost;
        // If several ports are equally busy, the first port is used, so that the result is deterministic.
        let busiest = (0..self.ports.len())
            .filter(at_switch)
            .rev()
            .max_by_key(|port| carried[*port]);
        let of_busiest = busiest.and_then(|port| self.ports[port].as_ref());
        SwitchWaits {
            all: self.all.stats(),
            to_hosts: self.to_hosts.stats(),
            between_switches: self.between_switches.stats(),
            busiest_port: busiest
                .and_then(|port| topology.port_name(port as u32))
                .unwrap_or_default(),
            busiest: of_busiest.map_or_else(WaitStats::default, |waits| waits.stats()),
        }
    }
}

/// Burst in progress.
#[derive(Clone, Copy, Default)]
struct Open {
    bytes: u64,
    ends: Time,
}

/// Bursts of all hosts.
pub(crate) struct Bursts {
    open: Vec<Open>,
    histogram: Histogram<u64>,
    sum: u128,
    sum_of_squares: u128,
}

impl Bursts {
    pub fn new(hosts: u32) -> Self {
        Self {
            open: vec![Open::default(); hosts as usize],
            histogram: Histogram::new(3).expect("one to five digits"),
            sum: 0,
            sum_of_squares: 0,
        }
    }

    /// Records that a packet with payload occupies the link of a host from `now` to `ends`.
    pub fn departed(&mut self, now: Time, ends: Time, host: HostId, bytes: u32) {
        let open = self.open[host.0 as usize];
        if open.ends != now {
            self.close(open);
            self.open[host.0 as usize].bytes = 0;
        }
        let open = &mut self.open[host.0 as usize];
        open.bytes += u64::from(bytes);
        open.ends = ends;
    }

    fn close(&mut self, burst: Open) {
        if burst.bytes > 0 {
            let recorded = self.histogram.record(burst.bytes);
            recorded.expect("the histogram grows as needed");
            self.sum += u128::from(burst.bytes);
            self.sum_of_squares += u128::from(burst.bytes) * u128::from(burst.bytes);
        }
    }

    pub fn summary(mut self) -> BurstStats {
        for open in std::mem::take(&mut self.open) {
            self.close(open);
        }
        let bursts = self.histogram.len();
        BurstStats {
            bursts,
            mean_bytes: self.sum as f64 / bursts.max(1) as f64,
            byte_mean_bytes: self.sum_of_squares as f64 / self.sum.max(1) as f64,
            p99_bytes: self.histogram.value_at_quantile(0.99),
            max_bytes: self.histogram.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_waits_are_those_of_the_waits() {
        let mut waits: Waits<u32> = Waits::new(2);
        for us in 0..1_000 {
            waits.add(Duration::from_us(us));
        }
        let stats = waits.stats();
        assert_eq!(stats.packets, 1_000);
        assert_eq!(stats.mean_us, 499.5);
        assert!((stats.p50_us - 500.0).abs() < 5.0, "{stats:?}");
        assert!((stats.p99_us - 990.0).abs() < 10.0, "{stats:?}");
        assert!((stats.max_us - 999.0).abs() < 10.0, "{stats:?}");
    }

    #[test]
    fn packets_without_a_gap_between_them_are_one_burst() {
        let mut bursts = Bursts::new(2);
        let at = Time::from_ns;
        bursts.departed(at(0), at(10), HostId(0), 1_000);
        bursts.departed(at(10), at(20), HostId(0), 1_000);
        bursts.departed(at(10), at(20), HostId(1), 300);
        bursts.departed(at(21), at(31), HostId(0), 700);
        let stats = bursts.summary();
        assert_eq!(stats.bursts, 3);
        assert_eq!(stats.mean_bytes, 1_000.0);
        assert!((2_000..=2_001).contains(&stats.max_bytes));
        let squares = 2_000.0f64.powi(2) + 300.0f64.powi(2) + 700.0f64.powi(2);
        assert_eq!(stats.byte_mean_bytes, squares / 3_000.0);
    }
}
