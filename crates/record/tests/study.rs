//! Tests of studies that are written, interrupted, damaged and read.

mod keys;

use keys::key;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tailcut_record::{
    Error, FlowRecord, LinkFailure, LinkSample, LinkTrouble, Manifest, NodeKind, NodeRecord,
    OutputDir, PacketCount, PortTotals, QueueSample, RunRecord, RunState, Sampling, SessionEnd,
    SessionOperation, SessionRecord, StoredStudy, Straggling, TableFormat, TopologyLink,
};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Rate, Time};

/// Returns flow `number`, with a different value in every column. Every third flow is unfinished.
fn flow(number: u32) -> FlowRecord {
    FlowRecord {
        flow: FlowId(number),
        src: HostId(number % 7),
        dst: HostId(number % 5 + 7),
        bytes: Bytes(u64::from(number) * 1_460 + 1),
        start: Time::from_ns(u64::from(number) * 1_000),
        fct: (number % 3 != 2).then(|| Duration::from_ns(50_000 + u64::from(number))),
        ideal_fct: Duration::from_ns(40_000 + u64::from(number)),
        handshake: number.is_multiple_of(2).then(|| Duration::from_us(9)),
        payload_sent: Bytes(u64::from(number) * 2_920 + 2),
        retransmissions: number % 4,
        timeouts: number % 6,
        copies: number % 2,
        class: (number % 2) as u8,
    }
}

/// Returns a receiver of session `number / 3`, with a different value in every column.
fn session(number: u32) -> SessionRecord {
    SessionRecord {
        session: number / 3,
        operation: [SessionOperation::Write, SessionOperation::Read][number as usize / 3],
        client: HostId(number),
        receiver: HostId(number + 10),
        bytes: Bytes(1_000_000 + u64::from(number)),
        start: Time::from_ns(u64::from(number) * 1_000),
        completion: (number != 4).then(|| Duration::from_ns(8_000_000)),
        symbols: 700 + number,
        in_vain: number,
        late: 2 * number,
        straggling: [Straggling::No, Straggling::Reported, Straggling::LeftOut]
            [number as usize % 3],
        end: [SessionEnd::Whole, SessionEnd::Open, SessionEnd::Failed][number as usize % 3],
        missing: (number == 2).then_some(Bytes(400)),
        class: 1,
    }
}

fn run(design: &str, flows: u32) -> RunRecord {
    let mut run = RunRecord::new(key(design, 1));
    run.classes = vec!["background".to_owned(), "incast, 11:1".to_owned()];
    run.flows = (0..flows).map(flow).collect();
    run.sessions = (0..6).map(session).collect();
    run.ports = (0..3)
        .map(|port| PortTotals {
            port,
            name: format!("s0>s{}", 2 + port),
            packets: 10 + u64::from(port),
            bytes: Bytes(15_000),
            dropped: 1,
            marked: 2,
            max_backlog: Bytes(150_000),
        })
        .collect();
    run.nodes = (0..5)
        .map(|number| NodeRecord {
            kind: NodeKind::Switch,
            number,
            name: match number {
                0 | 1 => format!("leaf[{number}]"),
                _ => format!("spine[{}]", number - 2),
            },
            label: format!("s{number}"),
            tier: 1 + u8::from(number > 1),
        })
        .collect();
    run.topology = (0..3)
        .map(|port| TopologyLink {
            port,
            from: "leaf[0]".to_owned(),
            to: format!("spine[{port}]"),
            from_tier: 1,
            to_tier: 2,
            rate: Rate::from_gbps(10),
            delay: Duration::from_ns(500),
        })
        .collect();
    run.failures = vec![
        LinkFailure {
            link: 0,
            trouble: LinkTrouble::Down,
            from: Time::ZERO,
            until: None,
        },
        LinkFailure {
            link: 2,
            trouble: LinkTrouble::Slow(Rate::from_mbps(500)),
            from: Time::from_ns(100),
            until: Some(Time::from_ns(300)),
        },
        LinkFailure {
            link: 1,
            trouble: LinkTrouble::Lossy(10_000_000),
            from: Time::ZERO,
            until: None,
        },
    ];
    run.sampling = Some(Sampling {
        every_ns: 100,
        instants: 5,
    });
    run.queues = (0..5)
        .map(|i| QueueSample {
            time: Time::from_ns(i * 100),
            port: 1,
            backlog: Bytes(i * 1_500),
            packets: i as u32,
        })
        .collect();
    run.links = (0..5)
        .map(|i| LinkSample {
            time: Time::from_ns(i * 100),
            link: 2,
            bytes: Bytes(i * 700),
            utilisation: i as f64 / 7.0,
        })
        .collect();
    run.totals.packet_hops = 1_234;
    run.totals.sent.add(1_500);
    run.totals
        .drops
        .0
        .entry("tail".to_owned())
        .or_default()
        .add(1_500);
    run.cost.cpu_seconds = Some(f64::NAN);
    run
}

