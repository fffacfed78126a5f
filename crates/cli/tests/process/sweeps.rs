//! Tests of sweeps over keys of a scenario, from the command line and from a file.

use crate::test_dir::{TestDir, compare};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const GRID: [&str; 6] = [
    "--sweep",
    "queue.limit=5,10,20",
    "--sweep",
    "topology.delay=1..4us*4",
    "--seeds",
    "1",
];

/// Returns the arguments of `compare` for TCP and DCTCP with a grid of two keys, and additional flags.
fn grid<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["compare", "tcp", "dctcp", "--flows", "60"];
    arguments.extend(["--topology", "leaf-spine:leaves=2,spines=2,hosts=3"]);
    arguments.extend(["--workload", "fixed:20KB"]);
    arguments.extend(GRID);
    arguments.extend(more);
    arguments
}

/// Returns the parameters of a run as values, in the order of the sweep.
fn values(run: &Value) -> Vec<Value> {
    let parameters = run["parameters"].as_array().expect("a swept run").iter();
    parameters.map(|one| one["value"].clone()).collect()
}

/// Returns the results of a run without those that depend on the machine.
fn outcome(run: &Value) -> Value {
    json!([
        run["design"],
        run["parameters"],
        run["seed"],
        run["record_hash"],
        run["fct"]
    ])
}

fn outcomes(printed: &Value) -> Vec<Value> {
    printed
        .as_array()
        .expect("runs")
        .iter()
        .map(outcome)
        .collect()
}

