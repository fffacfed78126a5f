//! Comparison of two networks. In the first network, hosts exchange segments.
//! In the second network, hosts exchange only addresses, the ECN field and bytes.
//! All events must be equal in both networks, at the same times.
//! The comparison shows that the bytes contain all data that hosts need.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_transport::ndp::{self, NdpConfig};
use tailcut_transport::pfabric::{self, PFabricConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::{
    Condition, Demotion, Ecn, Event, Message, Part, PathPin, Replication, Segment, Share,
    StragglerPolicy, Stragglers, Transport,
};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time, mix64};
use tailcut_wire::{MAX_HEADER_BYTES, decode, encode, set_condition};

/// Time from the sending host to the receiving host.
const DELAY: Duration = Duration::from_us(5);
/// Time between two packets of one host.
const GAP: Duration = Duration::from_ns(1_230);
/// Address of the group of all hosts except the first.
const GROUP: HostId = HostId::group(0);
const BYTES: u64 = 400_001;

/// Packet in flight: a segment, or its addresses, ECN field and bytes.
enum Carried {
    Bytes(FiveTuple, Ecn, Vec<u8>),
    Segment(Segment),
}

/// Faults of a switch: how many of 100 packets have each fault, on average. The packets are chosen at random.
#[derive(Clone, Copy, Debug)]
struct Faults {
    seed: u64,
    lost: u64,
    trimmed: u64,
    returned: u64,
    doubled: u64,
    /// Whether switches record in the header that they have trimmed the packet.
    noted: bool,
}

struct World<T> {
    hosts: Vec<T>,
    over_bytes: bool,
    faults: Faults,
    on_the_way: BTreeMap<(Time, u64), (usize, Carried)>,
    free: Vec<Time>,
    packets: u64,
    now: Time,
    /// Segments that hosts have sent, each with its time and host.
    sent: Vec<(Time, usize, Segment)>,
    events: Vec<(Time, usize, Event)>,
}

/// Returns the bytes of a segment when the segment leaves its host.
fn written(segment: &Segment) -> Vec<u8> {
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let header = encode(segment, &mut bytes).expect("every segment of a host can be encoded");
    bytes.truncate(header);
    bytes.resize(header + segment.payload as usize, 0xff);
    bytes
}

/// Returns the bytes of a datagram that remain after a switch has trimmed it.
fn cut(mut bytes: Vec<u8>, condition: Condition, noted: bool) -> Vec<u8> {
    let kept = match noted {
        true => set_condition(&mut bytes, condition),
        false => set_condition(&mut bytes.clone(), condition),
    };
    bytes.truncate(kept.expect("a header of ours"));
    bytes
}

impl<T: Transport> World<T> {
    fn new(hosts: Vec<T>, over_bytes: bool, faults: Faults) -> Self {
        let free = vec![Time::ZERO; hosts.len()];
        Self {
            hosts,
            over_bytes,
            faults,
            on_the_way: BTreeMap::new(),
            free,
            packets: 0,
            now: Time::ZERO,
            sent: Vec::new(),
            events: Vec::new(),
        }
    }

    fn put(&mut self, at: Time, to: usize, segment: &Segment) {
        let is_cut = segment.condition != Condition::Whole;
        let carried = match self.over_bytes {
            false => Carried::Segment(*segment),
            true => {
                let whole = Segment {
                    condition: Condition::Whole,
                    ..*segment
                };
                let bytes = match is_cut {
                    true => {
                        let noted = self.faults.noted || segment.condition == Condition::Returned;
                        cut(written(&whole), segment.condition, noted)
                    }
                    false => written(&whole),
                };
                Carried::Bytes(segment.tuple, segment.ecn, bytes)
            }
        };
        self.packets += 1;
        self.on_the_way.insert((at, self.packets), (to, carried));
    }

