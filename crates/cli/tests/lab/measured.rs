//! Tests of studies on real hosts. The measured times depend on the machine, so the tests check counters instead.

use crate::harness::{books_hold, run, summaries, text};
use std::fs;
use std::process::Command;
use tailcut_record::StoredStudy;

const SCENARIO: &str = r#"
designs = ["tcp", "cubic@conga"]
loads = 0.3
flows = 40
seeds = 1
sample_every = "5ms"
measure_waits = true
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

#[test]
fn a_study_runs_on_real_hosts_and_beside_the_simulator() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = summaries(directory.path(), SCENARIO, "both");
    let designs: Vec<&str> = runs
        .iter()
        .filter_map(|run| run["design"].as_str())
        .collect();
    assert_eq!(
        designs,
        ["tcp", "tcp (lab)", "cubic@conga", "cubic@conga (lab)"]
    );
    for pair in runs.chunks(2) {
        let [simulated, measured] = pair else {
            panic!("an even number");
        };
        assert!(simulated["wall"].is_null() && measured["wall"]["packets"].as_u64() > Some(0));
        // On both clocks, the same flows with the same sizes must be transferred.
        for same in ["flows", "application_bytes"] {
            assert_eq!(simulated[same], measured[same], "{same}");
        }
        assert_eq!(measured["unfinished"], 0);
        assert!(measured["payload_sent_bytes"].as_u64() >= measured["application_bytes"].as_u64());
        books_hold(measured);
        assert!(measured["switch_waits"]["all"]["packets"].as_u64() > Some(0));
        assert!(measured["handshake"].is_null() || measured["fct"].is_object());
    }
    let report = fs::read_to_string(directory.path().join("out/report.html")).expect("a report");
    assert!(report.contains("Runs on real hosts"));
}

#[test]
fn the_command_of_the_readme_prints_one_table_for_the_simulator_and_the_hosts() {
    let readme = include_str!("../../../../README.md");
    let mut lines = readme.lines();
    let door = lines.find(|line| line.starts_with("tailcut run lab-two-racks"));
    // The whole scenario takes minutes. One seed and less time show the same table.
    let shorter = [
        "--seeds",
        "1",
        "--set",
        "duration=500ms",
        "--set",
        "designs=cubic,dctcp",
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_tailcut"))
        .args(door.expect("a command").split_whitespace().skip(1))
        .args(shorter)
        .current_dir(directory.path())
        .output()
        .expect("it runs");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}{}", text(&output.stderr));
    for design in ["cubic ", "cubic (lab)", "dctcp ", "dctcp (lab)"] {
        let has_row = printed.lines().any(|line| line.starts_with(design));
        assert!(has_row, "{design}: {printed}");
    }
}

#[test]
fn flows_that_are_pinned_to_a_path_keep_to_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let designs = "designs=cubic,repflow+cubic";
    let more = [
        "--clock",
        "wall",
        "--set",
        designs,
        "--set",
        "workload.path=1",
    ];
    let output = run(directory.path(), SCENARIO, &out, &more).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let study = StoredStudy::open(&out).expect("a study");
    for stored in study.runs() {
        let stored = stored.expect("tables");
        let ports = stored.ports().expect("a table");
        let flows = stored.record().expect("tables").flows;
        assert!(flows.iter().all(|flow| flow.fct.is_some()), "{flows:?}");
        let through = |spine: &str| {
            let ports = ports.iter().filter(|port| port.name.contains(spine));
            ports.map(|port| port.packets).sum::<u64>()
        };
        // Switches 2 and 3 are the spines.
        assert!(through("s3") > 0, "s3 carries the flows between the racks");
        assert_eq!(through("s2"), 0, "s2 carries no data and no ACKs");
    }
}

#[test]
fn no_more_than_the_largest_window_is_on_its_way() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let settings = [
        "designs=cubic",
        "flows=2",
        "tcp.max_cwnd=64KB",
        "topology.delay=10ms",
        "workload.sizes=fixed:1MB",
    ];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let more: Vec<&str> = ["--clock", "wall"].into_iter().chain(settings).collect();
    let output = run(directory.path(), SCENARIO, &out, &more).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let study = StoredStudy::open(&out).expect("a study");
    let stored = study.runs().next().expect("a run").expect("tables");
    for flow in stored.record().expect("tables").flows {
        // Each direction of the path has at least two links. Without the limit, 1 MB would take 0.4 s.
        let windows = flow.bytes.0 as f64 / 64_000.0;
        let least = (windows - 1.0) * 0.04;
        let took = flow.fct.expect("it has ended").as_secs_f64();
        assert!(took > least && least > 0.5, "{took} s, of {least}");
    }
}

#[test]
fn a_capture_has_every_frame_of_a_real_host_with_its_kernels_own_headers() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let more = ["--clock", "wall", "--set", "designs=tcp", "--capture", "h0"];
    let output = run(directory.path(), SCENARIO, &out, &more)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let files = fs::read_dir(out.join("captures")).expect("captures");
    let file = files.flatten().next().expect("a capture").path();
    let fields = [
        "frame.packet_flags_direction",
        "ip.src",
        "tcp.flags.reset",
        "tcp.options.timestamp.tsval",
    ];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let program = std::env::var("TSHARK").unwrap_or("tshark".to_owned());
    let mut tshark = Command::new(program);
    tshark
        .arg("-r")
        .arg(file)
        .args(["-T", "fields"])
        .args(fields);
    let shown = text(&tshark.output().expect("missing: tshark").stdout);
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let of_host = |row: &&Vec<&str>| row[0].ends_with('2');
    let sent = rows.iter().filter(of_host).count() as u64;
    assert!(
        rows.iter().filter(of_host).all(|row| row[1] == "10.0.0.1"),
        "{shown}"
    );
    // Linux adds a timestamp to each segment except resets. Simulated segments have no timestamps.
    let tcp = || rows.iter().filter(|row| matches!(row[2], "0" | "False"));
    assert!(
        tcp().count() > 20 && tcp().all(|row| !row[3].is_empty()),
        "{shown}"
    );
    let study = StoredStudy::open(&out).expect("a study");
    let stored = study.runs().next().expect("a run").expect("tables");
    let ports = stored.ports().expect("a table");
    let uplink = ports
        .iter()
        .find(|port| port.port == 0)
        .expect("its uplink");
    assert_eq!(sent, uplink.packets, "{}", uplink.name);
}

#[test]
fn a_disk_that_fills_during_a_capture_is_told_and_the_run_is_not_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let small = directory.path().join("small");
    fs::create_dir(&small).expect("a directory");
    // The directory is a small disk. The disk disappears together with the command's mount namespace.
    let mount = "mount -t tmpfs -o size=200k small \"$0\" || exit 9\n\"$@\"\ncode=$?\n\
                 find \"$0\" -name '*.partial'\nexit $code";
    let more = [
        "--clock",
        "wall",
        "--set",
        "designs=tcp",
        "--capture",
        "all",
    ];
    let run = run(directory.path(), SCENARIO, &small.join("out"), &more);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", mount]).arg(&small);
    command.arg(run.get_program()).args(run.get_args());
    let output = command.output().expect("missing: unshare (util-linux)");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(text(&output.stdout), "", "no partial output is left");
    assert!(said.contains("cannot write the capture of tcp"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}
