//! Files that other programs write: tables of flow sizes, and coflows. The tests go from the scenario to the results.

use tailcut_record::{CoflowKind, RunRecord};
use tailcut_scenario::{Scenario, Study, Workers};

/// Runs a scenario that reads a file, and returns its records.
fn run(file: (&str, &str), workload: &str) -> Result<Vec<RunRecord>, String> {
    let text = format!(
        "designs = [\"tcp\", \"dctcp\"]\n[topology]\nkind = \"single-switch\"\nhosts = 8\n[[workload]]\n{workload}"
    );
    let scenario = Scenario::parse("s.toml", "", &text).map_err(|error| error.to_string())?;
    let scenario = scenario.with_file(file.0, file.1.as_bytes());
    let study = Study::of(&scenario).map_err(|error| error.to_string())?;
    study
        .run(&Workers::default())
        .map_err(|error| error.to_string())
}

#[test]
fn a_table_of_packets_has_a_unit() {
    let homa = ("dctcp.txt", "2.0\n1 0.5\n3 1.0\n");
    let workload = "kind = \"burst\"\nsizes = \"table:dctcp.txt\"\ntable_unit = 1460\n";
    let records = run(homa, workload).expect("runs");
    let sizes = records[0].flows.iter().map(|flow| flow.bytes.0);
    assert!(
        sizes.clone().all(|bytes| [1_460, 4_380].contains(&bytes)),
        "{:?}",
        sizes.collect::<Vec<_>>()
    );
    let error = run(
        ("t.txt", "0 0\n1000 50\n900 100\n"),
        "sizes = \"table:t.txt\"\n",
    );
    let error = error.expect_err("sizes fall");
    assert!(
        error.contains("t.txt:3: column bytes: found `900`; allowed: a size from 1000"),
        "{error}"
    );
}

#[test]
fn coflows_of_a_file_have_their_completion_times() {
    let file = (
        "fb.txt",
        "8 3\n1 0 2 0 1 2 2:4.0 3:1.0\n2 5 1 5 1 6:2.0\n3 7 1 0 1 7:1\n",
    );
    let workload = "kind = \"coflows\"\nfile = \"fb.txt\"\nsize_factor = 0.1\n";
    for record in run(file, workload).expect("runs") {
        assert_eq!((record.coflows.len(), record.flows.len()), (3, 6));
        let bytes: u64 = record.flows.iter().map(|flow| flow.bytes.0).sum();
        assert_eq!(
            bytes,
            record
                .coflows
                .iter()
                .map(|coflow| coflow.bytes.0)
                .sum::<u64>()
        );
        for coflow in &record.coflows {
            assert_eq!((coflow.kind, coflow.receiver), (CoflowKind::Coflow, None));
            let flows = record
                .flows
                .iter()
                .filter(|flow| flow.start == coflow.start);
            let last = flows.filter_map(|flow| flow.fct).max();
            assert_eq!(coflow.completion, last, "all start at the arrival");
        }
        assert_eq!(record.summary().coflows.map(|all| all.n), Some(3));
    }
    let error = run(("fb.txt", "9 1\n1 0 1 0 1 8:1\n"), workload);
    let error = error.expect_err("too many locations");
    assert!(
        error
            .contains("fb.txt:1: column locations: found `9`; allowed: a whole number from 0 to 8"),
        "{error}"
    );
}
