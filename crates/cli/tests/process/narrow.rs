//! Tests of the output at 80 columns: all lines fit, and no word is broken.

use crate::test_dir::{TestDir, compare};
use std::collections::BTreeSet;

const WIDTH: usize = 80;

/// Returns the standard output and the standard error of a command at this width in columns.
fn outputs(test_dir: &TestDir, arguments: &[&str], columns: usize) -> [String; 2] {
    let mut command = test_dir.command(arguments);
    let ended = command
        .env("COLUMNS", columns.to_string())
        .output()
        .expect("the command runs");
    let ended = crate::test_dir::Ended::from(ended);
    [ended.stdout, ended.stderr]
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// Returns the lines of an output that are too long although they could be broken between words.
fn too_long(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.chars().count() > WIDTH);
    lines
        .filter(|line| line.split_whitespace().count() > 1)
        .collect()
}

/// Checks that the output of a command fits at 80 columns.
/// The output may contain only words that it also contains at 100 columns.
fn check(test_dir: &TestDir, arguments: &[&str]) {
    let [narrow, narrow_notes] = outputs(test_dir, arguments, WIDTH);
    let [wide, _] = outputs(test_dir, arguments, 100);
    for text in [&narrow, &narrow_notes] {
        assert!(
            too_long(text).is_empty(),
            "{arguments:?}: {:#?}",
            too_long(text)
        );
    }
    let broken: Vec<&str> = words(&narrow).difference(&words(&wide)).copied().collect();
    assert!(broken.is_empty(), "{arguments:?}: {broken:?}\n{narrow}");
}

/// Returns the paths of all commands.
fn commands() -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut open = vec![(Vec::new(), tailcut::definition())];
    while let Some((path, command)) = open.pop() {
        for below in command
            .get_subcommands()
            .filter(|below| !below.is_hide_set())
        {
            let mut path: Vec<String> = path.clone();
            path.push(below.get_name().to_owned());
            open.push((path, below.clone()));
        }
        all.push(path);
    }
    all
}

#[test]
fn help_of_every_command_fits() {
    let test_dir = TestDir::new();
    for path in commands() {
        for flag in ["-h", "--help"] {
            let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
            arguments.push(flag);
            let [narrow, _] = outputs(&test_dir, &arguments, WIDTH);
            let [wide, _] = outputs(&test_dir, &arguments, 100);
            // Examples are left out, because users copy them. Examples have their own line breaks.
            let prose = narrow.split("Examples:").next().unwrap_or_default();
            assert!(
                too_long(prose).is_empty(),
                "{arguments:?}: {:#?}",
                too_long(prose)
            );
            let broken: Vec<&str> = words(&narrow).difference(&words(&wide)).copied().collect();
            assert!(broken.is_empty(), "{arguments:?}: {broken:?}");
        }
    }
}

#[test]
fn short_help_is_short() {
    let test_dir = TestDir::new();
    let lines = |flag: &str| {
        outputs(&test_dir, &["compare", flag], WIDTH)[0]
            .lines()
            .count()
    };
    let (short, long) = (lines("-h"), lines("--help"));
    assert!(short <= 40 && long >= 2 * short, "{short} and {long} lines");
}

#[test]
fn answers_tables_and_lists_fit() {
    let test_dir = TestDir::new();
    let kinds = [
        "designs",
        "disciplines",
        "workloads",
        "topologies",
        "scenarios",
        "reproductions",
        "keys",
    ];
    for kind in kinds {
        check(&test_dir, &["list", kind]);
    }
    let made = test_dir.run(&compare(&["tcp", "repflow"], &["--load", "0.2,0.4"]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    check(&test_dir, &["report", "out/compare"]);
    let swept = [
        "--sweep",
        "queue.limit=20,40",
        "--sweep",
        "tcp.min_rto=1,5ms",
        "--out",
        "out/swept",
    ];
    let made = test_dir.run(&compare(&["tcp", "dctcp", "repflow+dctcp"], &swept));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    check(&test_dir, &["report", "out/swept"]);
    check(
        &test_dir,
        &compare(&["tcp", "dctcp"], &["--out", "out/again"]),
    );
    let plan = [
        "study", "plan", "grid", "tcp", "dctcp", "--flows", "10", "--seeds", "2",
    ];
    check(&test_dir, &plan);
    check(&test_dir, &["study", "status", "grid"]);
    let limit = compare(
        &["tcp"],
        &[
            "--find-limit",
            "loads=0.2..0.4",
            "mean=1ms",
            "--out",
            "out/limit",
        ],
    );
    check(&test_dir, &limit);
    check(&test_dir, &["compare", "tcp", "ecmp"]);
    check(&test_dir, &["run", "gone.toml"]);
    check(&test_dir, &["compare", "tcp", "--set", "speed=1Gbps"]);
}