#[test]
fn two_keys_make_a_grid_that_every_design_runs() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&grid(&["--json", "--out", "study", "--set", "tables=csv"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let printed = ended.json();
    let runs = printed.as_array().expect("runs");
    let found: BTreeSet<String> = runs
        .iter()
        .map(|run| format!("{} {:?}", run["design"], values(run)))
        .collect();
    assert_eq!((runs.len(), found.len()), (12, 12));
    let columns: Vec<Value> = vec![json!({"key": "queue.limit", "value": 5, "unit": "packets"})];
    assert_eq!(runs[0]["parameters"][0], columns[0]);
    assert_eq!(values(&runs[0]), [json!(5), json!(1000.0)]);
    // All tables of a run contain the key of the run.
    for entry in fs::read_dir(test_dir.path().join("study/runs")).expect("runs") {
        let run = entry.expect("an entry").path();
        let summary: Value = read(&run.join("run.json"));
        let [limit, delay] = &values(&summary)[..] else {
            panic!("{summary}");
        };
        let name = run
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert!(
            name.contains(&format!("-queue.limit{limit}packets-topology.delay")),
            "{name}"
        );
        // Queues that were always empty have no table.
        for table in ["flows", "ports", "topology", "links"] {
            let path = run.join(format!("{table}.csv"));
            let text = fs::read_to_string(&path).expect("a table");
            let mut lines = text.lines();
            let header = lines.next().expect("a header");
            assert!(
                header.ends_with("load,seed,queue.limit_packets,topology.delay_ns"),
                "{header}"
            );
            let told = format!(",0.5,1,{limit},{}", delay.as_f64().expect("a number"));
            assert!(
                lines.all(|line| line.ends_with(&told)),
                "{}: {told}",
                path.display()
            );
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_interrupted_goes_on_to_the_same_table() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let test_dir = TestDir::new();
    let whole = test_dir.run(&grid(&["--json", "--out", "whole"]));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let arguments = grid(&["--json", "--out", "halves", "--threads", "1"]);
    let mut first = test_dir
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let told = BufReader::new(first.stderr.take().expect("standard error"));
    let mut lines = told.lines().map(|line| line.expect("a line"));
    let fourth = lines.find(|line| line.starts_with("[4/12] "));
    assert!(fourth.is_some(), "four runs have ended");
    kill_process(Pid::from_child(&first), Signal::KILL).expect("a signal");
    first.wait().expect("an end");
    let second = test_dir.run(&arguments);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert!(
        second.stderr.contains(" of 12 runs are in halves already"),
        "{}",
        second.stderr
    );
    assert_eq!(outcomes(&second.json()), outcomes(&whole.json()));
    let table = |dir: &str| {
        let report = test_dir.run(&["report", dir, "--json"]);
        assert_eq!(report.code, Some(0), "{}", report.stderr);
        let tables = report.json()["tables"].clone();
        let tables = tables.as_array().expect("tables").iter();
        let of_answer = tables.filter(|table| {
            let id = table["id"].as_str().expect("an id");
            id.starts_with("headline") || id.starts_with("settings")
        });
        of_answer.cloned().collect::<Vec<Value>>()
    };
    assert_eq!(table("halves"), table("whole"));
}

#[test]
fn a_sweep_that_grows_runs_only_its_new_points() {
    let test_dir = TestDir::new();
    let small = compare(&["tcp"], &["--out", "study", "--sweep", "queue.limit=5,10"]);
    assert_eq!(test_dir.run(&small).code, Some(0));
    let large = compare(
        &["tcp"],
        &["--out", "study", "--sweep", "queue.limit=5..20*2"],
    );
    let grown = test_dir.run(&large);
    assert_eq!(grown.code, Some(0), "{}", grown.stderr);
    assert!(
        grown.stderr.contains("4 of 6 runs are in study already"),
        "{}",
        grown.stderr
    );
    // Runs without a sweep have no columns of swept keys, and they count as different runs.
    let plain = compare(
        &["tcp"],
        &["--out", "study", "--set", "queue.limit=5 packets"],
    );
    let plain = test_dir.run(&plain);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(!plain.stderr.contains("already"), "{}", plain.stderr);
}

/// First four lines of a scenario file.
const FILE: &str = "designs = [\"tcp\"]\nflows = 20\n[topology]\nkind = \"single-switch\"\n";

#[test]
fn zipped_keys_change_together() {
    let test_dir = TestDir::new();
    let sweep = "[sweep]\n\"topology.hosts\" = [4, 8, 16]\ntopology.rate = [\"1Gbps\", \"2Gbps\", \"4Gbps\"]\n\
                 \"queue.limit\" = { from = \"10 packets\", to = \"1000 packets\", steps = 3, scale = \"log\" }\n\
                 zip = [[\"topology.hosts\", \"topology.rate\"]]\n";
    test_dir.file("zip.toml", &format!("{FILE}{sweep}"));
    let runs = |more: &[&str]| -> Vec<Vec<Value>> {
        let mut arguments = vec!["run", "zip.toml", "--json"];
        arguments.extend(more);
        let ended = test_dir.run(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
            .json()
            .as_array()
            .expect("runs")
            .iter()
            .map(values)
            .collect()
    };
    let all = runs(&[]);
    let pairs = [(4, 1e9), (8, 2e9), (16, 4e9)];
    let expected = pairs.iter().flat_map(|&(hosts, rate)| {
        [10, 100, 1_000].map(|limit| vec![json!(hosts), json!(rate as u64), json!(limit)])
    });
    assert_eq!(all, expected.collect::<Vec<_>>());
    // A key that the command line sets is no longer swept or zipped.
    let set = runs(&[
        "--set",
        "topology.hosts=6",
        "--set",
        "queue.limit=9 packets",
    ]);
    assert_eq!(
        set,
        [
            [json!(1_000_000_000u64)],
            [json!(2_000_000_000u64)],
            [json!(4_000_000_000u64)]
        ]
    );
    let swept = runs(&[
        "--sweep",
        "topology.hosts=2..4:1",
        "--set",
        "queue.limit=9 packets",
    ]);
    assert_eq!(swept[2], [json!(4), json!(4_000_000_000u64)]);
}

#[test]
fn a_design_has_settings_of_its_own_and_a_name() {
    let test_dir = TestDir::new();
    let designs = "designs = [\"dctcp\", { name = \"small-gain\", design = \"dctcp\", \
                   \"tcp.dctcp_gain\" = 0.01 }]\n";
    let text = FILE.replace("designs = [\"tcp\"]\n", designs);
    test_dir.file(
        "own.toml",
        &format!("{text}[queue]\nmark_above = \"2 packets\"\n"),
    );
    let ended = test_dir.run(&["run", "own.toml", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let printed = ended.json();
    assert_eq!(printed[0]["design"], "dctcp");
    assert_eq!(printed[1]["design"], "small-gain");
    assert_ne!(printed[0]["record_hash"], printed[1]["record_hash"]);
    // The short form `DESIGN:KEY=VALUE` gives the same runs under another name.
    let short = compare(
        &["dctcp", "dctcp:tcp.dctcp_gain=0.01,tcp.min_rto=5ms"],
        &["--json"],
    );
    let ended = test_dir.run(&short);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let last = ended.json()[1]["design"].clone();
    assert_eq!(last, "dctcp:tcp.dctcp_gain=0.01,tcp.min_rto=5ms");
}

/// Returns the error for a scenario file that ends with `lines`. The first of the lines is line 5.
fn refused(lines: &str) -> String {
    let test_dir = TestDir::new();
    test_dir.file("s.toml", &format!("{FILE}{lines}"));
    let ended = test_dir.run(&["run", "s.toml"]);
    assert_eq!(ended.code, Some(2), "{lines}: {}", ended.stderr);
    assert!(
        !test_dir.path().join("out").exists(),
        "{lines}: something was run"
    );
    ended.complaint().trim_start_matches("tailcut: ").to_owned()
}

#[test]
fn what_is_wrong_with_a_sweep_is_told_with_its_place_and_what_is_allowed() {
    for (lines, told) in [
        (
            "[sweep]\n\"queue.limt\" = [1]\n",
            "s.toml:6: found the key 'limt' in [queue]; allowed: discipline, limit, mark_above; did you mean 'limit'?",
        ),
        (
            "[sweep]\n\"queue.limit\" = [10, \"x\"]\n",
            "s.toml:6: queue.limit: found \"x\"; allowed: packets from 1 to",
        ),
        (
            "[sweep]\nqueue.limit = []\n",
            "s.toml:6: queue.limit: found an empty list; allowed: values, each of them packets",
        ),
        (
            "[sweep]\n",
            "s.toml:5: sweep: found no key; allowed: keys with their values",
        ),
        (
            "[sweep]\ntcp.min_rto = [\"1ms\", \"1000us\"]\n",
            "s.toml:6: tcp.min_rto: found \"1 ms\" twice; allowed: each value once",
        ),
        (
            "[sweep]\ntcp.min_rto = { from = \"1ms\", to = \"9ms\", stepz = 3 }\n",
            "s.toml:6: tcp.min_rto: found 'stepz'; allowed: from, to, steps, scale; did you mean 'steps'?",
        ),
        (
            "[sweep]\ntcp.min_rto = { from = \"9ms\", to = \"1ms\", steps = 3 }\n",
            "s.toml:6: tcp.min_rto: found from \"9ms\" to \"1ms\" in 3 values; allowed: a rising range",
        ),
        (
            "[sweep]\ntcp.sack = { from = 1, to = 9, steps = 3 }\n",
            "s.toml:6: tcp.sack: found 1; allowed: true or false",
        ),
        (
            "[sweep]\nseed = [1, 2]\n",
            "s.toml:6: seed: found a sweep of it; allowed: seeds = 3 or --seeds",
        ),
        (
            "[sweep]\n\"topology.hosts\" = [4, 5]\n\"queue.limit\" = [1, 2, 3]\n\
             zip = [[\"topology.hosts\", \"queue.limit\"]]\n",
            "s.toml:8: zip: found 2 values of topology.hosts and 3 of queue.limit; allowed: the same number of values",
        ),
        (
            "[sweep]\n\"topology.hosts\" = [4, 5]\nzip = [[\"topology.hosts\", \"queue.limit\"]]\n",
            "s.toml:7: zip: found queue.limit, which is not swept; allowed: swept keys: topology.hosts",
        ),
        (
            "[queue]\nlimit = \"9 packets\"\n[sweep]\n\"queue.limit\" = [1, 2]\n",
            "s.toml:8: queue.limit: found a sweep of a key that s.toml:6 sets; allowed: a value or a sweep",
        ),
        (
            "[sweep]\n\"pfabric.queue\" = [\"9KB\", \"36KB\"]\n",
            "s.toml:6: pfabric.queue: found only designs without this key: tcp (at pfabric.queue 9 KB); \
             allowed: only with pfabric",
        ),
        (
            "[sweep]\n\"queue.limit\" = \"1..900:1\"\n\"tcp.min_rto\" = \"1..900:1ms\"\n",
            "s.toml:7: sweep: found 810000 combinations of the values of 2 keys; allowed: at most 100000",
        ),
        (
            "[sweep]\n\"topology.hosts\" = [9, 1]\n",
            "s.toml:6: topology.hosts: found 1 in total (at topology.hosts 1); allowed: at least 2 hosts",
        ),
    ] {
        let complaint = refused(lines);
        assert!(complaint.starts_with(told), "{lines}\n{complaint}\n{told}");
    }
}

#[test]
fn what_is_wrong_with_a_design_of_ones_own_is_told() {
    for (design, told) in [
        (
            "{ name = \"tcp\", design = \"tcp\" }",
            "designs: found the name \"tcp\"",
        ),
        (
            "{ name = \"a\" }",
            "designs: found a design without name or design",
        ),
        (
            "{ name = \"a\", design = \"tpc\" }",
            "designs: found the unknown design 'tpc'",
        ),
        (
            "{ name = \"a\", design = \"tcp\", \"topology.hosts\" = 9 }",
            "topology.hosts: found a setting of the design a; allowed: keys that can differ between designs",
        ),
        (
            "{ name = \"a\", design = \"tcp\", \"pfabric.queue\" = \"9KB\" }",
            "pfabric.queue: found only designs without this key: tcp; allowed: only with pfabric",
        ),
        (
            "{ name = \"a\", design = \"tcp\", \"tcp.min_rto\" = 9 }",
            "tcp.min_rto: found 9; allowed: a time with a unit",
        ),
    ] {
        let test_dir = TestDir::new();
        let text = FILE.replace("[\"tcp\"]", &format!("[\"dctcp\", {design}]"));
        test_dir.file("s.toml", &text);
        let ended = test_dir.run(&["run", "s.toml"]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        let complaint = ended.complaint();
        assert!(
            complaint.starts_with(&format!("tailcut: s.toml:1: {told}")),
            "{complaint}\n{told}"
        );
    }
}

#[test]
fn a_key_is_set_or_swept_on_the_command_line_and_only_once() {
    let test_dir = TestDir::new();
    for flags in [
        ["--sweep", "queue.limit=5,6", "--sweep", "queue.limit=7"],
        [
            "--sweep",
            "queue.limit=5,6",
            "--set",
            "queue.limit=7 packets",
        ],
    ] {
        let ended = test_dir.run(&compare(&["tcp"], &flags));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        let told =
            "tailcut: --sweep: found 'queue.limit' twice; allowed: each key once, set or swept";
        assert_eq!(ended.complaint(), told);
    }
}

#[test]
fn studies_in_several_directories_are_joined_by_what_they_differ_in() {
    let test_dir = TestDir::new();
    for (limit, dir) in [("5 packets", "a"), ("10 packets", "b")] {
        let set = format!("queue.limit={limit}");
        let more = ["--out", dir, "--set", &set, "--set", "topology.delay=2us"];
        let ended = test_dir.run(&compare(&["tcp", "dctcp"], &more));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    // The third study sweeps another key. One of its points is also in the first study.
    let more = [
        "--out",
        "c",
        "--set",
        "queue.limit=5 packets",
        "--sweep",
        "topology.delay=2,4us",
    ];
    let ended = test_dir.run(&compare(&["tcp", "dctcp"], &more));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let joined = test_dir.run(&["report", "a", "b", "c", "--json", "--out", "all"]);
    assert_eq!(joined.code, Some(0), "{}", joined.stderr);
    assert!(
        joined.stderr.contains("(only the first is used): 4"),
        "{}",
        joined.stderr
    );
    assert!(test_dir.path().join("all/report.html").exists());
    let tables = joined.json()["tables"].clone();
    let mut tables = tables.as_array().expect("tables").iter();
    let table = tables
        .find(|table| table["id"] == "settings")
        .expect("the swept table");
    let rows = table["rows"].as_array().expect("rows").iter();
    let points: BTreeSet<String> = rows
        .map(|row| format!("{} {}", row["queue.limit"], row["topology.delay"]))
        .collect();
    let expected = ["5 2000.0", "10 2000.0", "5 4000.0"].map(str::to_owned);
    assert_eq!(points, BTreeSet::from(expected));
    let nothing = test_dir.run(&["report", "a", "none"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
}
