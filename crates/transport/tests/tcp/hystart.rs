//! Tests of HyStart: the window at which CUBIC ends slow start without a loss.

use crate::pair::{A, Pair, plain_config, tcp};
use tailcut_transport::tcp::congestion::{Ack, CongestionControl, HyStart, Window};
use tailcut_transport::tcp::{Congestion, Host, HyStartClock, TcpConfig};
use tailcut_units::{Duration, Rate, Time};

const MSS: u64 = 1_000;

fn cubic(tick: Option<HyStartClock>, one_way: Duration) -> Pair<Host> {
    let config = TcpConfig {
        congestion: Congestion::Cubic,
        hystart: tick,
        ..plain_config()
    };
    let mut pair = tcp(&config).with_one_way(one_way);
    pair.rates = [Rate::from_gbps(1); 2];
    pair
}

/// Returns the window in segments at which slow start ended; `None` if it did not end.
fn left_slow_start_at(mut pair: Pair<Host>) -> Option<u64> {
    pair.submit(0, 10_000_000);
    while pair.step() {
        let endpoint = pair.hosts[A].endpoint();
        let window = endpoint.ids().next().and_then(|id| endpoint.window(id))?;
        if window.ssthresh < u64::MAX {
            return Some(window.ssthresh / MSS);
        }
    }
    None
}

#[test]
fn a_clock_coarser_than_the_round_trip_ends_slow_start_at_sixteen_segments() {
    // Half of a round trip of one jiffy is zero jiffies, so any two ACKs form a long enough train.
    for jiffy in [1, 4, 10] {
        let pair = cubic(
            Some(HyStartClock::Ticks(Duration::from_ms(jiffy))),
            Duration::from_us(85),
        );
        let left = left_slow_start_at(pair).expect("it leaves");
        assert!((16..=18).contains(&left), "{left} with {jiffy} ms");
    }
}

#[test]
fn a_fine_clock_lets_the_window_grow_until_its_acks_take_half_of_the_round_trip() {
    // Half of the round trip is 5 ms, which is the time of 580 segments at 1 Gb/s.
    // Slow start ends at the ACK of segment 580 in the round of 640 segments.
    let pair = cubic(
        Some(HyStartClock::Ticks(Duration::from_us(10))),
        Duration::from_ms(5),
    );
    let left = left_slow_start_at(pair).expect("it leaves");
    assert!((640 + 560..=640 + 600).contains(&left), "{left}");
}

#[test]
fn without_it_slow_start_lasts_until_a_loss() {
    let pair = cubic(None, Duration::from_us(85));
    assert_eq!(left_slow_start_at(pair), None);
}

/// Runs rounds of sixteen segments with the given round-trip times in ms.
/// The gaps between ACKs are too long for a train.
fn rounds(round_trips_ms: &[u64]) -> Window {
    let mut hystart = HyStart::new(HyStartClock::Ticks(Duration::from_ms(1)));
    let mut window = Window {
        cwnd: 20 * MSS,
        ssthresh: u64::MAX,
    };
    let (mut now, mut una) = (Time::ZERO, 0);
    for &round_trip in round_trips_ms {
        let round_trip = Duration::from_ms(round_trip);
        for nth in 1..=16 {
            hystart.on_sent(now + Duration::from_ms(5 * nth), una + nth * MSS, false);
        }
        let left = now;
        for nth in 1..=16 {
            now = left + Duration::from_ms(5 * nth) + round_trip;
            una += MSS;
            let ack = Ack {
                now,
                acked: MSS,
                marked: false,
                una,
                nxt: una + (16 - nth) * MSS + 1,
                mss: MSS,
                may_grow: false,
                slow_start_limit: 2 * MSS,
                srtt: round_trip,
                rtt: None,
            };
            hystart.on_ack(&mut window, &ack);
        }
    }
    window
}

#[test]
fn a_round_trip_that_has_grown_by_more_than_a_sixteenth_ends_slow_start() {
    // A sixteenth of 100 ms is 6.25 ms.
    assert_eq!(rounds(&[100, 100, 106]).ssthresh, u64::MAX);
    assert_eq!(rounds(&[100, 100, 108]).ssthresh, 20 * MSS);
    // The margin is at least two ticks and at most sixteen.
    assert_eq!(rounds(&[10, 10, 12]).ssthresh, u64::MAX);
    assert_eq!(rounds(&[10, 10, 13]).ssthresh, 20 * MSS);
    assert_eq!(rounds(&[1_000, 1_000, 1_015]).ssthresh, u64::MAX);
    assert_eq!(rounds(&[1_000, 1_000, 1_018]).ssthresh, 20 * MSS);
}
