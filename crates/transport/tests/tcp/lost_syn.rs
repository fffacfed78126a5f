//! Tests of lost first segments of connections, as measured with Linux 6.18.
//! The tests check the window and the timeouts after a lost first segment.

use crate::pair::plain_config;
use crate::script::Script;
use tailcut_transport::tcp::TcpConfig;
use tailcut_units::Duration;

/// Opens a connection whose SYN is lost `lost` times.
/// Returns the wait after each lost SYN, and the number of segments in the first flight of the connection.
fn after(lost: usize, config: &TcpConfig) -> (Vec<Duration>, usize) {
    let mut script = Script::connect(config);
    let mut waits = Vec::new();
    for _ in 0..lost {
        script.sent();
        waits.push(script.timer());
    }
    script.sent();
    script.wait(50);
    script.accept();
    script.write(20);
    (waits, script.data().len())
}

#[test]
fn the_initial_window_survives_one_lost_syn_if_the_configuration_allows_it() {
    let keeping = |lost_syn_keeps_window| TcpConfig {
        lost_syn_keeps_window,
        ..plain_config()
    };
    for (keeps, lost, flight) in [(false, 0, 10), (false, 1, 1), (true, 1, 10), (true, 2, 1)] {
        assert_eq!(after(lost, &keeping(keeps)).1, flight, "{keeps}, {lost}");
    }
}

#[test]
fn the_timeout_of_a_syn_stays_for_four_timeouts_and_then_doubles() {
    let config = TcpConfig {
        linear_syn_timeouts: 4,
        ..plain_config()
    };
    let ms = Duration::from_ms;
    let seconds = [1_000, 1_000, 1_000, 1_000, 1_000, 2_000].map(ms);
    assert_eq!(after(6, &config).0, seconds);
    assert_eq!(after(3, &plain_config()).0, [1_000, 2_000, 4_000].map(ms));
}