fn manifest(designs: &[&str]) -> Manifest {
    Manifest::new(
        "0.1.0",
        vec!["tailcut".to_owned(), "compare".to_owned()],
        1,
        serde_json::json!({"load": [0.5]}),
        designs.iter().map(|design| key(design, 1)),
    )
}

fn write(dir: &Path, format: TableFormat, runs: &[RunRecord]) -> OutputDir {
    let designs: Vec<&str> = runs.iter().map(|run| run.key.design.as_str()).collect();
    let output = OutputDir::create(dir, manifest(&designs), format).expect("a new directory");
    for (index, run) in runs.iter().enumerate() {
        output.write_run(index, run).expect("a planned run");
    }
    output.conclude().expect("a manifest");
    output
}

fn run_dir(dir: &Path) -> PathBuf {
    dir.join("runs/0000-repflow+dctcp-load0.5-seed1")
}

#[test]
fn what_is_written_is_read_back_in_both_formats() {
    for format in TableFormat::ALL {
        let dir = tempfile::tempdir().unwrap();
        let written = run("repflow+dctcp", 1_000);
        write(dir.path(), format, std::slice::from_ref(&written));

        let study = StoredStudy::open(dir.path()).unwrap();
        let mut read: Vec<_> = study.runs().collect::<Result<_, _>>().unwrap();
        assert_eq!(read.len(), 1);
        let read = &mut read[0];
        assert_eq!(read.flows().unwrap(), written.flows);
        assert_eq!(read.classes, written.classes);
        assert_eq!(read.sessions().unwrap(), written.sessions);
        assert_eq!(read.ports().unwrap(), written.ports);
        assert_eq!(read.topology().unwrap(), written.topology);
        assert_eq!(read.failures().unwrap(), written.failures);
        assert_eq!(read.queues().unwrap(), written.queues);
        assert_eq!(read.links().unwrap(), written.links);
        let mut summary = written.summary();
        assert!(summary.cpu_seconds.is_some_and(f64::is_nan));
        summary.cpu_seconds = None;
        assert_eq!(read.summary, summary, "NaN is written as null");
    }
}

#[test]
fn a_table_longer_than_a_piece_of_it_is_read_back_whole() {
    // The tables have the rows of one full piece, or one row more.
    for (format, flows) in [
        (TableFormat::Parquet, 131_072),
        (TableFormat::Parquet, 131_073),
        (TableFormat::Csv, 131_073),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let written = run("repflow+dctcp", flows);
        write(dir.path(), format, std::slice::from_ref(&written));
        let study = StoredStudy::open(dir.path()).unwrap();
        let mut read = study.runs().next().unwrap().unwrap();
        let found = read.flows().unwrap();
        assert!(found == written.flows, "{flows} flows, {format:?}");
    }
}

#[test]
fn a_run_without_flows_is_a_result_too() {
    for format in TableFormat::ALL {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), format, &[RunRecord::new(key("tcp", 1))]);
        let study = StoredStudy::open(dir.path()).unwrap();
        let mut read = study.runs().next().unwrap().unwrap();
        assert_eq!(read.flows().unwrap(), []);
        assert_eq!(read.queues().unwrap(), []);
        assert_eq!(read.summary.fct.all.p99_us, None);
    }
}

