//! Tests of packet and byte counters: the check accepts counters that balance, and describes counters that do not.

use tailcut_oracle::conservation::{Counters, within_line_rate};
use tailcut_units::{Duration, Rate};

fn counters() -> Counters {
    Counters {
        what: "port 3, bytes".to_string(),
        sent: 1_000,
        delivered: 700,
        dropped: vec![("tail".to_string(), 50), ("no route".to_string(), 25)],
        trimmed: 75,
        queued: 100,
        in_flight: 50,
    }
}

#[test]
fn everything_sent_is_somewhere() {
    assert_eq!(counters().check(), Ok(()));
    assert_eq!(Counters::default().check(), Ok(()));
}

#[test]
fn books_that_do_not_balance_show_the_whole_equation() {
    let lost = Counters {
        queued: 99,
        ..counters()
    };
    assert_eq!(
        lost.check().expect_err("one byte is missing").to_string(),
        "port 3, bytes: sent 1000 but found 700 delivered + 50 dropped (tail) + 25 dropped (no \
         route) + 75 trimmed + 99 queued + 50 in flight: -1"
    );
    let found = Counters {
        delivered: u64::MAX,
        ..counters()
    };
    let error = found.check().expect_err("far too much");
    assert_eq!(error.surplus, i128::from(u64::MAX) - 700);
}

#[test]
fn a_port_may_be_busy_all_the_time_but_not_longer() {
    let rate = Rate::from_gbps(1);
    let span = Duration::from_us(12);
    assert!(within_line_rate(1_500, rate, span));
    assert!(!within_line_rate(1_501, rate, span));
    assert!(!within_line_rate(
        1_500,
        rate,
        span.saturating_sub(Duration::from_ps(1))
    ));
}
