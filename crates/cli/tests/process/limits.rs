//! Tests of `--find-limit`: the load at which a metric passes a limit is compared with queueing theory.

use crate::test_dir::{Ended, TestDir};
use serde_json::Value;
use tailcut_oracle::queueing::md1;

/// Scenario of an M/D/1 queue: one server that needs one millisecond of CPU for each request.
/// All other delays are negligible.
const SERVER: &str = "designs = [\"stations\"]\nloads = 0.5\nduration = \"10000s\"\nflows = 4000\n\
                      [servers]\ncpu = \"1ms\"\nlink = \"10Tbps\"\ndelay = \"0s\"\n\
                      [[workload]]\nkind = \"requests\"\nsizes = \"fixed:1\"\nclients = 4\nservers = 1\n";

/// Service time in milliseconds.
const SERVICE: f64 = 1.0;

/// Returns the theoretical mean latency of a request in milliseconds.
fn latency(load: f64) -> f64 {
    md1::mean_wait(load / SERVICE, SERVICE) + SERVICE
}

/// Returns the load at which the mean latency, in milliseconds, is `wanted`.
fn load_of(wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.999_999);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match latency(middle) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

fn find(test_dir: &TestDir, more: &[&str]) -> Ended {
    let mut arguments = vec!["run", "server.toml", "--out", "out", "--find-limit"];
    arguments.extend(more);
    let ended = test_dir.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Returns the two values between which the metric of a design passes the limit.
fn between(design: &Value) -> (f64, f64) {
    (number(&design["between"][0]), number(&design["between"][1]))
}

#[test]
fn the_load_at_which_the_mean_latency_of_md1_passes_a_value_is_in_the_bracket() {
    let test_dir = TestDir::new();
    test_dir.file("server.toml", SERVER);
    for wanted in [1.3, 2.0] {
        let exact = load_of(wanted);
        let metric = format!("mean={wanted}ms");
        let ended = find(
            &test_dir,
            &["loads=0.1..0.95", &metric, "--seeds", "48", "--json"],
        );
        let printed = ended.json();
        let design = &printed["designs"][0];
        let (from, to) = between(design);
        println!("{wanted} ms at {exact}: {design:#}");
        assert!(from <= exact && exact <= to, "{exact}: {design:#}");
        assert_eq!(design["of"], "requests");
        for point in design["points"].as_array().expect("points") {
            let (low, high) = (&point["interval_us"][0], &point["interval_us"][1]);
            let (low, high) = (number(low), number(high));
            match point["side"].as_str().expect("a side") {
                "below" => assert!(high < wanted * 1e3, "{point}"),
                "above" => assert!(
                    low > wanted * 1e3 || point["overload"].is_string(),
                    "{point}"
                ),
                _ => assert!(low <= wanted * 1e3 && wanted * 1e3 <= high, "{point}"),
            }
        }
        // The range must be narrow, even if random variation leaves a point undecided.
        assert!(to - from < 0.25 * to, "{design:#}");
    }
}

#[test]
fn a_value_that_is_never_passed_is_told_as_such() {
    let test_dir = TestDir::new();
    test_dir.file("server.toml", SERVER);
    let below = find(&test_dir, &["loads=0.1..0.5", "mean=20ms"]);
    let told = "stations: requests mean stays below 20 ms up to load 0.5 (12 runs)\n";
    assert_eq!(below.stdout, told);
    // No response is faster than the service time of 1 ms.
    let above = find(&test_dir, &["loads=0.1..0.5", "mean=0.9ms"]);
    let told = "stations: requests mean stays above 900 µs from load 0.1 (12 runs)\n";
    assert_eq!(above.stdout, told);
    assert!(
        above.stderr.contains("0 runs executed, 12 reused"),
        "{}",
        above.stderr
    );
}

#[test]
fn a_network_that_does_not_keep_up_is_above_whatever_its_figure() {
    let test_dir = TestDir::new();
    test_dir.file("server.toml", SERVER);
    // At load 4, each request waits 0.75 ms longer than the previous request, and the last request waits 3 s.
    let ended = find(&test_dir, &["loads=0.5..4", "p50=1000s", "--json"]);
    let printed = ended.json();
    let design = &printed["designs"][0];
    assert_eq!(design["outcome"], "passes", "{design:#}");
    let overload = design["points"][1]["overload"].as_str();
    assert!(
        overload.is_some_and(|why| why.contains("are offered")),
        "{design:#}"
    );
}

#[test]
fn a_figure_that_falls_over_the_key_is_found_too() {
    let test_dir = TestDir::new();
    // In this scenario, the link is the server in place of the processor: one megabit takes a millisecond at 1 Gb/s.
    let link = SERVER
        .replace("cpu = \"1ms\"\nlink = \"10Tbps\"\n", "")
        .replace("loads = 0.5\n", "")
        .replace("fixed:1\"", "fixed:125KB\"\nrequests_per_second = 500");
    test_dir.file("server.toml", &link);
    let printed = find(
        &test_dir,
        &["servers.link=0.7..4Gbps", "mean=1.5ms", "--json"],
    )
    .json();
    let design = &printed["designs"][0];
    assert_eq!(printed["unit"], "bps");
    let side = |point: usize| design["points"][point]["side"].as_str();
    assert_eq!(
        (side(0), side(1)),
        (Some("above"), Some("below")),
        "{design:#}"
    );
    // At 1 Gb/s, the load is 0.5, and the mean latency is 1.5 service times.
    assert!((latency(0.5) - 1.5).abs() < 1e-9);
    let (from, to) = between(design);
    assert!(from <= 1e9 && 1e9 <= to && to < 1.25 * from, "{design:#}");
}

#[cfg(unix)]
#[test]
fn a_search_that_is_interrupted_runs_only_what_is_missing() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let test_dir = TestDir::new();
    test_dir.file("server.toml", SERVER);
    let search = [
        "run",
        "server.toml",
        "--find-limit",
        "loads=0.3..0.9",
        "mean=2ms",
        "--json",
    ];
    let search = |dir| [&search[..], &["--threads", "1", "--out", dir]].concat();
    let whole = test_dir.run(&search("whole"));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let mut first = test_dir
        .command(&search("halves"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let told = BufReader::new(first.stderr.take().expect("standard error"));
    let mut lines = told.lines().map(|line| line.expect("a line"));
    let fourteenth = lines.find(|line| line.starts_with("[14/18] "));
    assert!(fourteenth.is_some(), "fourteen runs have ended");
    kill_process(Pid::from_child(&first), Signal::KILL).expect("a signal");
    first.wait().expect("an end");
    let runs = |ended: &Ended| -> (usize, usize) {
        let told = ended
            .stderr
            .lines()
            .find(|line| line.contains(" runs executed, "));
        let told = told.unwrap_or_else(|| panic!("{}", ended.stderr));
        let mut numbers = told.split(' ').filter_map(|word| word.parse().ok());
        let mut next = || numbers.next().expect("a number");
        (next(), next())
    };
    let second = test_dir.run(&search("halves"));
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(second.json(), whole.json());
    let ((all, none), (rest, found)) = (runs(&whole), runs(&second));
    assert_eq!((none, rest + found), (0, all));
    assert!((14..18).contains(&found), "{}", second.stderr);
    // The third search reuses all runs of the first two.
    let third = test_dir.run(&search("halves"));
    assert_eq!(runs(&third), (0, all));
    assert_eq!(third.json(), whole.json());
}

#[test]
fn what_cannot_be_searched_is_refused_with_what_is_allowed() {
    let test_dir = TestDir::new();
    test_dir.file("server.toml", SERVER);
    let plain = "loads=0.1..0.5";
    for (key, metric, told) in [
        (
            "load",
            "p99=2ms",
            "--find-limit: found the key 'load' at the top; allowed",
        ),
        (
            "workload.kind=1..2",
            "p99=2ms",
            "allowed: a key that holds a number",
        ),
        (
            "loads=0.5..0.1",
            "p99=2ms",
            "loads: found from '0.5' to '0.1'; allowed: LOW below HIGH",
        ),
        (
            "loads=0.5",
            "p99=2ms",
            "loads: found '0.5'; allowed: KEY=LOW..HIGH",
        ),
        (
            "servers.cpu",
            "p99=2ms",
            "servers.cpu: found no range; allowed: KEY=LOW..HIGH",
        ),
        (
            "seeds=1..9",
            "p99=2ms",
            "seeds: found a search over it; allowed",
        ),
        (
            plain,
            "p98=2ms",
            "found 'p98'; allowed: mean, p50, p95, p99, p99.9",
        ),
        (plain, "p99", "found 'p99'; allowed: METRIC=VALUE"),
        (plain, "p99=2", "found '2'; allowed: a time with a unit"),
    ] {
        let arguments = ["run", "server.toml", "--find-limit", key, metric];
        let ended = test_dir.run(&arguments);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{key} {metric}"
        );
        assert!(ended.complaint().contains(told), "{}", ended.complaint());
    }
    let search = ["run", "server.toml", "--find-limit", plain, "p99=2ms"];
    for (more, told) in [
        (["--seeds", "3"], "--seeds: found 3; allowed: at least 6"),
        (["--sweep", "servers.cpu=1ms,2ms"], "found several settings"),
    ] {
        let ended = test_dir.run(&[&search[..], &more].concat());
        assert_eq!(ended.code, Some(2), "{more:?}");
        assert!(ended.complaint().contains(told), "{}", ended.complaint());
    }
}