#[test]
fn files_keep_whole_nanoseconds_rounded_down() {
    let dir = tempfile::tempdir().unwrap();
    let mut written = run("tcp", 1);
    written.flows[0].fct = Some(Duration::from_ps(1_999));
    write(dir.path(), TableFormat::Parquet, &[written]);
    let study = StoredStudy::open(dir.path()).unwrap();
    let flows = study.runs().next().unwrap().unwrap().flows().unwrap();
    assert_eq!(flows[0].fct, Some(Duration::from_ns(1)));
}

#[test]
fn csv_has_the_documented_header_and_leaves_null_empty() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), TableFormat::Csv, &[run("repflow+dctcp", 3)]);
    let text = fs::read_to_string(run_dir(dir.path()).join("flows.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "flow,design,src,dst,bytes,start_ns,fct_ns,ideal_fct_ns,retransmissions,timeouts,copies,\
         class,handshake_ns,payload_sent_bytes,load_only,load,seed"
    );
    assert_eq!(
        lines[3], "2,repflow+dctcp,2,9,2921,2000,,40002,2,2,0,background,9000,5842,0,0.5,1",
        "flow 2 did not finish"
    );
}

#[test]
fn ports_and_failures_tell_the_names_of_their_links_behind_all_else() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), TableFormat::Csv, &[run("repflow+dctcp", 1)]);
    let of = |table: &str| {
        let text = fs::read_to_string(run_dir(dir.path()).join(table)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let ports = of("ports.csv");
    assert!(ports[0].ends_with(",max_backlog_bytes,port.name,design,load,seed"));
    assert!(ports[1].starts_with("0,s0>s2,") && ports[1].contains(",leaf[0]>spine[0],"));
    let failures = of("failures.csv");
    assert!(failures[0].ends_with(",until_ns,link.name,design,load,seed"));
    assert!(failures[2].contains(",leaf[0]>spine[2],"));
    let nodes = of("nodes.csv");
    assert_eq!(nodes[0], "kind,number,name,label,tier,design,load,seed");
    assert!(nodes[3].starts_with("switch,2,spine[0],s2,2,"));
}

#[test]
fn parallel_links_have_names_of_their_own() {
    let mut run = run("repflow+dctcp", 1);
    run.topology[2].to = "spine[0]".to_owned();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), TableFormat::Csv, &[run]);
    let ports = fs::read_to_string(run_dir(dir.path()).join("ports.csv")).unwrap();
    let names = [
        "leaf[0]>spine[0]#0",
        "leaf[0]>spine[1]",
        "leaf[0]>spine[0]#1",
    ];
    for (line, name) in ports.lines().skip(1).zip(names) {
        assert!(line.contains(&format!(",{name},")), "{line}");
    }
}

#[test]
fn the_summary_has_the_keys_that_scripts_rely_on() {
    let summary = serde_json::to_value(run("tcp", 100).summary()).unwrap();
    for key in [
        "design",
        "topology",
        "workload",
        "load",
        "seed",
        "flows",
        "unfinished",
        "packet_hops",
        "events",
        "cpu_seconds",
        "record_hash",
    ] {
        assert!(summary.get(key).is_some(), "{key} is missing");
    }
    for group in ["mice", "elephants", "all"] {
        for figure in ["n", "mean_us", "p50_us", "p99_us", "p999_us"] {
            assert!(
                summary["fct"][group].get(figure).is_some(),
                "{group}.{figure}"
            );
        }
    }
    assert_eq!(summary["flows"], 100);
    assert_eq!(summary["unfinished"], 33);
    assert_eq!(
        summary["fct"]["elephants"]["p99_us"],
        serde_json::Value::Null
    );
    assert_eq!(summary["cpu_seconds"], serde_json::Value::Null);
}

