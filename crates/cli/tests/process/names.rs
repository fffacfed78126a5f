//! Tests of the names of switches, hosts and links: outputs use the names that a scenario sets.

use crate::test_dir::TestDir;
use std::fs;
use tailcut_record::{NodeKind, RunRecord, StoredStudy};

const FAILURE: [&str; 12] = [
    "compare",
    "dctcp",
    "-t",
    "fat-tree:k=4",
    "--set",
    "failures.a=aggregation[0.1]",
    "--set",
    "failures.b=core[..]",
    "--set",
    "tables=csv",
    "--flows",
    "200",
];

/// Returns the runs of the study in a directory.
fn records(test_dir: &TestDir, out: &str) -> Vec<RunRecord> {
    let study = StoredStudy::open(test_dir.path().join(out)).expect("a study");
    let runs = study.runs().map(|run| run.and_then(|run| run.record()));
    runs.collect::<Result<_, _>>().expect("runs")
}

#[test]
fn a_failure_is_told_by_the_names_that_it_was_given_by() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&[&FAILURE[..], &["--seeds", "1", "--out", "out"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = "Links in trouble: aggregation[0.1] – core[2], aggregation[0.1] – core[3] down all the time.";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    let report = fs::read_to_string(test_dir.path().join("out/report.html")).expect("a report");
    assert!(report.contains(told));
    assert!(
        report.contains("edge[0.0] → aggregation[0.1]"),
        "the drawing"
    );
    assert!(!report.contains("s0 → s"), "no numbers");
    let [record] = &records(&test_dir, "out")[..] else {
        panic!("one run");
    };
    let run = fs::read_dir(test_dir.path().join("out/runs"))
        .expect("runs")
        .next();
    let run = run.expect("one").expect("readable").path();
    let failures = fs::read_to_string(run.join("failures.csv")).expect("a table");
    assert_eq!(failures.matches("aggregation[0.1]>core[2]").count(), 1);
    assert_eq!(failures.matches("core[3]>aggregation[0.1]").count(), 1);
    // Ports keep their labels. The table of nodes contains the name for each label.
    let port = record.ports.iter().find(|port| port.name == "s9>s18");
    let link = &record.topology[port.expect("a port").port as usize];
    let name_of = |label: &str| {
        let node = record.nodes.iter().find(|node| node.label == label);
        &node.expect("a node").name
    };
    assert_eq!(
        (&link.from, &link.to),
        (name_of("s9"), name_of("s18")),
        "aggregation[0.1] and core[2]"
    );
}

#[test]
fn groups_of_hosts_send_and_receive_by_their_weights() {
    let test_dir = TestDir::new();
    test_dir.file(
        "storage.toml",
        r#"
        designs = ["dctcp"]
        loads = 0.2
        flows = 4000
        duration = "10s"
        [[nodes]]
        name = "web"
        kind = "host"
        count = 6
        [[nodes]]
        name = "storage"
        kind = "host"
        count = 2
        [[nodes]]
        name = "tor"
        kind = "switch"
        [[links]]
        a = "web"
        b = "tor"
        [[links]]
        a = "storage"
        b = "tor"
        [[workload]]
        sizes = "fixed:2KB"
        matrix = "anywhere"
        [[groups]]
        hosts = ["storage"]
        source_weight = 3
        destination_weight = 9
        "#,
    );
    let run = |out: &str| {
        let ended = test_dir.run(&["run", "storage.toml", "--out", out]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        records(&test_dir, out).remove(0)
    };
    let record = run("a");
    let is_storage = |host: u32| {
        let mut nodes = record.nodes.iter();
        let node = nodes.find(|node| (node.kind, node.number) == (NodeKind::Host, host));
        node.expect("a host").name.starts_with("storage[")
    };
    let share = |of: &dyn Fn(u32, u32) -> bool| {
        let flows = record.flows.iter().filter(|f| of(f.src.0, f.dst.0));
        flows.count() as f64 / record.flows.len() as f64
    };
    // Two hosts have weight 3, and six hosts have weight 1.
    // With these weights, the receiver's share is 18 of 23 for web senders, and 9 of 15 for storage senders.
    // With 4,000 flows, four standard deviations of the share are at most 0.032.
    let sent = share(&|src, _| is_storage(src));
    assert!((sent - 0.5).abs() < 0.032, "{sent}");
    let received = share(&|_, dst| is_storage(dst));
    let expected = 0.5 * 18.0 / 23.0 + 0.5 * 9.0 / 15.0;
    assert!((received - expected).abs() < 0.032, "{received}");
    assert_eq!(record.flows, run("b").flows, "one seed, one draw");
}
