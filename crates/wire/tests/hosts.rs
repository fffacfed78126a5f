//! Two hosts of each protocol that exchange nothing but addresses, the ECN field and bytes: what
//! they need is on the wire.

use std::collections::VecDeque;
use tailcut_transport::ndp::{self, NdpConfig};
use tailcut_transport::pfabric::{self, PFabricConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::{Condition, Ecn, Event, Message, PathPin, Replication, Segment, Transport};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};
use tailcut_wire::{MAX_HEADER_BYTES, decode, encode, set_condition};

/// One way.
const DELAY: Duration = Duration::from_us(5);
/// Between the packets of one host.
const GAP: Duration = Duration::from_ns(1_230);
/// Of so many packets that may be trimmed, one is.
const TRIM_EVERY: u32 = 9;

/// What lies between the hosts: addresses, ECN, and the datagram.
struct Datagram {
    arrives: Time,
    tuple: FiveTuple,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// Writes a segment, and trims it as a switch would.
fn carry(segment: &Segment, now: Time, is_trimmed: bool) -> Datagram {
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let header = encode(segment, &mut bytes).expect("what hosts send can be written");
    bytes.truncate(header);
    bytes.resize(header + segment.payload as usize, 0xff);
    if is_trimmed {
        let kept = set_condition(&mut bytes, Condition::Trimmed);
        bytes.truncate(kept.expect("a header of ours"));
    }
    Datagram {
        arrives: now + DELAY,
        tuple: segment.tuple,
        ecn: segment.ecn,
        bytes,
    }
}

/// Runs a flow from the first to the second host, of whose packets every ninth is trimmed.
fn run<T: Transport>(host: impl Fn(u32) -> T) {
    let mut hosts = [host(0), host(1)];
    hosts[0].submit(
        Time::ZERO,
        Message {
            flow: FlowId(7),
            dst: HostId(1),
            bytes: 700_001,
            path: PathPin::to(3),
            replication: Replication::Off,
        },
    );
    let mut links: [VecDeque<(Datagram, Segment)>; 2] = Default::default();
    let mut free = [Time::ZERO; 2];
    let (mut now, mut trimmable) = (Time::ZERO, 0);
    let mut events = Vec::new();
    while now < Time::from_ns(1_000_000_000) {
        for at in 0..2 {
            while let Some((datagram, _)) = links[1 - at].front()
                && datagram.arrives <= now
            {
                let (datagram, original) = links[1 - at].pop_front().expect("the first");
                let (read, _) = decode(datagram.tuple, datagram.ecn, &datagram.bytes)
                    .expect("what was written");
                assert_eq!(read, original);
                hosts[at].on_segment(now, read);
            }
            hosts[at].on_timeout(now);
            if free[at] <= now
                && let Some(segment) = hosts[at].poll_transmit(now)
            {
                free[at] = now + GAP;
                trimmable += u32::from(segment.trimmable);
                let is_trimmed = segment.trimmable && trimmable.is_multiple_of(TRIM_EVERY);
                let mut original = segment;
                if is_trimmed {
                    original.condition = Condition::Trimmed;
                }
                links[at].push_back((carry(&segment, now, is_trimmed), original));
            }
            while let Some(event) = hosts[at].poll_event() {
                events.push(event);
            }
        }
        let arrivals = links.iter().filter_map(|link| link.front());
        let timeouts = hosts.iter().filter_map(Transport::next_timeout);
        let ready = (0..2).filter(|&at| hosts[at].has_transmit());
        let next = arrivals
            .map(|(datagram, _)| datagram.arrives)
            .chain(timeouts)
            .chain(ready.map(|at| free[at]))
            .min();
        let Some(next) = next else { break };
        now = next.max(now + Duration::from_ns(1));
    }
    let is_complete = events.contains(&Event::Completed(FlowId(7)));
    let has_ended = |event: &Event| matches!(event, Event::Closed(FlowId(7), _));
    assert!(is_complete && events.iter().any(has_ended), "{events:?}");
    assert!(trimmable == 0 || trimmable > 2 * TRIM_EVERY);
}

#[test]
fn ndp_over_bytes_is_ndp() {
    run(|id| ndp::Host::new(HostId(id), NdpConfig::default()).expect("a configuration"));
}

fn codec() -> ModelCodec {
    ModelCodec::new(ModelCodec::FAILURE, DecodeSpeed::paper(), 1)
}

#[test]
fn scdp_over_bytes_is_scdp() {
    run(|id| scdp::Host::new(HostId(id), ScdpConfig::default(), codec()).expect("a configuration"));
}

#[test]
fn pfabric_over_bytes_is_pfabric() {
    run(|id| pfabric::Host::new(HostId(id), PFabricConfig::default()).expect("a configuration"));
}
