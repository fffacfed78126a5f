//! Comparison of two runs. In the first run, clients and servers exchange only bytes.
//! In the second run, segments have no payload, and RANS headers are passed separately from the segments.
//! All events must be equal in both runs, at the same times.
//! The comparison shows that the bytes contain all data that clients and servers need.

mod bytes;
mod code;
mod object;
mod world;

use proptest::prelude::*;
use tailcut_requests::{Policy, Purpose, Trigger};
use tailcut_transport::Transport;
use tailcut_transport::copies::{Carrier, CopyingHost, Messenger};
use tailcut_transport::ndp::{self, NdpConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{Congestion, TcpConfig};
use tailcut_units::{Duration, HostId};
use world::{Faults, Story, World};

fn carrier(id: HostId) -> CopyingHost<Carrier> {
    let config = TcpConfig {
        congestion: Congestion::DCTCP,
        delayed_ack: None,
        min_rto: Duration::from_ms(5),
        ..TcpConfig::default()
    };
    let mut carrier = Carrier::new(id, config).expect("a configuration");
    carrier.tell_windows();
    CopyingHost::new(carrier)
}

fn ndp_messenger(id: HostId) -> CopyingHost<Messenger<ndp::Host>> {
    let host = ndp::Host::new(id, NdpConfig::default()).expect("a configuration");
    CopyingHost::new(Messenger::new(host))
}

/// Creates a host with a model codec, which decodes a block from any K symbols.
fn scdp_messenger(id: HostId) -> CopyingHost<Messenger<scdp::Host<ModelCodec>>> {
    let config = ScdpConfig {
        block_symbols: 8,
        ..ScdpConfig::default()
    };
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), id.0.into());
    let host = scdp::Host::new(id, config, codec).expect("a configuration");
    CopyingHost::new(Messenger::new(host))
}

/// Runs a scenario once with separate headers and once with bytes, and compares all events. Returns the run with bytes.
fn compare<T: Transport>(
    host: impl Fn(HostId) -> T,
    has_messages: bool,
    story: &Story,
    faults: Faults,
) -> World<T> {
    let [beside, bytes] = [false, true].map(|over_bytes| {
        let mut world = World::new(&host, has_messages, over_bytes, story, faults);
        world.run();
        world
    });
    assert_eq!(bytes.notes, beside.notes);
    assert_eq!(bytes.sent, beside.sent);
    assert_eq!(bytes.done().len(), story.requests.len());
    bytes
}

fn faults() -> impl Strategy<Value = Faults> {
    let shares = (0u64..4, 0u64..10, 0u64..10);
    (any::<u64>(), shares).prop_map(|(seed, (lost, trimmed, doubled))| Faults {
        seed,
        lost,
        trimmed,
        doubled,
    })
}

/// Returns policies of several kinds: low-priority duplicates that may be reordered, combined answers, and hedges.
/// A combined answer has bytes of two or three copies.
fn policies() -> Vec<Policy> {
    vec![
        Policy::SINGLE,
        Policy {
            swap_lead: Some(1_460),
            ..Policy::DAS
        },
        Policy::RANS,
        Policy {
            swap_lead: Some(20_000),
            ..Policy::RANS
        },
        Policy {
            copies: 3,
            piece: 10_000,
            ..Policy::RANS
        },
        Policy {
            trigger: Trigger::After(Duration::from_us(60)),
            low_priority: false,
            ..Policy::DAS
        },
    ]
}

fn stories() -> impl Strategy<Value = Story> {
    let requests = prop::collection::vec((0u64..300, 1u64..120_000), 1..6);
    (prop::sample::select(policies()), requests).prop_map(|(policy, mut requests)| {
        requests.sort_unstable();
        Story { policy, requests }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn requests_over_tcp_are_the_same_as_bytes(story in stories(), faults in faults()) {
        compare(carrier, false, &story, faults);
    }

    #[test]
    fn requests_over_ndp_are_the_same_as_bytes(story in stories(), faults in faults()) {
        compare(ndp_messenger, true, &story, faults);
    }

    #[test]
    fn requests_over_scdp_are_the_same_as_bytes(story in stories(), faults in faults()) {
        compare(scdp_messenger, true, &story, faults);
    }
}

#[test]
fn messages_that_follow_an_ask_travel_as_bytes_too() {
    let requests = vec![(0, 90_000), (20, 120_000), (40, 60_001)];
    let faults = Faults {
        seed: 5,
        lost: 3,
        trimmed: 0,
        doubled: 3,
    };
    let swaps = Story {
        policy: Policy {
            swap_lead: Some(1),
            ..Policy::DAS
        },
        requests: requests.clone(),
    };
    let pieces = Story {
        policy: Policy {
            copies: 3,
            piece: 10_000,
            ..Policy::RANS
        },
        requests,
    };
    assert!(compare(carrier, false, &swaps, faults).heard(Purpose::Reprioritise) > 0);
    assert!(compare(ndp_messenger, true, &swaps, faults).heard(Purpose::Reprioritise) > 0);
    assert!(compare(carrier, false, &pieces, faults).heard(Purpose::More) > 0);
    assert!(compare(ndp_messenger, true, &pieces, faults).heard(Purpose::More) > 0);
    assert!(compare(scdp_messenger, true, &pieces, faults).heard(Purpose::More) > 0);
}