#[test]
fn an_interrupted_study_keeps_what_it_finished_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let output = OutputDir::create(
        dir.path(),
        manifest(&["tcp", "dctcp", "cubic"]),
        TableFormat::Parquet,
    )
    .unwrap();
    output.write_run(1, &run("dctcp", 10)).unwrap();
    assert_eq!(output.conclude().unwrap(), (1, 3));

    let study = StoredStudy::open(dir.path()).unwrap();
    let states: Vec<RunState> = study.manifest.runs.iter().map(|run| run.state).collect();
    let stopped = RunState::Interrupted;
    assert_eq!(states, [stopped, RunState::Finished, stopped]);
    assert_eq!(study.runs().count(), 1);
}

#[test]
fn a_killed_program_leaves_a_readable_study() {
    let dir = tempfile::tempdir().unwrap();
    let output = OutputDir::create(
        dir.path(),
        manifest(&["tcp", "dctcp"]),
        TableFormat::Parquet,
    )
    .unwrap();
    output.write_run(0, &run("tcp", 10)).unwrap();
    drop(output);
    // A kill in the middle of the second run may leave this directory.
    let half = dir.path().join("runs/0001-dctcp-load0.5-seed1.partial");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("flows.parquet"), b"PAR1 and then nothing").unwrap();
    fs::write(half.join("run.json.partial"), b"{").unwrap();

    let study = StoredStudy::open(dir.path()).unwrap();
    assert_eq!(study.manifest.count(RunState::Planned), 1);
    let runs: Vec<_> = study.runs().collect::<Result<_, _>>().unwrap();
    assert_eq!(runs.len(), 1);
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "text").unwrap();
    let error = OutputDir::create(dir.path(), manifest(&["tcp"]), TableFormat::Parquet)
        .expect_err("not a study");
    assert!(matches!(error, Error::NotAStudy { .. }));
    assert!(error.to_string().contains("left alone"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_place_that_cannot_be_written_is_named_with_the_cause() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = OutputDir::create(file.join("study"), manifest(&["tcp"]), TableFormat::Parquet)
        .expect_err("a file is no directory");
    let text = error.to_string();
    assert!(text.starts_with("cannot "), "{text}");
    assert!(text.contains("file/study"), "{text}");
}

#[test]
fn a_write_that_fails_fails_its_run_and_keeps_the_earlier_ones() {
    let dir = tempfile::tempdir().unwrap();
    let output = OutputDir::create(
        dir.path(),
        manifest(&["tcp", "dctcp"]),
        TableFormat::Parquet,
    )
    .unwrap();
    output.write_run(0, &run("tcp", 10)).unwrap();
    // A directory at the path of the file makes the rename fail.
    let blocked = dir
        .path()
        .join("runs/0001-dctcp-load0.5-seed1.partial/flows.parquet/x");
    fs::create_dir_all(&blocked).unwrap();
    let error = output.write_run(1, &run("dctcp", 10)).expect_err("blocked");
    assert!(error.to_string().contains("flows.parquet"), "{error}");
    assert_eq!(output.conclude().unwrap(), (1, 2));
    let study = StoredStudy::open(dir.path()).unwrap();
    assert_eq!(study.runs().count(), 1);
}

#[test]
fn a_run_outside_the_plan_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = OutputDir::create(dir.path(), manifest(&["tcp"]), TableFormat::Parquet).unwrap();
    let error = output.write_run(1, &run("tcp", 1)).expect_err("unplanned");
    assert_eq!(
        error.to_string(),
        "run 1 is not planned; the manifest plans 1"
    );
}

#[test]
fn another_schema_is_refused_by_number() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), TableFormat::Parquet, &[run("tcp", 1)]);
    let path = dir.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"schema\": 1", "\"schema\": 99")).unwrap();
    let error = StoredStudy::open(dir.path()).expect_err("schema 99");
    assert!(
        error
            .to_string()
            .ends_with("schema is 99; this version reads 1"),
        "{error}"
    );
}

#[test]
fn a_manifest_cannot_lead_out_of_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), TableFormat::Parquet, &[run("repflow+dctcp", 1)]);
    let path = dir.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("0000-repflow+dctcp-load0.5-seed1", "../../etc"),
    )
    .unwrap();
    let study = StoredStudy::open(dir.path()).unwrap();
    let error = study.runs().next().unwrap().expect_err("a path");
    assert!(error.to_string().contains("plain file name"), "{error}");
}

