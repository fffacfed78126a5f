//! Tests with wrong designs, load balancers, keys, variants of TCP, units, flags and files.
//! Each error must contain the right hint.

use crate::test_dir::TestDir;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

/// Wrong arguments, each with the end or another part of the error that it must cause.
const WRONG: [(&[&str], &str); 44] = [
    // Wrong designs.
    (&["compare", "tcp", "dctpc"], "did you mean 'dctcp'?"),
    (&["compare", "RepFlow"], "did you mean 'repflow'?"),
    (&["compare", "pfabrick"], "did you mean 'pfabric'?"),
    (
        &["compare", "dctcp+repflow"],
        "did you mean 'repflow+dctcp'?",
    ),
    (
        &["compare", "repflow+dctp"],
        "did you mean 'repflow+dctcp'?",
    ),
    (
        &["compare", "codel"],
        "did you mean 'tcp:queue.discipline=codel'?",
    ),
    // Wrong load balancers.
    (&["compare", "tcp", "ecmp"], "did you mean 'tcp@ecmp'?"),
    (&["compare", "conga"], "did you mean 'tcp@conga'?"),
    (&["compare", "dctcp+spray"], "did you mean 'dctcp@spray'?"),
    (&["compare", "spray@dctcp"], "did you mean 'dctcp@spray'?"),
    (&["compare", "dctcp@spry"], "did you mean 'dctcp@spray'?"),
    (&["compare", "tcp@flowlet"], "did you mean 'tcp@letflow'?"),
    (
        &["compare", "tcp@wcmp"],
        "did you mean 'tcp@weighted-ecmp'?",
    ),
    (&["compare", "tcp@dctcp"], "did you mean 'dctcp'?"),
    (
        &["compare", "tcp@hedera"],
        "tailcut does not have it; docs/own-parts.md",
    ),
    // Wrong variants of TCP.
    (&["compare", "reno"], "did you mean 'tcp'?"),
    (&["compare", "newreno@spray"], "did you mean 'tcp@spray'?"),
    (&["compare", "tcp-cubic"], "did you mean 'cubic'?"),
    (&["compare", "hstcp"], "did you mean 'highspeed'?"),
    (
        &["compare", "bbr"],
        "tailcut does not have it; docs/own-parts.md",
    ),
    (
        &["compare", "repflow+vegas"],
        "tailcut does not have it; docs/own-parts.md",
    ),
    // Wrong keys.
    (
        &["compare", "tcp", "--set", "speed=10Gbps"],
        "did you mean 'topology.rate'?",
    ),
    (
        &["compare", "tcp", "--set", "topology.speed=10Gbps"],
        "did you mean 'rate'?",
    ),
    (
        &["compare", "tcp", "--set", "buffer=64KB"],
        "did you mean 'queue.limit'?",
    ),
    (
        &["compare", "tcp", "--set", "tcp.initial_cwnd=10"],
        "did you mean 'initial_window'?",
    ),
    (
        &["compare", "tcp", "--set", "tcp.minrto=3ms"],
        "did you mean 'min_rto'?",
    ),
    (
        &["compare", "tcp", "--sweep", "tpc.min_rto=1ms,2ms"],
        "did you mean 'tcp.min_rto'?",
    ),
    (&["compare", "tcp:rto=1ms"], "did you mean 'tcp.min_rto'?"),
    (
        &["compare", "tcp", "--set", "queue.discipline=fqcodel"],
        "did you mean 'fq-codel'?",
    ),
    // Wrong units.
    (
        &["compare", "tcp", "--set", "tcp.min_rto=1msec"],
        "did you mean '1ms'?",
    ),
    (
        &["compare", "tcp", "--set", "queue.limit=64kb"],
        "did you mean '64KB'?",
    ),
    (
        &["compare", "tcp", "--set", "queue.limit=100pkts"],
        "did you mean '100 packets'?",
    ),
    (
        &["compare", "tcp", "--set", "topology.rate=10Gbit"],
        "did you mean '10Gbps'?",
    ),
    (
        &["compare", "tcp", "--set", "topology.rate=10"],
        "a rate with a unit",
    ),
    // Wrong flags and names.
    (
        &["compare", "tcp", "--laod", "0.5"],
        "a similar argument exists: '--load'",
    ),
    (
        &["compare", "tcp", "--seeds", "six"],
        "allowed: a whole number",
    ),
    (
        &["compare", "tcp", "-t", "leafspine"],
        "did you mean 'leaf-spine'?",
    ),
    (
        &["compare", "tcp", "-w", "websearhc"],
        "did you mean 'websearch'?",
    ),
    (
        &["comapre", "tcp"],
        "similar subcommands exist: 'completions', 'compare'",
    ),
    (
        &["list", "repro"],
        "a similar value exists: 'reproductions'",
    ),
    // Wrong files.
    (&["run", "two-rack"], "did you mean 'two-racks'?"),
    (&["run", "gone.toml"], "cannot read the scenario gone.toml"),
    (
        &["report", "nowhere"],
        "found nowhere, which has no manifest.json; allowed: a directory that compare",
    ),
    (
        &["reproduce", "repnet-testbd"],
        "did you mean 'repnet-testbed'?",
    ),
];

