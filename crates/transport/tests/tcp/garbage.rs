//! Tests of an endpoint with arbitrary input from the network.
//! The endpoint never panics or loops: it counts and drops invalid input.

use proptest::prelude::*;
use tailcut_transport::tcp::{
    ConnectionEvent, Endpoint, Profile, SackBlock, TcpConfig, TcpFlags, TcpHeader, TimerSet,
};
use tailcut_transport::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Draws an offset that is near a valid offset of a connection or far from it.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0u64..60_000,
        1 => Just(u64::MAX),
        1 => any::<u64>(),
        1 => (1u64 << 62) - 4..(1 << 62) + 4,
    ]
}

fn block() -> impl Strategy<Value = SackBlock> {
    let edge = || prop_oneof![4 => 0u32..60_000, 1 => any::<u32>()];
    (edge(), edge()).prop_map(|(start, end)| SackBlock { start, end })
}

fn header() -> impl Strategy<Value = TcpHeader> {
    (any::<u8>(), offset(), offset(), [block(), block(), block()]).prop_map(
        |(flags, offset, ack, sack)| TcpHeader {
            flags: TcpFlags(flags),
            offset,
            ack,
            sack,
            ..TcpHeader::default()
        },
    )
}

/// Draws a segment of a connection, in either direction, or a segment of no connection.
/// The connection is between port 40,000 of host 0 and port 80 of host 1.
fn segment() -> impl Strategy<Value = (usize, Segment)> {
    let payload = prop_oneof![2 => Just(0u32), 4 => 1u32..5_000, 1 => any::<u32>()];
    let ecn = prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable), Just(Ecn::Marked)];
    let port = prop_oneof![9 => Just(40_000u16), 1 => any::<u16>()];
    (0usize..2, header(), payload, ecn, port).prop_map(|(to, header, payload, ecn, port)| {
        let forward = FiveTuple {
            src: HostId(0),
            dst: HostId(1),
            src_port: port,
            dst_port: 80,
            ..FiveTuple::default()
        };
        let segment = Segment {
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            tuple: if to == 1 { forward } else { forward.reversed() },
            flow: FlowId(0),
            payload,
            ecn,
            priority: 0,
            path: PathPin::NONE,
            header: Header::Tcp(header),
        };
        (to, segment)
    })
}

proptest! {
    #[test]
    fn arbitrary_segments_do_no_harm(
        segments in proptest::collection::vec(segment(), 1..40),
        sack in any::<bool>(),
        linux in any::<bool>(),
        classic_ecn in any::<bool>(),
    ) {
        let profile = if linux { Profile::Linux } else { Profile::Rfc };
        let defaults = TcpConfig::of(profile, TimerSet::DataCentre);
        let config = TcpConfig { sack, classic_ecn, ..defaults };
        let end = |id| Endpoint::new(HostId(id), config.clone()).expect("valid");
        let mut ends = [end(0), end(1)];
        let mut now = Time::ZERO;
        let tuple = FiveTuple {
            src: HostId(0),
            dst: HostId(1),
            src_port: 40_000,
            dst_port: 80,
            ..FiveTuple::default()
        };
        let id = ends[0].connect(now, tuple, FlowId(0), PathPin::NONE).expect("free");
        ends[0].write(now, id, 50_000);
        for (to, segment) in segments {
            // The test runs a part of the valid exchange first, and then passes the invalid input.
            for _ in 0..3 {
                now += Duration::from_us(100);
                for from in [0, 1] {
                    if let Some(segment) = ends[from].poll_transmit(now) {
                        ends[1 - from].on_segment(now, &segment);
                    }
                }
            }
            ends[to].on_segment(now, &segment);
            for end in &mut ends {
                end.on_timeout(now);
                prop_assert!(end.next_timeout().is_none_or(|at| at > now));
                let mut events = 0;
                while let Some(event) = end.poll_event() {
                    if let ConnectionEvent::Accepted { id, .. } = event {
                        end.write(now, id, 20_000);
                        end.finish(now, id);
                    }
                    events += 1;
                    prop_assert!(events < 100);
                }
                for id in end.ids() {
                    let window = end.window(id).expect("live");
                    prop_assert!(window.cwnd >= u64::from(config.mss));
                }
            }
        }
        // The windows and the number of input segments limit the number of segments that are ready to leave.
        for end in &mut ends {
            let left = core::iter::from_fn(|| end.poll_transmit(now)).take(10_000).count();
            prop_assert!(left < 10_000, "an endless stream");
        }
    }
}