#[test]
fn threads_can_write_runs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let designs = ["tcp", "dctcp", "cubic", "repflow"];
    let output = OutputDir::create(dir.path(), manifest(&designs), TableFormat::Parquet).unwrap();
    std::thread::scope(|scope| {
        for (index, design) in designs.into_iter().enumerate() {
            let output = &output;
            scope.spawn(move || output.write_run(index, &run(design, 50)).unwrap());
        }
    });
    let study = StoredStudy::open(dir.path()).unwrap();
    let read: Vec<String> = study
        .runs()
        .map(|run| run.unwrap().summary.key.design)
        .collect();
    assert_eq!(read, designs);
}

#[test]
fn the_hash_ignores_order_cost_and_events_and_nothing_else() {
    let first = run("tcp", 100);
    let mut same = first.clone();
    same.flows.reverse();
    same.totals.events = 99;
    same.cost.wall_seconds = Some(3.0);
    same.key.seed = 77;
    assert_eq!(first.hash(), same.hash());

    let changes: [fn(&mut RunRecord); 9] = [
        |run| run.flows[7].fct = Some(Duration::from_ps(50_007_001)),
        |run| run.flows[7].fct = None,
        |run| run.flows[7].copies += 1,
        |run| run.flows[7].class ^= 1,
        |run| run.flows[7].handshake = Some(Duration::ZERO),
        |run| {
            run.flows.pop();
        },
        |run| run.totals.marks += 1,
        |run| run.totals.remaining.packets += 1,
        |run| {
            let count = PacketCount::default();
            run.totals.drops.0.insert("no-route".to_owned(), count);
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut changed = first.clone();
        change(&mut changed);
        assert_ne!(first.hash(), changed.hash(), "change {index}");
    }
}

#[test]
fn the_hash_is_the_same_on_every_platform_and_version() {
    assert_eq!(run("tcp", 3).hash(), "a2c5d5522ba627d87a336630e14037a7");
}

/// Reads all data of a study that may be damaged. The test accepts an error, but not a panic.
fn read_all(dir: &Path) -> Result<(), Error> {
    let study = StoredStudy::open(dir)?;
    for run in study.runs() {
        let mut run = run?;
        run.flows()?;
        run.ports()?;
        run.topology()?;
        run.failures()?;
        run.queues()?;
        run.links()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_an_error_and_never_a_panic(
        file in 0..8usize,
        csv in any::<bool>(),
        cut in proptest::option::of(0.0..1.0f64),
        flips in proptest::collection::vec((0.0..1.0f64, 1..=255u8), 1..8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let format = if csv { TableFormat::Csv } else { TableFormat::Parquet };
        write(dir.path(), format, &[run("repflow+dctcp", 60)]);
        let runs = run_dir(dir.path());
        let extension = format.extension();
        let path = match file {
            0 => dir.path().join("manifest.json"),
            1 => runs.join("run.json"),
            2 => runs.join(format!("flows.{extension}")),
            3 => runs.join(format!("ports.{extension}")),
            4 => runs.join(format!("queues.{extension}")),
            5 => runs.join(format!("topology.{extension}")),
            6 => runs.join(format!("failures.{extension}")),
            _ => runs.join(format!("links.{extension}")),
        };
        let mut bytes = fs::read(&path).unwrap();
        let whole = bytes.clone();
        for (place, mask) in flips {
            let index = (place * bytes.len() as f64) as usize;
            bytes[index] ^= mask;
        }
        if let Some(cut) = cut {
            bytes.truncate((cut * bytes.len() as f64) as usize);
        }
        fs::write(&path, &bytes).unwrap();
        let read = read_all(dir.path());
        // Two flips of the same byte may cancel out. A changed JSON file may still be valid.
        // A changed table is never valid, because its hash differs.
        if file >= 2 && bytes != whole {
            prop_assert!(matches!(read, Err(Error::Damaged { .. })), "{read:?}");
        }
    }
}