    fn send(&mut self, from: usize, mut segment: Segment) {
        self.sent.push((self.now, from, segment));
        let members = match segment.tuple.dst {
            GROUP => (1..self.hosts.len()).collect(),
            dst => vec![dst.0 as usize],
        };
        for to in members {
            let faults = self.faults;
            let draw = mix64(faults.seed ^ mix64(self.packets)) % 100;
            let arrives = self.now + DELAY;
            let cuts = segment.trimmable && segment.payload > 0;
            segment.condition = Condition::Whole;
            match draw {
                draw if draw < faults.lost => self.packets += 1,
                draw if draw < faults.lost + faults.trimmed && cuts => {
                    segment.condition = Condition::Trimmed;
                    self.put(arrives, to, &segment);
                }
                draw if draw < faults.lost + faults.trimmed + faults.returned && cuts => {
                    segment.condition = Condition::Returned;
                    self.put(arrives, from, &segment);
                }
                draw if draw >= 100 - faults.doubled => {
                    self.put(arrives, to, &segment);
                    self.put(arrives + DELAY, to, &segment);
                }
                _ => self.put(arrives, to, &segment),
            }
        }
    }

    fn deliver(&mut self, to: usize, carried: Carried) {
        let segment = match carried {
            Carried::Segment(segment) => segment,
            Carried::Bytes(tuple, ecn, bytes) => {
                let (segment, length) = decode(tuple, ecn, &bytes).expect("what was written");
                let is_whole = segment.condition == Condition::Whole;
                let payload = if is_whole {
                    segment.payload as usize
                } else {
                    0
                };
                assert_eq!(bytes.len(), length + payload);
                segment
            }
        };
        self.hosts[to].on_segment(self.now, segment);
    }

    fn run(&mut self) {
        loop {
            for at in 0..self.hosts.len() {
                if self.free[at] <= self.now
                    && let Some(segment) = self.hosts[at].poll_transmit(self.now)
                {
                    self.free[at] = self.now + GAP;
                    self.send(at, segment);
                }
                while let Some(event) = self.hosts[at].poll_event() {
                    self.events.push((self.now, at, event));
                }
            }
            let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
            let timeouts = self.hosts.iter().filter_map(Transport::next_timeout);
            let hosts = self.hosts.iter().zip(&self.free);
            let ready = hosts
                .filter(|(host, _)| host.has_transmit())
                .map(|(_, free)| *free);
            let Some(next) = arrival.into_iter().chain(timeouts).chain(ready).min() else {
                return;
            };
            self.now = next.max(self.now + Duration::from_ps(1));
            assert!(self.now < Time::from_ns(600_000_000_000), "it does not end");
            while let Some(first) = self.on_the_way.first_entry()
                && first.key().0 <= self.now
            {
                let (to, carried) = first.remove();
                self.deliver(to, carried);
            }
            for host in &mut self.hosts {
                host.on_timeout(self.now);
            }
        }
    }
}

fn message(flow: u32, dst: HostId, path: PathPin) -> Message {
    Message {
        flow: FlowId(flow),
        dst,
        bytes: BYTES,
        path,
        replication: Replication::Off,
    }
}

/// Runs a scenario once with segments and once with bytes, and compares all events.
/// Exactly the flows in `complete` must become complete at one or more hosts.
fn compare<T: Transport>(
    hosts: impl Fn() -> Vec<T>,
    start: impl Fn(&mut [T]),
    faults: Faults,
    complete: &[u32],
) {
    let [segments, bytes] = [false, true].map(|over_bytes| {
        let mut world = World::new(hosts(), over_bytes, faults);
        start(&mut world.hosts);
        world.run();
        world
    });
    assert_eq!(bytes.events, segments.events);
    assert_eq!(bytes.sent, segments.sent);
    let events = bytes.events.iter();
    let done: BTreeSet<u32> = events
        .filter_map(|(_, _, event)| match event {
            Event::Completed(flow) => Some(flow.0),
            _ => None,
        })
        .collect();
    assert_eq!(done, complete.iter().copied().collect());
}

