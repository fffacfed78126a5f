//! Tests of quantities as text: a table of spellings, and properties of all texts.

use tailcut_units::quantity::{self, Quantity};
use tailcut_units::{Bytes, Duration, Rate};

/// Returns the value of a spelling, in the notation of the table's third column.
fn read(kind: &str, text: &str) -> Option<String> {
    match kind {
        "bytes" => quantity::bytes(text).map(|size| size.0.to_string()),
        "rate" => quantity::rate(text).map(|rate| rate.as_bps().to_string()),
        "time" => quantity::duration(text).map(|span| span.as_ps().to_string()),
        "share" => quantity::share(text).map(|share| share.to_string()),
        _ => quantity::count(text).map(|count| count.to_string()),
    }
    .ok()
}

#[test]
fn every_spelling_of_the_table_has_its_value_or_is_refused() {
    let rows = include_str!("quantities.txt").lines();
    for row in rows.filter(|row| !row.starts_with('#')) {
        let [kind, text, value] = row.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        let found = read(kind, text);
        assert_eq!(found.as_deref().unwrap_or("refused"), value, "{row}");
    }
}

#[test]
fn decimals_are_exact_and_nothing_is_rounded() {
    assert_eq!(quantity::duration("0.1 us"), Ok(Duration::from_ps(100_000)));
    assert_eq!(quantity::duration(" 0 "), Ok(Duration::ZERO));
    assert_eq!(quantity::bytes("0.001K"), Ok(Bytes(1)));
    for text in [
        "",
        "ms",
        ".",
        "1e3ms",
        "-1s",
        "+1s",
        "1.2.3s",
        "10 parsec",
        "0.5ps",
        "9999999999s",
        "1 . 5s",
        "\u{661}s",
        "1KIs",
    ] {
        assert!(quantity::duration(text).is_err(), "{text}");
    }
    for text in [
        "0G",
        "G",
        "10GB",
        "99999999999999999999G",
        "10Mi B/s",
        "1TB/sbps",
    ] {
        assert!(quantity::rate(text).is_err(), "{text}");
    }
    for text in [
        "0.0001K",
        "1KI",
        "18446744073709551616",
        "99999999T",
        "\u{661}KB",
    ] {
        assert!(quantity::bytes(text).is_err(), "{text}");
    }
    for text in ["1.1", "-0.1", "NaN", "inf", "101%", "%", "1%%"] {
        assert!(quantity::share(text).is_err(), "{text}");
    }
}

#[test]
fn a_name_may_follow_a_count() {
    assert_eq!(quantity::counted("100 packets", "packets"), Some(100));
    assert_eq!(quantity::counted("1 packet", "packets"), Some(1));
    assert_eq!(quantity::counted("100", "packets"), None);
    assert_eq!(quantity::counted("1.5 packets", "packets"), None);
}

fn refusal<Q: Quantity + std::fmt::Debug>(text: &str, range: [Q; 2]) -> String {
    let [least, most] = range;
    quantity::within(text, least..=most)
        .expect_err("out of range")
        .to_string()
}

#[test]
fn a_refusal_says_the_kind_the_range_and_the_spellings() {
    assert_eq!(
        refusal("2h", [Duration::from_ms(1), Duration::from_ms(3_600_000)]),
        "allowed: a time with a unit (ps, ns, us, ms, s, m, h, d) from 1ms to 1h, such as \"10ms\""
    );
    assert_eq!(
        refusal("1", [Bytes(64 << 10), Bytes(1_000_000_000)]),
        "allowed: bytes from 64KiB to 1GB, a number or with a unit, such as \"100KB\" (10^5) or \"64KiB\" (2^16)"
    );
    assert_eq!(
        refusal("1bps", [Rate::from_mbps(2), Rate::MOST]),
        "allowed: a rate with a unit (bps, Kbps, Mbps, Gbps, Tbps, or B/s to TB/s) from 2Mbps, such as \"10Gbps\""
    );
    assert_eq!(
        refusal("0", [1_u64, 9]),
        "allowed: a whole number from 1 to 9"
    );
    assert_eq!(
        refusal("2", [0.0, 1.0]),
        "allowed: a number from 0 to 1, such as 0.5 or \"50%\""
    );
}

#[test]
fn what_is_written_is_read_as_the_same_value() {
    for ps in [
        0,
        1,
        1_500,
        60_000_000_000_000,
        90_061_000_000_000_000,
        u64::MAX,
    ] {
        let span = Duration::from_ps(ps);
        assert_eq!(
            quantity::duration(&quantity::written_duration(span)),
            Ok(span)
        );
        assert_eq!(quantity::duration(&span.written()), Ok(span));
    }
    for bytes in [0, 1, 999, 1_000, 1_538, 65_536, 36_000, 1 << 50, u64::MAX] {
        let bytes = Bytes(bytes);
        assert_eq!(quantity::bytes(&quantity::written_bytes(bytes)), Ok(bytes));
        assert_eq!(quantity::bytes(&bytes.written()), Ok(bytes));
    }
}
