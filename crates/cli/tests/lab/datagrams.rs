//! Tests of SCDP over UDP on real hosts, in studies.

use crate::harness::{books_hold, run, summaries, text};
use serde_json::Value;
use std::path::Path;

const NETWORK: &str = r#"
seeds = 1
drain = "60s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 3
rate = "20Mbps"
"#;

/// Returns the runs of a study on real hosts.
fn runs_of(directory: &Path, head: &str, workload: &str) -> Vec<Value> {
    summaries(directory, &format!("{head}{NETWORK}{workload}"), "wall")
}

/// Checks that all flows have arrived and that no packet is lost without a record or counted twice.
fn hold(run: &Value) {
    assert_eq!(run["unfinished"], 0, "{run}");
    books_hold(run);
}

#[test]
fn flows_are_objects_of_scdp_over_switches_that_trim_and_over_those_that_drop() {
    let directory = tempfile::tempdir().expect("a directory");
    let head = "designs = [\"scdp\", \"scdp-plain\"]\nflows = 20\nloads = 0.3";
    let workload = "[[workload]]\nsizes = \"uniform:1:60KB\"";
    let runs = runs_of(directory.path(), head, workload);
    assert_eq!(runs.len(), 2);
    for run in &runs {
        hold(run);
        assert!(run["payload_sent_bytes"].as_u64() >= run["application_bytes"].as_u64());
    }
}

#[test]
fn an_incast_of_scdp_is_trimmed_and_nothing_is_dropped() {
    let directory = tempfile::tempdir().expect("a directory");
    let workload = "[[workload]]\nkind = \"burst\"\nsizes = \"fixed:70KB\"\nmatrix = \"incast\"\n\
                    senders = 5";
    let runs = runs_of(directory.path(), "designs = [\"scdp\"]", workload);
    let [run] = &runs[..] else {
        panic!("one run");
    };
    hold(run);
    // Five windows of 12 symbols need more space than a port's buffer of 20 KB for the highest class.
    assert!(run["trimmed"]["packets"].as_u64() > Some(0), "{run}");
    assert_eq!(run["dropped"]["packets"], 0, "{run}");
}

#[test]
fn a_block_is_written_to_several_hosts_and_read_from_several() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = |read_share: &str| {
        format!(
            "[[workload]]\nkind = \"storage\"\nsizes = \"fixed:100KB\"\nsessions_per_second = 40\n\
             flows = 6\nread_share = {read_share}"
        )
    };
    let writes = ["designs = [\"scdp\"]", "designs = [\"scdp-plain\"]"];
    for (head, read_share) in [
        (writes[0], "\"off\""),
        (writes[1], "\"off\""),
        (writes[1], "1"),
    ] {
        let runs = runs_of(directory.path(), head, &storage(read_share));
        runs.iter().for_each(hold);
        std::fs::remove_dir_all(directory.path().join("out")).expect("the run's files");
    }
}

#[test]
fn what_the_papers_mode_cannot_do_on_real_hosts_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let workload = "[[workload]]\nkind = \"storage\"\nsizes = \"fixed:100KB\"\n\
                    sessions_per_second = 40\nread_share = 1";
    let scenario = format!("designs = [\"scdp\"]{NETWORK}{workload}");
    let out = directory.path().join("out");
    let output = run(directory.path(), &scenario, &out, &["--clock", "wall"]).output();
    let output = output.expect("it runs");
    assert!(!output.status.success());
    let said = text(&output.stderr);
    let expected = "workload.read: found all-replicas; allowed for scdp on real hosts: one-replica";
    assert!(said.contains(expected), "{said}");
}
