//! Tests of TCP time stamps.

use tailcut_transport::tcp::Stamp;
use tailcut_units::Time;

fn at(ms: u64) -> Stamp {
    Stamp::at(Time::ZERO + tailcut_units::Duration::from_ms(ms))
}

#[test]
fn stamps_are_compared_across_the_end_of_their_range() {
    let range = 1 << 24;
    for (earlier, later) in [(5, 6), (range - 2, range + 3), (0, range / 2 - 1)] {
        assert!(at(earlier).is_before(at(later)), "{earlier} {later}");
        assert!(!at(later).is_before(at(earlier)), "{later} {earlier}");
    }
}

#[test]
fn a_stamp_is_not_before_one_of_the_same_millisecond_and_no_stamp_is_before_none() {
    assert!(!at(7).is_before(at(7)));
    assert!(!Stamp::NONE.is_before(at(7)));
    assert!(!at(7).is_before(Stamp::NONE));
}

#[test]
fn every_time_has_a_stamp() {
    assert_ne!(at(0), Stamp::NONE);
    assert_ne!(at(1 << 24), Stamp::NONE);
}

#[test]
fn a_header_keeps_both_stamps() {
    for (stamp, echo) in [(at(1), at((1 << 24) - 1)), (at((1 << 24) - 1), at(3))] {
        let stamps = tailcut_transport::tcp::Stamps::new(stamp, echo);
        assert_eq!((stamps.stamp(), stamps.echo()), (stamp, echo));
    }
}
