//! Tests of a host that writes to several receivers by SCDP. Some receivers are slow or silent.
//! The tests check when the host sends probes and when it reports stragglers.

use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{
    Event, Header, Message, Part, PathPin, Replication, Segment, Straggler, StragglerPolicy,
    Stragglers, Transport,
};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

const FLOW: FlowId = FlowId(0);

const fn us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}

/// Returns a host that has pushed the window of an object to hosts 1 to `receivers`.
/// Also returns the first symbol of the object.
/// A receiver whose missing pulls have stopped the transmission for `patience` is a straggler.
fn writer(receivers: u32, patience: Duration) -> (Host<ModelCodec>, Segment) {
    let config = ScdpConfig {
        initial_window: 4,
        ..ScdpConfig::default()
    };
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    let mut host = Host::new(HostId(0), config, codec).expect("a valid configuration");
    let receivers: Vec<HostId> = (1..=receivers).map(HostId).collect();
    let part = Part::Spread {
        message: Message {
            flow: FLOW,
            dst: HostId::group(0),
            bytes: 50 * u64::from(config.symbol),
            path: PathPin::NONE,
            replication: Replication::AsConfigured,
        },
        receivers: &receivers,
        stragglers: Stragglers {
            after: patience,
            policy: StragglerPolicy::Wait,
        },
    };
    host.take_part(Time::ZERO, part).expect("parts");
    assert_eq!(host.poll_event(), Some(Event::Established(FLOW)));
    let window = sent(&mut host, Time::ZERO);
    assert_eq!(window.len(), 4);
    (host, window[0])
}

fn sent(host: &mut Host<ModelCodec>, now: Time) -> Vec<Segment> {
    core::iter::from_fn(|| host.poll_transmit(now)).collect()
}

/// Returns pull number `count` of host `from`, which requests the same number of symbols of the first block.
fn pull(from: u32, symbol: &Segment, count: u32) -> Segment {
    Segment {
        tuple: FiveTuple {
            src: HostId(from),
            ..symbol.tuple.reversed()
        },
        payload: 0,
        trimmable: false,
        header: Header::Scdp(ScdpHeader {
            kind: ScdpKind::Pull,
            pull: count,
            count,
            ..ScdpHeader::default()
        }),
        ..*symbol
    }
}

#[test]
fn after_a_timeout_receivers_are_probed_that_are_not_heard_before_their_probe_leaves() {
    let (mut host, symbol) = writer(3, Duration::from_ms(1_000));
    let timeout = host.next_timeout().expect("a timer");
    assert_eq!(timeout, Time::ZERO + ScdpConfig::default().timeout);
    host.on_timeout(timeout);
    host.on_segment(timeout, pull(2, &symbol, 1));
    let probes = sent(&mut host, timeout);
    let probed: Vec<HostId> = probes.iter().map(|probe| probe.tuple.dst).collect();
    assert_eq!(probed, [HostId(1), HostId(3)]);
}

#[test]
fn a_receiver_is_a_straggler_when_nothing_could_be_sent_for_as_long_since_the_last_symbol() {
    let (mut host, symbol) = writer(2, Duration::from_ms(1));
    host.on_segment(us(900), pull(1, &symbol, 3));
    host.on_segment(us(900), pull(2, &symbol, 1));
    assert_eq!(
        sent(&mut host, us(900)).len(),
        1,
        "both receivers have a pull pending"
    );
    // The timeout of 1 ms counts from the latest symbol, which left at 900 us.
    // The timeout does not count from the pushed window.
    host.on_timeout(us(1_000));
    assert_eq!(host.poll_event(), None);
    assert_eq!(host.next_timeout(), Some(us(1_900)));
    host.on_timeout(us(1_900));
    let straggler = Straggler {
        receiver: HostId(2),
        dropped: false,
    };
    assert_eq!(host.poll_event(), Some(Event::Straggling(FLOW, straggler)));
    assert_eq!(host.poll_event(), None);
}