/// Starts two flows from host 0 to host 1, and one flow in the opposite direction. The first flow is pinned to a path.
fn both_ways<T: Transport>(hosts: &mut [T]) {
    let now = Time::ZERO;
    hosts[0].submit(now, message(7, HostId(1), PathPin::to(3)));
    hosts[0].submit(now, message(8, HostId(1), PathPin::NONE));
    hosts[1].submit(now, message(9, HostId(0), PathPin::NONE));
}

fn ids(count: u32) -> impl Iterator<Item = HostId> {
    (0..count).map(HostId)
}

fn scdp_hosts(count: u32) -> Vec<scdp::Host<ModelCodec>> {
    let host = |id: HostId| {
        let codec = ModelCodec::new([0.3, 0.2, 0.1], DecodeSpeed::paper(), id.0.into());
        scdp::Host::new(id, ScdpConfig::default(), codec).expect("a configuration")
    };
    ids(count).map(host).collect()
}

fn faults() -> impl Strategy<Value = Faults> {
    let shares = (0u64..4, 0u64..15, 0u64..10, 0u64..10);
    (any::<u64>(), shares, any::<bool>()).prop_map(
        |(seed, (lost, trimmed, returned, doubled), noted)| Faults {
            seed,
            lost,
            trimmed,
            returned,
            doubled,
            noted,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn ndp_over_bytes_is_ndp(faults in faults(), paths in 1u16..5, has_classes: bool) {
        let demotion = match has_classes {
            true => Demotion::at(&[10_000, 100_000]).expect("ascending"),
            false => Demotion::NONE,
        };
        let config = NdpConfig { paths, demotion, seed: 5, ..NdpConfig::default() };
        let host = |id| ndp::Host::new(id, config).expect("a configuration");
        compare(|| ids(2).map(host).collect(), both_ways, faults, &[7, 8, 9]);
    }

    #[test]
    fn pfabric_over_bytes_is_pfabric(faults in faults()) {
        let host = |id| pfabric::Host::new(id, PFabricConfig::default()).expect("a configuration");
        compare(|| ids(2).map(host).collect(), both_ways, faults, &[7, 8, 9]);
    }

    #[test]
    fn scdp_over_bytes_is_scdp(faults in faults()) {
        let faults = Faults { returned: 0, ..faults };
        compare(|| scdp_hosts(2), both_ways, faults, &[7, 8, 9]);
    }

    #[test]
    fn scdp_from_one_to_many_over_bytes_is_the_same(faults in faults()) {
        let faults = Faults { returned: 0, ..faults };
        let start = |hosts: &mut [scdp::Host<ModelCodec>]| {
            let part = Part::Spread {
                message: message(7, GROUP, PathPin::NONE),
                receivers: &[1, 2, 3].map(HostId),
                stragglers: Stragglers {
                    after: Duration::from_ms(10),
                    policy: StragglerPolicy::Wait,
                },
            };
            hosts[0].take_part(Time::ZERO, part).expect("SCDP has it");
        };
        compare(|| scdp_hosts(4), start, faults, &[7]);
    }

    #[test]
    fn scdp_from_many_to_one_over_bytes_is_the_same(faults in faults()) {
        let faults = Faults { returned: 0, ..faults };
        let start = |hosts: &mut [scdp::Host<ModelCodec>]| {
            let (flow, port) = (FlowId(7), 2_000);
            hosts[0].take_part(Time::ZERO, Part::Collect { flow, port }).expect("SCDP has it");
            for index in 0..3 {
                let message = message(u32::from(index) + 8, HostId(0), PathPin::NONE);
                let share = Share { index, of: 3 };
                let part = Part::Share { message, port, share };
                hosts[usize::from(index) + 1].take_part(Time::ZERO, part).expect("SCDP has it");
            }
        };
        compare(|| scdp_hosts(4), start, faults, &[7]);
    }
}
