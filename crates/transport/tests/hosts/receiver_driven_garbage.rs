//! Tests of NDP and SCDP with arbitrary input from the network.
//! Hosts never panic or loop: they count and drop invalid input.

use proptest::prelude::*;
use tailcut_transport::ndp::{self, NdpConfig, NdpHeader, NdpKind};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::tcp::TcpHeader;
use tailcut_transport::{
    Condition, Ecn, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Draws a number that is near a valid number of a flow or far from it.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 0u64..80,
        1 => Just(u64::MAX),
        1 => any::<u64>(),
        1 => any::<u32>().prop_map(u64::from),
        1 => (1u64 << 22) - 2..(1 << 22) + 2,
    ]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0u32..80, 1 => Just(u32::MAX), 1 => any::<u32>()]
}

fn ndp_header() -> impl Strategy<Value = Header> {
    let kind = prop_oneof![
        Just(NdpKind::Data),
        Just(NdpKind::Ack),
        Just(NdpKind::Nack),
        Just(NdpKind::Pull)
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (
        kind,
        flags,
        any::<u16>(),
        number(),
        number(),
        number(),
        any::<u64>(),
    )
        .prop_map(
            |(kind, (first_window, last, pinned), path, index, cumulative, pull, sent)| {
                Header::Ndp(NdpHeader {
                    kind,
                    first_window,
                    last,
                    pinned,
                    path: PathPin::to(path),
                    index,
                    cumulative,
                    pull,
                    sent: Time::from_ps(sent),
                })
            },
        )
}

fn scdp_header() -> impl Strategy<Value = Header> {
    let kind = prop_oneof![
        3 => Just(ScdpKind::Symbol),
        3 => Just(ScdpKind::Pull),
        1 => Just(ScdpKind::Done)
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (
        kind,
        flags,
        (small(), small(), small()),
        (small(), number(), small(), small()),
        (0u16..4, 0u16..4),
    )
        .prop_map(
            |(
                kind,
                (syn, fin, pinned),
                (block, esi, pull),
                (count, length, blocks, symbol),
                (senders, share),
            )| {
                Header::Scdp(ScdpHeader {
                    kind,
                    syn,
                    fin,
                    pinned,
                    block,
                    esi,
                    pull,
                    count,
                    length,
                    blocks,
                    symbol,
                    senders,
                    share,
                })
            },
        )
}

/// Draws a segment of a flow, in either direction, or a segment of no flow.
/// The flow is between port 32,768 of host 0 and port 80 of host 1.
fn segment(header: BoxedStrategy<Header>) -> impl Strategy<Value = (usize, Segment)> {
    let header = prop_oneof![20 => header, 1 => Just(Header::Tcp(TcpHeader::default()))];
    let condition = prop_oneof![
        4 => Just(Condition::Whole),
        2 => Just(Condition::Trimmed),
        1 => Just(Condition::Returned)
    ];
    let port = prop_oneof![9 => Just(32_768u16), 2 => Just(32_769u16), 1 => any::<u16>()];
    (
        0usize..2,
        header,
        any::<u32>(),
        condition,
        port,
        any::<bool>(),
    )
        .prop_map(|(to, header, payload, condition, port, backward)| {
            let forward = FiveTuple {
                src: HostId(0),
                dst: HostId(1),
                src_port: port,
                dst_port: 80,
                protocol: tailcut_units::Protocol::Udp,
            };
            let segment = Segment {
                tuple: if backward {
                    forward.reversed()
                } else {
                    forward
                },
                flow: FlowId(0),
                payload,
                ecn: Ecn::NotCapable,
                priority: 0,
                path: PathPin::NONE,
                rank: 0,
                trimmable: true,
                condition,
                header,
            };
            (to, segment)
        })
}

/// Runs two hosts with an active flow, and passes invalid input to both.
fn suffer<T: Transport>(mut ends: [T; 2], segments: Vec<(usize, Segment)>) {
    let mut now = Time::ZERO;
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 70_000,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    ends[0].submit(now, message);
    for (to, segment) in segments {
        // The test runs a part of the valid exchange first, and then passes the invalid input.
        for _ in 0..3 {
            now += Duration::from_us(2);
            for from in [0, 1] {
                if let Some(segment) = ends[from].poll_transmit(now) {
                    ends[1 - from].on_segment(now, segment);
                }
            }
        }
        ends[to].on_segment(now, segment);
        for end in &mut ends {
            end.on_timeout(now);
            assert!(
                end.next_timeout().is_none_or(|at| at > now),
                "a timer in the past"
            );
            let events = core::iter::from_fn(|| end.poll_event()).take(100).count();
            assert!(events < 100, "an endless stream of events");
        }
    }
    for end in &mut ends {
        let left = core::iter::from_fn(|| end.poll_transmit(now))
            .take(10_000)
            .count();
        assert!(left < 10_000, "an endless stream of segments");
    }
}

proptest! {
    #[test]
    fn arbitrary_segments_do_ndp_no_harm(
        segments in proptest::collection::vec(segment(ndp_header().boxed()), 1..60)
    ) {
        let end = |id| ndp::Host::new(HostId(id), NdpConfig::default()).expect("valid");
        suffer([end(0), end(1)], segments);
    }

    #[test]
    fn arbitrary_segments_do_scdp_no_harm(
        segments in proptest::collection::vec(segment(scdp_header().boxed()), 1..60)
    ) {
        let end = |id| {
            let codec = ModelCodec::new([0.5; 3], DecodeSpeed::paper(), 1);
            scdp::Host::new(HostId(id), ScdpConfig::default(), codec).expect("valid")
        };
        suffer([end(0), end(1)], segments);
    }
}
