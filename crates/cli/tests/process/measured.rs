//! Tests of seeds that give the same run, and of the part of a run that the answer measures.

use crate::test_dir::TestDir;

/// Runs a scenario and returns its answer.
fn answer(test_dir: &TestDir, scenario: &str, arguments: &[&str]) -> String {
    test_dir.file("s.toml", scenario);
    let ended = test_dir.run(&[&["run", "s.toml"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

const LONE: &str = r#"
designs = ["tcp", "dctcp"]
seeds = 6
[topology]
kind = "single-switch"
hosts = 3
[[workload]]
kind = "burst"
sizes = "fixed:1MB"
matrix = "incast"
senders = 1
receiver = 0
"#;

#[test]
fn six_identical_runs_have_no_interval_and_the_answer_says_why() {
    let test_dir = TestDir::new();
    let text = answer(&test_dir, LONE, &[]);
    let why = "Same runs: all 6 seeds gave the same run, so there is no interval.";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("95 % CI"), "{text}");
    // With random start times of two flows, every seed gives a different run.
    let two = LONE.replace("senders = 1", "senders = 2\njitter = \"100us\"");
    let text = answer(&test_dir, &two, &[]);
    assert!(!text.contains("gave the same run"), "{text}");
    assert!(text.contains("95 % CI"), "{text}");
}

#[test]
fn equal_runs_need_no_further_seeds() {
    let test_dir = TestDir::new();
    // One flow is too few for a p99, unless the flow has the same time with every seed.
    let sizes = "workload.sizes=fixed:1MB,fixed:2MB,fixed:4MB";
    let text = answer(&test_dir, LONE, &["--sweep", sizes]);
    assert!(!text.contains("too few") && !text.contains(" CI"), "{text}");
    let delay = ["--find-limit", "topology.delay=1us..1ms", "p99=2ms"];
    let text = answer(&test_dir, LONE, &delay);
    assert!(!text.contains("undecided"), "{text}");
    // The answer for a trace contains no intervals, so it must not explain them.
    test_dir.file(
        "t.csv",
        "start_ns,src,dst,bytes\n0,0,2,100000\n1000,1,2,200000\n",
    );
    let trace = LONE.split("[[workload]]").next().expect("a scenario");
    let trace = format!("{trace}[[workload]]\nkind = \"trace\"\nfile = \"t.csv\"\n");
    let text = answer(&test_dir, &trace, &[]);
    assert!(text.contains("tcp finishes all 2 flows"), "{text}");
    assert!(text.contains("gave the same run"), "{text}");
    assert!(!text.contains("intervals cover"), "{text}");
}

#[test]
fn seeds_with_equal_runs_all_count_and_the_answer_says_how_many_differ() {
    let test_dir = TestDir::new();
    // With most seeds, no packet is lost, and the runs are equal.
    let lossy = LONE.replace("seeds = 6", "seeds = 40").replace(
        "[[workload]]",
        "[[failures]]\na = \"h1\"\nb = \"s0\"\nloss = 0.0004\n[[workload]]",
    );
    let text = answer(&test_dir, &lossy, &[]);
    assert!(
        text.contains("Same runs: some seeds gave the same run: 40 seeds, "),
        "{text}"
    );
    assert!(text.contains(" different runs with tcp"), "{text}");
    // The mean includes 40 flows of each design.
    let row = text.lines().find(|line| line.starts_with("tcp  "));
    let row = row.expect("a row of tcp");
    assert!(row.split_whitespace().any(|word| word == "40"), "{row}");
}

const OPEN: &str = r#"
designs = ["tcp", "dctcp"]
seeds = 6
loads = 0.5
flows = 400
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
[[workload]]
sizes = "uniform:1000:100000"
"#;

#[test]
fn the_answer_measures_the_flows_after_the_warm_up_and_says_how_many() {
    let test_dir = TestDir::new();
    let text = answer(&test_dir, OPEN, &[]);
    assert!(text.contains("(measure.from = \"auto\")"), "{text}");
    assert!(text.contains(" of 4,800 flows"), "{text}");
    let all = answer(&test_dir, OPEN, &["--set", "measure.from=0s"]);
    assert!(!all.contains("measure.from"), "{all}");
    let half = answer(&test_dir, OPEN, &["--set", "measure.from=50%"]);
    assert!(half.contains("Measured: 2,400 of 4,800 flows"), "{half}");
    let part = "which start after the first 50 % of each run (measure.from = \"50%\")";
    assert!(half.contains(part), "{half}");
    let row = half.lines().find(|line| line.starts_with("tcp  "));
    assert!(row.expect("a row of tcp").ends_with(" 50 %"), "{half}");
    // All measured parts use the same stored runs, so the last study found all of its runs.
    let hashes = |text: &str| text.lines().filter(|line| line.contains("found")).count();
    assert_eq!(hashes(&all), hashes(&half));
}

const BURSTS: &str = r#"
designs = ["tcp", "dctcp"]
seeds = 3
[topology]
kind = "single-switch"
hosts = 45
rate = "1Gbps"
delay = "20us"
[queue]
limit = "100 packets"
mark_above = "20 packets"
[[workload]]
kind = "burst"
sizes = "fixed:1MB"
matrix = "incast"
senders = 1
receiver = 0
jitter = "10us"
"#;

#[test]
fn an_answer_about_bursts_does_not_say_which_load_a_network_keeps_up_with() {
    let test_dir = TestDir::new();
    let text = answer(&test_dir, BURSTS, &["--sweep", "workload.senders=2,5,10"]);
    assert!(text.contains("flows of the burst"), "{text}");
    for assumes_a_load in ["keeps up", "keep up", "Backlog", "Measured"] {
        assert!(!text.contains(assumes_a_load), "{text}");
    }
}

#[test]
fn a_report_of_two_studies_that_measure_different_parts_has_both_parts() {
    let test_dir = TestDir::new();
    answer(
        &test_dir,
        OPEN,
        &["--out", "all", "--set", "measure.from=0s"],
    );
    answer(
        &test_dir,
        OPEN,
        &["--out", "late", "--set", "measure.from=75%"],
    );
    let ended = test_dir.run(&["report", "all", "late"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = ended.stdout;
    let row = |value: &str| {
        text.lines()
            .find(|line| line.trim_start().starts_with(value))
    };
    let (all, late) = (row("0s").expect("a row"), row("75%").expect("a row"));
    assert!(all.contains("2,400"), "{text}");
    assert!(late.contains(" 600 ") && late.ends_with(" 25 %"), "{text}");
    assert!(!text.contains("No effect: measure.from"), "{text}");
}
