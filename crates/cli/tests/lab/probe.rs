//! Tests of `tailcut probe` over the lab's routers, and on the loopback interface.

use crate::harness::{Lab, TAILCUT, text};
use crate::user::Nobody;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Server program that accepts connections on port 7000.
const SERVER: &str = "import socket\ns = socket.create_server(('', 7000), backlog=4096)\n\
                      print('ready')\n\
                      while True:\n  try: s.accept()[0].close()\n  except OSError: pass";

/// Probes the path from the first host to host `last`, and returns the results.
fn probe(topology: &str, last: &str, more: &[&str]) -> Value {
    let lab = Lab::up(&["--routed", "--topology", topology, "--design", "cubic"]);
    let _server = lab.python(last, SERVER);
    let target = format!("{last}:7000");
    let command = [TAILCUT, "probe", &target, "--json", "--volleys", "65"];
    let output = lab.exec("h0", &[&command, more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let routers = lab.status()["routers"].clone();
    let mut found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    found["routers"] = routers;
    found
}

fn next_hops(found: &Value) -> Vec<Vec<usize>> {
    let hops = found["paths"]["hops"].as_array().expect("hops").iter();
    let hops = hops.map(|hop| {
        let nodes = hop["nodes"].as_array().expect("nodes").iter();
        nodes
            .map(|node| node["next"].as_array().map_or(0, Vec::len))
            .collect()
    });
    hops.collect()
}

#[test]
fn one_stage_of_spines_is_found_and_so_is_the_spine_of_every_port() {
    let found = probe(
        "leaf-spine:hosts=1,leaves=2,spines=4,rate=100Mbps",
        "h1",
        &[],
    );
    assert_eq!(found["paths"]["doubts"], serde_json::json!([]));
    assert_eq!(next_hops(&found), [vec![1], vec![4], vec![1; 4], vec![1]]);
    assert_eq!(found["paths"]["paths"], 4);
    assert_eq!(found["by_path"].as_array().map(Vec::len), Some(4));
    let routers = found["routers"].as_array().expect("routers");
    let address = |name: &str| {
        let router = routers.iter().find(|router| router["name"] == name);
        router.expect("a router")["address"].as_str().expect("text")
    };
    for path in found["by_path"].as_array().expect("paths") {
        let way = path["routers"].as_str().expect("text");
        let ends = [address("leaf[0]"), address("leaf[1]")];
        assert!(way.starts_with(ends[0]) && way.ends_with(ends[1]), "{way}");
    }
    assert_eq!(found["answered"], 65 * 48);
    assert!(found["prediction"]["p99"]["change"]["low"].is_f64());
}

#[test]
fn two_stages_of_a_fat_tree_are_found() {
    let found = probe("fat-tree:k=4,rate=100Mbps", "h15", &["--ports", "8"]);
    assert_eq!(found["paths"]["doubts"], serde_json::json!([]));
    let expected = [
        vec![1],
        vec![2],
        vec![2, 2],
        vec![1; 4],
        vec![1, 1],
        vec![1],
    ];
    assert_eq!(next_hops(&found), expected);
    assert_eq!(found["paths"]["paths"], 4);
}

#[test]
fn one_path_is_told_as_one() {
    let found = probe(
        "leaf-spine:hosts=1,leaves=2,spines=1,rate=100Mbps",
        "h1",
        &[],
    );
    assert_eq!(found["paths"]["paths"], 1);
    assert_eq!(found["paths"]["doubts"], serde_json::json!([]));
    // In one of fifty runs, the handshake times of a single path's ports differ by chance.
    // A verdict that differs by chance is not checked.
    if found["groups"]["p"].as_f64() > Some(0.02) {
        assert_eq!(found["verdict"]["sentence"], "one path: do not deploy");
    }
}

#[test]
fn routers_that_answer_seldom_leave_a_lower_bound_or_are_asked_slowly() {
    let topology = "leaf-spine:hosts=1,leaves=2,spines=2,rate=100Mbps";
    let lab = Lab::up(&[
        "--routed",
        "--icmp-rate",
        "1",
        "--topology",
        topology,
        "--design",
        "tcp",
    ]);
    let _server = lab.python("h1", SERVER);
    // The number of ports is larger than the number of replies that the token bucket allows.
    let command = [
        TAILCUT,
        "probe",
        "h1:7000",
        "--json",
        "--volleys",
        "1",
        "--ports",
        "90",
    ];
    let output = lab.exec("h0", &command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let doubts = found["paths"]["doubts"].as_array().expect("doubts");
    // A walk past slow routers ends early, so it may end before a question stays unanswered.
    let is_lower_bound = |doubt: &Value| {
        let kind = doubt["kind"].as_str();
        kind.is_some_and(|kind| ["some-unanswered", "too-slow"].contains(&kind))
    };
    assert!(doubts.iter().any(is_lower_bound), "{doubts:?}");
    assert!(
        found["paths"]["paths"].as_u64() <= Some(2),
        "{}",
        found["paths"]
    );
}

fn on_this_machine(arguments: &[&str]) -> Output {
    let mut command = Command::new(TAILCUT);
    command.arg("probe").args(arguments);
    command.output().expect("it runs")
}

#[test]
fn what_cannot_be_measured_is_told_by_its_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let cases: [(&[&str], &str); 8] = [
        (
            &[&closed],
            "refuses connections; allowed: a port where a server listens",
        ),
        (
            &["web1"],
            "HOST:PORT: found 'web1'; allowed: a name or an address and a port",
        ),
        (&["web1:0"], "HOST:PORT: found 'web1:0'"),
        (
            &["no-such-name.invalid:80"],
            "cannot find an address of 'no-such-name.invalid:80'",
        ),
        (
            &[&closed, "--rate", "641"],
            "--rate: found 641; allowed: 640 SYNs a second",
        ),
        (&[&closed, "--rate", "none"], "1 to 640 a second"),
        (&[&closed, "--every", "5"], "h, d) from 1s to 31d"),
        (&[&closed, "--every", "5m"], "--for"),
    ];
    for (arguments, expected) in cases {
        let output = on_this_machine(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn an_ordinary_user_gets_a_page_a_report_and_a_table() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let nobody = Nobody::new(TAILCUT);
    let out = TempDir::new_in("/tmp").expect("a directory");
    let dir = out.path().join("probe");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(out.path(), open).expect("ours");
    let mut command = nobody.command();
    command
        .args([
            "probe",
            &target,
            "--ports",
            "16",
            "--volleys",
            "70",
            "--out",
        ])
        .arg(&dir);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(
        page.lines().count() < 40 && page.contains("faster of two (RepSYN)"),
        "{page}"
    );
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a file");
    assert!(read("report.html").contains("Handshakes over time, by path"));
    let json: Value = serde_json::from_str(&read("probe.json")).expect("JSON");
    // Another program may use a port between two volleys. If so, the handshake of the port fails and has no line.
    let count = |of: &str| json[of].as_u64().expect("a count");
    let lines = read("handshakes.csv").lines().count() as u64;
    assert_eq!(lines, 1 + count("answered") + count("unanswered"));
    assert_eq!(lines + count("failed"), 1 + 70 * 16);
    let sentence = json["verdict"]["sentence"].as_str().expect("text");
    assert!(page.starts_with(sentence), "{page}");
    let again = nobody
        .command()
        .args(["probe", &target, "--out"])
        .arg(&dir)
        .output();
    let said = text(&again.expect("it runs").stderr);
    assert!(
        said.contains("allowed: a directory without an earlier probe"),
        "{said}"
    );
}

#[test]
fn an_interrupted_probe_tells_what_it_has_measured() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let out = TempDir::new().expect("a directory");
    let dir = out.path().join("probe");
    let mut command = Command::new(TAILCUT);
    command.args([
        "probe",
        &target,
        "--ports",
        "8",
        "--volleys",
        "65",
        "--every",
        "2s",
        "--for",
        "1h",
    ]);
    command
        .arg("--out")
        .arg(&dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    let table = dir.join("handshakes.csv");
    crate::harness::wait_until("the first round is written", || {
        let lines = std::fs::File::open(&table).map(|file| BufReader::new(file).lines().count());
        lines.is_ok_and(|lines| lines > 65 * 8)
    });
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("Handshakes"),
        "{}",
        text(&output.stdout)
    );
    assert!(dir.join("report.html").exists());
}