#[test]
fn each_wrong_input_gets_its_hint() {
    let test_dir = TestDir::new();
    for (arguments, hint) in WRONG {
        let ended = test_dir.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(hint),
            "{arguments:?}: {hint}\n{}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

/// Returns the reason why a value does not match a schema; `None` for a value that matches.
/// The schema may use only the keywords that this function reads.
fn mismatch(value: &Value, schema: &Value) -> Option<String> {
    let is_of_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some(other) => return Some(format!("the unknown type {other}")),
        None => true,
    };
    let is_allowed = schema["enum"]
        .as_array()
        .is_none_or(|allowed| allowed.contains(value));
    let is_const = schema["const"].is_null() || schema["const"] == *value;
    let number = value.as_i64();
    let is_in_range = schema["minimum"].as_i64() <= number.or(schema["minimum"].as_i64())
        && (schema["maximum"].is_null() || number <= schema["maximum"].as_i64());
    if !(is_of_type && is_allowed && is_const && is_in_range) {
        return Some(format!("{value} does not follow {schema}"));
    }
    let known = schema["properties"].as_object();
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = required
        .filter_map(Value::as_str)
        .find(|name| value.get(name).is_none());
    if let Some(missing) = missing {
        return Some(format!("no {missing}"));
    }
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter_map(
            |(name, field)| match known.and_then(|known| known.get(name)) {
                Some(schema) => mismatch(field, schema),
                None => Some(format!("the unknown field {name}")),
            },
        )
        .next()
}

#[test]
fn errors_of_json_follow_the_committed_schema() {
    let schema = include_str!("../../../../docs/error.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let test_dir = TestDir::new();
    for (arguments, _) in WRONG {
        let ended = test_dir.run(&[arguments, &["--json"]].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        let error: Value = serde_json::from_str(ended.complaint())
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}", ended.stderr));
        assert_eq!(mismatch(&error, &schema), None, "{arguments:?}: {error}");
    }
    let ended = test_dir.run(&["compare", "reno", "--json"]);
    let error: Value = serde_json::from_str(&ended.stderr).expect("JSON alone");
    assert_eq!(error["schema"], 1);
    let error = &error["error"];
    assert_eq!(
        (&error["kind"], &error["did_you_mean"]),
        (&"refused".into(), &"tcp".into())
    );
    assert_eq!(
        (&error["place"], &error["key"]),
        (&"DESIGN".into(), &"designs".into())
    );
    let ended = test_dir.run(&["compare", "tcp", "--json", "--laod", "0.5"]);
    let error: Value = serde_json::from_str(&ended.stderr).expect("JSON alone");
    assert_eq!(error["error"]["did_you_mean"], "--load");
}

/// Scenario whose run takes less than a second.
const SCENARIO: &str = "designs = [\"tcp\"]\nflows = 100\n[topology]\nleaves = 2\nspines = 2\nhosts = 3\n\
                        [[workload]]\nsizes = \"fixed:20KB\"\n";

#[test]
fn run_reads_a_scenario_from_standard_input() {
    let test_dir = TestDir::new();
    let run = |text: &str| {
        let mut command = test_dir.command(&["run", "-", "--json"]);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("the command reads");
        drop(input);
        crate::test_dir::Ended::from(child.wait_with_output().expect("an end"))
    };
    let ended = run(SCENARIO);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.json()[0]["flows"], 100);
    assert!(test_dir.path().join("out/stdin/report.html").exists());
    let ended = run("designs = [\"tcp\"]\nseds = 3\n");
    assert_eq!(ended.code, Some(2));
    let error: Value = serde_json::from_str(ended.complaint()).expect("JSON");
    assert_eq!(
        (&error["error"]["place"], &error["error"]["did_you_mean"]),
        (&"stdin:2".into(), &"seeds".into())
    );
}

#[test]
fn figures_that_a_study_cannot_have_are_told_before_it_runs() {
    let test_dir = TestDir::new();
    test_dir.file("s.toml", SCENARIO);
    for (seeds, flows, told) in [
        (
            "4",
            "100",
            "4 seeds give no p99, which needs 6: add --seeds 6.",
        ),
        (
            "1",
            "100",
            "1 seed gives no p99, which needs 6: add --seeds 6.",
        ),
        (
            "6",
            "20",
            "20 flows and 6 seeds give no p99, which needs 1,000 flows in all: add --flows 167.",
        ),
    ] {
        let ended = test_dir.run(&[
            "run", "s.toml", "--fresh", "--seeds", seeds, "--flows", flows,
        ]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let first_run = ended.stderr.find("[1/").expect("a line a run");
        let at = ended.stderr.find(told);
        assert!(
            at.is_some_and(|at| at < first_run),
            "{told}\n{}",
            ended.stderr
        );
    }
    let enough = test_dir.run(&["run", "s.toml", "--seeds", "6", "--flows", "167"]);
    assert!(!enough.stderr.contains("no p99"), "{}", enough.stderr);
}

#[test]
fn a_quiet_command_prints_only_its_result_and_no_colours_into_a_pipe() {
    let test_dir = TestDir::new();
    test_dir.file("s.toml", SCENARIO);
    for flag in ["-q", "--quiet"] {
        let ended = test_dir.run(&["run", "s.toml", "--seeds", "2", flag]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert!(
            ended.stdout.contains("Report: out/s/report.html"),
            "{}",
            ended.stdout
        );
        assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
    }
    let ended = test_dir.run(&["compare", "reno", "-q"]);
    assert!(ended.stderr.starts_with("tailcut: ") && !ended.stderr.contains('\u{1b}'));
}
