//! Tests of the growth of the window.
//! The tests cover the bytes that an ACK counts in slow start, and the part of the window that must be in use.
//! The tests also cover the restart after an idle time. Public packetdrill scripts contain the same figures for Linux.

use crate::pair::plain_config;
use crate::script::{MSS, Script};
use tailcut_transport::tcp::{Congestion, LossRecovery, TcpConfig, WindowUse};

fn with(change: impl FnOnce(&mut TcpConfig)) -> Script {
    let mut config = TcpConfig {
        sack: true,
        loss_recovery: LossRecovery::Rack,
        ..plain_config()
    };
    change(&mut config);
    Script::open(&config)
}

#[test]
fn one_ack_adds_as_many_segments_as_the_limit() {
    for (limit, grown) in [(Some(1), 11), (Some(2), 12), (Some(5), 15), (None, 20)] {
        let mut script = with(|config| config.slow_start_limit = limit);
        script.write(100);
        assert_eq!(script.data().len(), 10);
        script.wait(100);
        script.ack(10);
        assert_eq!(script.cwnd(), grown, "limit {limit:?}");
    }
}

#[test]
fn without_a_limit_slow_start_does_not_pass_its_threshold() {
    for congestion in [Congestion::NewReno, Congestion::Cubic] {
        let mut script = with(|config| {
            config.slow_start_limit = None;
            config.initial_ssthresh = 14 * MSS;
            config.congestion = congestion;
        });
        script.write(100);
        script.data();
        script.wait(100);
        script.ack(10);
        assert_eq!(script.cwnd(), 14);
    }
}

/// Returns the window after one round trip. The window was ten segments, and `flight` segments were in flight.
fn after_flight(flight: u64, window_use: WindowUse) -> u64 {
    let mut script = with(|config| config.window_use = window_use);
    script.write(flight);
    script.data();
    script.wait(100);
    for segment in 1..=flight {
        script.ack(segment);
    }
    script.cwnd()
}

#[test]
fn a_window_grows_if_the_part_of_it_that_was_used_is_large_enough() {
    use WindowUse::{Full, Half};
    assert_eq!(after_flight(6, Full), 10);
    assert_eq!(after_flight(5, Half), 10);
    // The window grows until the segments in flight are half of it.
    assert_eq!(after_flight(6, Half), 12);
    assert_eq!(after_flight(9, Half), 18);
}

#[test]
fn half_a_window_is_not_enough_after_slow_start() {
    let mut script = with(|config| {
        config.window_use = WindowUse::Half;
        config.initial_ssthresh = MSS;
    });
    for flight in 1..=20 {
        script.write(9);
        script.data();
        script.wait(100);
        script.ack(9 * flight);
    }
    assert_eq!(script.cwnd(), 10);
}

#[test]
fn the_largest_flight_of_a_round_trip_counts_and_later_ones_replace_it() {
    let mut script = with(|config| config.window_use = WindowUse::Half);
    script.write(9);
    script.data();
    script.wait(100);
    script.ack(9);
    assert_eq!(script.cwnd(), 12, "at most two segments per ACK");
    script.write(1);
    script.data();
    script.wait(100);
    script.ack(10);
    assert_eq!(script.cwnd(), 12);
}

/// Returns the window, grown to 20 segments, when data leaves after `idle` ms without data.
fn after_idle(idle: u64, restart_after_idle: bool) -> (usize, u64) {
    let mut script = with(|config| {
        config.slow_start_limit = None;
        config.restart_after_idle = restart_after_idle;
    });
    script.write(10);
    script.write(1);
    script.data();
    script.wait(100);
    script.ack(10);
    script.data();
    script.wait(100);
    script.ack(11);
    assert_eq!(script.cwnd(), 20);
    script.wait(idle);
    script.write(40);
    (script.data().len(), script.window().ssthresh)
}

#[test]
fn an_idle_window_halves_for_each_timeout_down_to_the_initial_window() {
    // The round trip is 100 ms. The timeout is 100 ms and four times the variation, at least 200 ms.
    assert_eq!(after_idle(50, true).0, 20);
    assert_eq!(after_idle(3_000, true).0, 10);
    assert_eq!(after_idle(3_000, false).0, 20);
}

#[test]
fn a_restart_remembers_three_quarters_of_the_window_as_the_threshold() {
    let mut script = with(|config| {
        config.restart_after_idle = true;
        config.initial_ssthresh = MSS;
    });
    script.write(11);
    script.data();
    script.wait(100);
    script.ack(10);
    assert_eq!(script.cwnd(), 11);
    script.data();
    script.wait(100);
    script.ack(11);
    script.wait(3_000);
    script.write(1);
    script.data();
    assert_eq!(script.window().ssthresh, 11 * MSS / 4 * 3);
    assert_eq!(script.cwnd(), 10, "never below the initial window");
}
