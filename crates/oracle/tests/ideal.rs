//! Tests of the ideal completion time: the results are compared with formulas and with numbers computed by hand.

use proptest::prelude::*;
use tailcut_oracle::ideal::{DelayedAck, Hop, Transfer, equal_packets, incast_drain};
use tailcut_units::{Duration, Rate, Time};

const US: u64 = 1_000_000;

fn hop(gbps: u64, delay_us: u64) -> Hop {
    Hop {
        rate: Rate::from_gbps(gbps),
        delay: Duration::from_us(delay_us),
    }
}

fn transfer(hops: &[Hop]) -> Transfer {
    Transfer {
        forward: hops.to_vec(),
        backward: hops.iter().rev().copied().collect(),
        mss: 1_000,
        overhead: 0,
        handshake: false,
        handshake_ack_apart: false,
        initial_window: 2_000,
        growth_per_ack: 1_000,
        delayed_ack: None,
    }
}

fn ps(span: Duration) -> u64 {
    span.as_ps()
}

#[test]
fn one_packet_stores_and_forwards_at_every_hop() {
    // 1000 bytes take 8 us at 1 Gb/s, and 0.8 us at 10 Gb/s.
    let path = transfer(&[hop(10, 1), hop(1, 5), hop(10, 1)]);
    let done = path.unlimited(1_000);
    assert_eq!(
        ps(done.delivered),
        (800 + 1_000 + 8_000 + 5_000 + 800 + 1_000) * 1_000
    );
    // The overhead is zero, so that an ACK takes no line time.
    assert_eq!(ps(done.acknowledged), ps(done.delivered) + 7 * US);
}

#[test]
fn headers_preamble_and_gap_take_line_time_in_every_packet_also_in_acks() {
    let path = Transfer {
        mss: 1_460,
        overhead: 78,
        ..transfer(&[hop(1, 0)])
    };
    let done = path.unlimited(1_461);
    assert_eq!(ps(done.delivered), (1_538 + 79) * 8_000);
    assert_eq!(ps(done.acknowledged), (1_538 + 79 + 78) * 8_000);
}

#[test]
fn the_handshake_costs_a_round_trip_and_its_ack_a_packet_if_apart() {
    let bare = Transfer {
        overhead: 100,
        ..transfer(&[hop(1, 10), hop(1, 10)])
    };
    let with = Transfer {
        handshake: true,
        ..bare.clone()
    };
    let apart = Transfer {
        handshake_ack_apart: true,
        ..with.clone()
    };
    let delivered = |transfer: &Transfer| ps(transfer.unlimited(500).delivered);
    // 100 bytes over a hop take 0.8 us. Each direction has two hops with 10 us each.
    let round_trip = 4 * (800_000 + 10 * US);
    assert_eq!(delivered(&with), delivered(&bare) + round_trip);
    // A separate ACK is sent before the data, so the data follows one serialisation time later.
    assert_eq!(delivered(&apart), delivered(&with) + 800_000);
}

#[test]
fn slow_start_doubles_each_round_until_the_flow_is_sent() {
    // The path has two hops of 1 Gb/s and 50 us. A packet of 1000 bytes takes 8 us per hop.
    // The three rounds have 2, 4 and 8 packets.
    // The first ACK of a round returns 16 + 100 + 100 us after the start of the round, and starts the next round.
    // The 8 packets of the last round follow each other without gaps.
    let path = transfer(&[hop(1, 50), hop(1, 50)]);
    let done = path.slow_start(14_000);
    let round_trip = (16 + 200) * US;
    let last_round = (16 + 100 + 7 * 8) * US;
    assert_eq!(ps(done.delivered), 2 * round_trip + last_round);
    assert_eq!(
        ps(done.acknowledged),
        2 * round_trip + last_round + 100 * US
    );
    // With one packet less, the flow ends one serialisation time earlier. With one packet more, it needs another round.
    assert_eq!(
        ps(path.slow_start(13_000).delivered),
        ps(done.delivered) - 8 * US
    );
    assert_eq!(
        ps(path.slow_start(15_000).delivered),
        3 * round_trip + (16 + 100) * US
    );
}

