//! Flows that only carry load: their rows in files, and files of versions that did not write rows for these flows.

mod keys;

use keys::key;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tailcut_record::{
    Fingerprint, FlowLog, FlowRecord, Manifest, OutputDir, RunRecord, StoredRun, StoredStudy,
    TableFormat,
};
use tailcut_units::{Bytes, Duration, FlowId, Time};

fn flow(number: u32) -> FlowRecord {
    FlowRecord {
        flow: FlowId(number),
        bytes: Bytes(1_000),
        start: Time::ZERO + Duration::from_us(u64::from(number)),
        fct: Some(Duration::from_us(9)),
        payload_sent: Bytes(1_000),
        ..FlowRecord::default()
    }
}

/// Returns a run with three flows and two later flows, the last of which is unfinished.
fn run() -> RunRecord {
    let unfinished = FlowRecord {
        fct: None,
        ..flow(4)
    };
    RunRecord {
        classes: vec!["foreground".to_owned()],
        flows: (0..3).map(flow).collect(),
        load_only: vec![flow(3), unfinished],
        ..RunRecord::new(key("tcp", 1))
    }
}

fn write(dir: &Path, format: TableFormat) -> PathBuf {
    let config = serde_json::json!({});
    let manifest = Manifest::new("0.1.0", Vec::new(), 1, config, [key("tcp", 1)]);
    let output = OutputDir::create(dir, manifest, format).expect("a new directory");
    output.write_run(0, &run()).expect("a planned run");
    output.conclude().expect("a manifest");
    dir.join("runs/0000-tcp-load0.5-seed1")
}

fn read(dir: &Path) -> StoredRun {
    let study = StoredStudy::open(dir).expect("a study");
    let mut runs = study.runs();
    runs.next().expect("a run").expect("its files")
}

#[test]
fn later_flows_are_marked_in_the_table_of_flows_and_read_apart_from_the_others() {
    for format in TableFormat::ALL {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), format);
        assert_eq!(read(dir.path()).flows().expect("flows"), run().flows);
        let record = read(dir.path()).record().expect("a record");
        assert_eq!(record.flows, run().flows);
        assert_eq!(record.load_only, run().load_only);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let files = write(dir.path(), TableFormat::Csv);
    let text = fs::read_to_string(files.join("flows.csv")).expect("a table");
    let marks = text.lines().map(|line| line.split(',').nth(14));
    let marks: Vec<&str> = marks.flatten().collect();
    assert_eq!(marks, ["load_only", "0", "0", "0", "1", "1"]);
}

#[test]
fn later_flows_change_neither_the_hash_nor_a_figure() {
    let without = RunRecord {
        load_only: Vec::new(),
        ..run()
    };
    assert_eq!(run().hash(), without.hash());
    let (mut summary, without) = (run().summary(), without.summary());
    assert_eq!((summary.load_only, without.load_only), (Some(2), Some(0)));
    summary.load_only = without.load_only;
    assert_eq!(summary, without);
}

#[test]
fn a_table_of_a_version_without_marks_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = write(dir.path(), TableFormat::Csv);
    let table = files.join("flows.csv");
    let text = fs::read_to_string(&table).expect("a table");
    let counted = text.lines().filter(|line| !line.contains(",1,0.5,"));
    let earlier: Vec<String> = counted
        .map(|line| {
            let mut fields: Vec<&str> = line.split(',').collect();
            fields.remove(14);
            fields.join(",") + "\n"
        })
        .collect();
    let earlier = earlier.concat();
    fs::write(&table, &earlier).expect("a table");
    let mut hash = Fingerprint::new();
    hash.write_str(&earlier).expect("a hash");
    let file = files.join("run.json");
    let of_run = fs::read_to_string(&file).expect("a run");
    let mut of_run: serde_json::Value = serde_json::from_str(&of_run).expect("JSON");
    of_run["tables"][0]["xxh3_128"] = hash.digits().into();
    let keys = of_run.as_object_mut().expect("an object");
    keys.remove("load_only").expect("a key of this version");
    fs::write(&file, of_run.to_string()).expect("a run");

    let record = read(dir.path()).record().expect("a record");
    assert_eq!(record.flows, run().flows);
    assert_eq!(record.load_only, []);
}

#[test]
fn a_log_of_flows_may_begin_with_a_high_number() {
    let mut log = FlowLog::from_number(7);
    assert_eq!((log.numbers(), log.get(FlowId(3))), (7, None));
    for number in [8, 7] {
        log.begin(flow(number));
    }
    log.end(FlowId(8));
    assert_eq!(log.numbers(), 9);
    assert_eq!(log.iter().collect::<Vec<_>>(), [flow(7), flow(8)]);
}
