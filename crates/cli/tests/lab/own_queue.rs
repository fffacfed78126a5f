//! Tests of queue disciplines in the lab's switches, with the TCP of the hosts' kernels:
//! a custom discipline in Rust, and built-in disciplines.

use crate::harness::{books_hold, run, text};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const SCENARIO: &str = r#"
designs = ["cubic", "cubic:queue.discipline=thinned"]
loads = 0.3
flows = 40
seeds = 1
drain = "60s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 2
rate = "20Mbps"
[[workload]]
sizes = "uniform:1KB:60KB"
"#;

/// Returns a command for the example program with custom parts, which Cargo builds with the tests.
fn own_command() -> Command {
    let test = std::env::current_exe().expect("this test");
    let built: PathBuf = test.ancestors().nth(2).expect("the build's folder").into();
    Command::new(built.join("examples").join("own_command"))
}

/// Runs a scenario on real hosts and returns the summaries of its runs.
fn on_real_hosts(mut command: Command, scenario: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let usual = run(
        directory.path(),
        scenario,
        &out,
        &["--clock", "wall", "--json"],
    );
    let output = command.args(usual.get_args()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_users_own_discipline_in_rust_serves_tcp_of_real_hosts() {
    let runs = on_real_hosts(own_command(), SCENARIO);
    let [usual, thinned] = &runs[..] else {
        panic!("{runs:?}");
    };
    let dropped = |run: &Value| run["dropped"]["packets"].as_u64().expect("a count");
    for run in [usual, thinned] {
        books_hold(run);
        assert_eq!(run["unfinished"], 0, "{run}");
    }
    assert_eq!(thinned["design"], "cubic:queue.discipline=thinned");
    // Each port with this discipline drops every fiftieth packet.
    assert!(dropped(thinned) > dropped(usual), "{thinned}");
}

#[test]
fn built_in_disciplines_serve_tcp_of_real_hosts() {
    let designs = r#"["cubic:queue.discipline=codel", "cubic:queue.discipline=fq-codel", "dctcp:queue.discipline=red"]"#;
    let scenario = SCENARIO.replace(r#"["cubic", "cubic:queue.discipline=thinned"]"#, designs);
    let runs = on_real_hosts(Command::new(crate::harness::TAILCUT), &scenario);
    assert_eq!(runs.len(), 3);
    for run in &runs {
        books_hold(run);
        assert_eq!(run["unfinished"], 0, "{run}");
    }
}
