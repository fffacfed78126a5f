//! Tests of replicated flows on real hosts: two connections for each mouse, over the TCP of the hosts' kernels.

use crate::harness::{run, text};
use tailcut_record::{RunRecord, StoredStudy};

const SCENARIO: &str = r#"
designs = ["cubic", "repflow+cubic", "repsyn+cubic", "mixed+cubic"]
loads = 0.3
flows = 60
seeds = 1
slowdown = 2
drain = "60s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts = 2
rate = "20Mbps"
[[workload]]
sizes = "uniform:1KB:150KB"
"#;

/// Runs the scenario on real hosts with additional arguments, and returns the records of its runs.
fn measured(more: &[&str]) -> Vec<RunRecord> {
    measured_of(SCENARIO, more)
}

fn measured_of(scenario: &str, more: &[&str]) -> Vec<RunRecord> {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let arguments = [&["--clock", "wall"], more].concat();
    let output = run(directory.path(), scenario, &out, &arguments).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let study = StoredStudy::open(&out).expect("a study");
    let records = study.runs().map(|run| run?.record());
    records.collect::<Result<_, _>>().expect("tables")
}

#[test]
fn each_mouse_has_two_connections_and_each_elephant_one() {
    let runs = measured(&[]);
    assert_eq!(runs.len(), 4);
    for run in runs {
        let design = run.key.design.as_str();
        assert!(run.flows.len() > 20, "{design}");
        for flow in &run.flows {
            let (bytes, sent) = (flow.bytes.0, flow.payload_sent.0);
            let is_mouse = bytes < 100_000;
            let copies = match design {
                "cubic" => 0..=0,
                "mixed+cubic" if is_mouse => 0..=1,
                _ if is_mouse => 1..=1,
                _ => 0..=0,
            };
            assert!(copies.contains(&flow.copies), "{design}: {flow:?}");
            let (handshake, fct) = (flow.handshake, flow.fct);
            assert!(handshake < fct && handshake.is_some(), "{design}: {flow:?}");
            assert!(sent >= bytes, "{design}: {flow:?}");
            if design == "repsyn+cubic" && flow.retransmissions == 0 {
                assert_eq!(sent, bytes, "{flow:?}: only handshakes are sent twice");
            }
        }
        if design == "repflow+cubic" {
            // The slower connection of a mouse is closed early, so some mice do not send all bytes twice.
            let mice = || run.flows.iter().filter(|flow| flow.copies == 1);
            let twice = mice().filter(|flow| flow.payload_sent.0 >= 2 * flow.bytes.0);
            assert!(
                2 * twice.count() > mice().count(),
                "most mice are sent twice"
            );
        }
    }
}

#[test]
fn flows_under_the_limit_are_replicated_and_no_others() {
    let runs = measured(&[
        "--set",
        "designs=repflow+cubic",
        "--set",
        "repnet.limit=20KB",
    ]);
    let flows = runs.iter().flat_map(|run| &run.flows);
    for flow in flows {
        let expected = u32::from(flow.bytes.0 < 20_000);
        assert!(flow.copies == expected && flow.fct.is_some(), "{flow:?}");
    }
}

#[test]
fn a_flow_that_finds_no_way_fails_and_the_run_goes_on_without_it() {
    let failures = "[[failures]]\na = \"leaf[1]\"\nb = \"spine[..]\"\n[tcp]\nmax_syn_retries = 1\n";
    let (start, workload) = SCENARIO.split_at(SCENARIO.find("[[workload]]").expect("it has one"));
    let burst =
        "\nkind = \"burst\"\nmatrix = \"pairs\"\npairs = [[0, 2]]\nsizes = \"fixed:10KB\"\n";
    let start = start
        .replace("flows = 60\n", "")
        .replace("loads = 0.3\n", "");
    let (section, _) = workload.split_once('\n').expect("lines");
    let designs = ["--set", "designs=repflow+cubic,repsyn+cubic"];
    let runs = measured_of(&format!("{start}{failures}{section}{burst}"), &designs);
    assert_eq!(runs.len(), 2);
    for run in runs {
        let [flow] = &run.flows[..] else {
            panic!("one flow: {:?}", run.flows);
        };
        assert!(flow.fct.is_none() && flow.copies == 1, "{flow:?}");
        // The kernels give up a connection after 3 s, so the run ends before the end of the drain.
        let ended = run.totals.simulated.as_secs_f64();
        assert!(ended < 30.0, "{ended} s by the network's clock");
    }
}
