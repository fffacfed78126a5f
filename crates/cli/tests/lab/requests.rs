//! Tests of requests and their copies on real hosts. Latencies depend on the machine, so the tests do not check them.
//! The tests check that each request gets a response, and that the number of sent bytes is within bounds.

use crate::harness::summaries;

const SCENARIO: &str = r#"
designs = ["tcp", "duplicate+tcp", "das+tcp", "rans+tcp"]
flows = 30
seeds = 1
duration = "1000s"
drain = "100s"
[topology]
kind = "single-switch"
hosts = 4
rate = "20Mbps"
[[workload]]
kind = "requests"
sizes = "fixed:60KB"
clients = 2
servers = 2
load = 0.4
"#;

#[test]
fn requests_are_answered_by_two_servers_and_ranges_send_no_byte_twice() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = summaries(directory.path(), SCENARIO, "both");
    let mut shares = Vec::new();
    for pair in runs.chunks(2) {
        let [simulated, measured] = pair else {
            panic!("an even number");
        };
        assert!(simulated["wall"].is_null() && measured["wall"]["packets"].as_u64() > Some(0));
        let (simulated, measured) = (&simulated["requests"], &measured["requests"]);
        for same in ["useful_bytes", "copies"] {
            assert_eq!(simulated[same], measured[same], "{same}");
        }
        assert_eq!(measured["latency"]["n"], 30);
        let sent = measured["sent_bytes"].as_f64().expect("a number");
        shares.push(sent / (30.0 * 60_000.0));
    }
    let [one, all, purged, ranges] = shares[..] else {
        panic!("found {} pairs", shares.len());
    };
    // The count includes retransmitted segments, but no headers.
    assert!((1.0..1.2).contains(&one), "{shares:?}");
    assert!((1.9..2.3).contains(&all), "{shares:?}");
    assert!((1.0..2.3).contains(&purged), "{shares:?}");
    assert!((1.0..1.9).contains(&ranges), "{shares:?}");
}