#[test]
fn delayed_acks_slow_the_growth_of_the_window_unless_bytes_are_counted() {
    let delayed = Transfer {
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_ms(40),
        }),
        ..transfer(&[hop(1, 50), hop(1, 50)])
    };
    // The receiver sends one ACK for two segments, and each ACK increases the window by one segment.
    // The first round has 2 segments, and the second has 3.
    // The receiver sends its first ACK when the second segment arrives, 8 us after the first segment.
    let round_trip = (16 + 8 + 200) * US;
    assert_eq!(
        ps(delayed.slow_start(5_000).delivered),
        round_trip + (16 + 100 + 2 * 8) * US
    );
    // If the window grows by the acknowledged bytes (RFC 3465, L = 2), the second round has 4 segments.
    let counted = Transfer {
        growth_per_ack: 2_000,
        ..delayed
    };
    assert_eq!(
        ps(counted.slow_start(6_000).delivered),
        round_trip + (16 + 100 + 3 * 8) * US
    );
}

#[test]
fn a_window_of_one_segment_waits_for_the_delayed_ack_timer() {
    let path = Transfer {
        initial_window: 1_000,
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_ms(40),
        }),
        ..transfer(&[hop(1, 50)])
    };
    // The first segment takes 58 us, the timer 40 ms, the ACK 50 us, and the second segment 58 us.
    assert_eq!(
        ps(path.slow_start(2_000).delivered),
        (58 + 40_000 + 50 + 58) * US
    );
}

#[test]
fn an_incast_drains_at_the_rate_of_its_port() {
    // Eleven senders with 20 packets of 1538 bytes each start at the same time.
    // A switch queues the packets for one port.
    let access = hop(1, 2);
    let port = hop(1, 3);
    let serialisation = port.rate.serialisation(1_538);
    let mut arrivals: Vec<Time> = (0..11 * 20u64)
        .map(|packet| {
            Time::ZERO + access.rate.serialisation(1_538) * (packet / 11 + 1) + access.delay
        })
        .collect();
    arrivals.sort_unstable();
    let drained = arrivals.into_iter().fold(Time::ZERO, |free, arrived| {
        free.max(arrived) + serialisation
    });
    assert_eq!(
        incast_drain(&[access], port, 1_538, 11 * 20 * 1_538),
        drained + port.delay - Time::ZERO
    );
}

proptest! {
    #[test]
    fn equal_packets_follow_at_the_pace_of_the_slowest_port(
        hops in proptest::collection::vec((1u64..100, 0u64..100), 1..6),
        packets in 1u64..60,
        payload in 1u64..3_000,
        overhead in 0u64..100,
    ) {
        let hops: Vec<Hop> = hops.into_iter().map(|(gbps, delay)| hop(gbps, delay)).collect();
        let path = Transfer { mss: payload, overhead, initial_window: payload, ..transfer(&hops) };
        prop_assert_eq!(
            path.unlimited(packets * payload).delivered,
            equal_packets(&hops, packets, payload + overhead)
        );
    }

    #[test]
    fn a_window_never_makes_a_flow_faster_and_a_wider_one_never_slower(
        hops in proptest::collection::vec((1u64..40, 0u64..50), 1..5),
        bytes in 1u64..200_000,
        window in 1u64..20,
        delayed: bool,
    ) {
        let hops: Vec<Hop> = hops.into_iter().map(|(gbps, delay)| hop(gbps, delay)).collect();
        let path = Transfer {
            overhead: 78,
            initial_window: window * 1_000,
            delayed_ack: delayed.then_some(DelayedAck { segments: 2, timeout: Duration::from_ms(40) }),
            ..transfer(&hops)
        };
        let wider = Transfer { initial_window: 2 * path.initial_window, ..path.clone() };
        let ideal = path.unlimited(bytes).delivered;
        let limited = path.slow_start(bytes).delivered;
        prop_assert!(ideal <= limited);
        if !delayed {
            prop_assert!(wider.slow_start(bytes).delivered <= limited);
        }
    }
}
