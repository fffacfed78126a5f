//! Tests of `--capture`. tshark reads the captures, and its counts must equal the counts in the tables.

#[path = "../../../wire/tests/common/tshark.rs"]
mod tshark;

use crate::test_dir::{Ended, TestDir};
use std::collections::BTreeMap;
use std::fs;
use tailcut_record::{PortTotals, RunRecord, StoredStudy};

/// Number that represents the severity "Note" in Wireshark.
const NOTE: u32 = 0x0040_0000;

/// Scenario of two racks with a load that overflows queues of 15 KB.
const SCENARIO: &str = r#"
loads = 0.8
flows = 100
seeds = 2
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 3
rate = "1Gbps"
[[workload]]
sizes = "fixed:50KB"
"#;

/// Setting of short queues, for designs that use TCP's queue.
const QUEUE: &str = "queue.limit=15KB";

/// Record of a run, and the capture file of the run.
struct Run {
    record: RunRecord,
    capture: Option<Vec<u8>>,
}

impl Run {
    fn port(&self, name: &str) -> &PortTotals {
        let port = self.record.ports.iter().find(|port| port.name == name);
        port.expect("a port of that name")
    }

    fn file(&self) -> &[u8] {
        self.capture.as_ref().expect("a capture")
    }

    /// Returns the given fields of all frames in the capture.
    fn frames(&self, fields: &[&str]) -> Vec<Vec<String>> {
        tshark::read(self.file(), &["-X", &tshark::dissector()], fields)
    }
}

/// Runs a scenario with additional flags. The results are in the directory `out`.
fn run(test_dir: &TestDir, text: &str, more: &[&str]) -> Ended {
    let path = test_dir.file("s.toml", text);
    let path = path.to_string_lossy();
    let ended = test_dir.run(&[&["run", &path, "--out", "out"], more].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// Returns the runs in the directory `out`, by design and seed.
fn runs(test_dir: &TestDir) -> BTreeMap<(String, u64), Run> {
    let dir = test_dir.path().join("out");
    let study = StoredStudy::open(&dir).expect("a study");
    let captures = study.manifest.runs.iter().map(|run| {
        let file = run.capture.as_ref()?;
        Some(fs::read(dir.join(file)).expect("the capture that the manifest names"))
    });
    let captures: Vec<_> = captures.collect();
    let records = study.runs().map(|run| run?.record());
    let with = records.zip(captures).map(|(record, capture)| {
        let record = record.expect("a finished run");
        let key = (record.key.design.clone(), record.key.seed);
        (key, Run { record, capture })
    });
    with.collect()
}

fn number(cell: &str) -> u64 {
    match cell {
        "" => 0,
        _ => cell.parse().expect("a number"),
    }
}

/// Returns Wireshark's messages with a severity above "Note".
/// Messages about losses, retransmissions and resets are left out, because losses and resets really occurred.
fn remarks(run: &Run) -> Vec<String> {
    let fields = [
        "_ws.expert.severity",
        "_ws.expert.message",
        "tcp.flags.reset",
    ];
    let frames = run.frames(&fields);
    let above = frames.into_iter().filter(|row| {
        let severities = row[0].split(',').map(number);
        severities.max().is_some_and(|most| most > u64::from(NOTE))
    });
    let others = above.filter(|row| {
        let happened = match row[2].as_str() {
            "1" => ["Connection reset"].as_slice(),
            // A tail loss probe may repeat a segment that has arrived. If so, the receiver sends a D-SACK.
            _ => &[
                "retransmission",
                "out-of-order",
                "Previous segment",
                "D-SACK",
            ],
        };
        !happened.iter().any(|word| row[1].contains(word))
    });
    others.map(|row| row[1].clone()).collect()
}

/// Returns the number of payload bytes that the flows of host 0 have sent, according to the table.
fn sent_by_the_host(record: &RunRecord) -> u64 {
    let flows = record.flows.iter().filter(|flow| flow.src.0 == 0);
    flows.map(|flow| flow.payload_sent.0).sum()
}

#[test]
fn tcp_on_a_host_link_is_what_the_flows_table_says() {
    let test_dir = TestDir::new();
    let designs = ["--set", "designs=tcp,dctcp,repflow", "--set", QUEUE];
    run(
        &test_dir,
        SCENARIO,
        &[&designs[..], &["--capture", "h0"]].concat(),
    );
    let runs = runs(&test_dir);
    let captured = runs.iter().filter(|(_, run)| run.capture.is_some());
    let captured: Vec<_> = captured.collect();
    assert_eq!(captured.len(), 3, "the first seed of each");
    for ((design, seed), run) in captured {
        assert_eq!(*seed, 1);
        let frames = run.frames(&[
            "frame.interface_name",
            "frame.packet_flags_direction",
            "ip.src",
            "tcp.len",
            "tcp.flags.syn",
            "tcp.flags.ack",
            "frame.time_delta",
            "ip.dsfield.ecn",
            "tcp.analysis.retransmission",
            "tcp.analysis.out_of_order",
        ]);
        let out = frames.iter().filter(|row| row[1] == "0x00000002");
        let out: Vec<_> = out.collect();
        assert_eq!(out.len() as u64, run.port("h0>s0").packets, "{design}");
        assert_eq!((frames.len() - out.len()) as u64, run.port("s0>h0").packets);
        for row in &frames {
            assert_eq!(row[0], "h0");
            assert_eq!(row[2] == "10.0.0.0", row[1] == "0x00000002");
            assert!(!row[6].starts_with('-'), "time goes on: {row:?}");
        }
        let payload: u64 = out.iter().map(|row| number(&row[3])).sum();
        // The packets with which the host responds to flows of other hosts have no payload.
        assert_eq!(payload, sent_by_the_host(&run.record), "{design}");
        let opened = out.iter().filter(|row| row[4] == "1" && row[5] == "0");
        let of_host = run.record.flows.iter().filter(|flow| flow.src.0 == 0);
        let connections: u32 = of_host.map(|flow| 1 + flow.copies).sum();
        assert!(opened.count() >= connections as usize, "{design}");
        // Wireshark reports a fast retransmission as "out-of-order", so both are counted.
        let again = out
            .iter()
            .filter(|row| !row[8].is_empty() || !row[9].is_empty());
        let of_host = run.record.flows.iter().filter(|flow| flow.src.0 == 0);
        let retransmissions: u32 = of_host.map(|flow| flow.retransmissions).sum();
        assert!(retransmissions > 0, "a scenario with losses");
        let again = again.count() as u32;
        // A connection may repeat its FIN after the row of its flow was written. A FIN has no payload.
        let of_host = run.record.flows.iter().filter(|flow| flow.src.0 == 0);
        let copies: u32 = of_host.map(|flow| flow.copies).sum();
        assert!(
            (retransmissions..=retransmissions + copies).contains(&again),
            "{design}: {again}, {retransmissions}"
        );
        let marked = frames.iter().filter(|row| row[7] == "3").count() as u64;
        assert_eq!(marked > 0, design == "dctcp", "{marked} marks of {design}");
        assert_eq!(remarks(run), [""; 0], "{design}");
    }
}

#[test]
fn datagrams_on_a_host_link_are_dissected_and_sum_up_to_what_the_flows_table_says() {
    let test_dir = TestDir::new();
    let designs = ["--set", "designs=ndp,scdp,pfabric", "--capture", "h0"];
    run(&test_dir, SCENARIO, &designs);
    for ((design, _), run) in runs(&test_dir).iter().filter(|((_, seed), _)| *seed == 1) {
        let fields =
            ["payload", "condition", "kind"].map(|field| format!("tailcut_{design}.{field}"));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let general = ["frame.packet_flags_direction", "frame.len", "frame.cap_len"];
        let frames = run.frames(&[&general[..], &fields].concat());
        let out = frames.iter().filter(|row| row[0] == "0x00000002");
        let out: Vec<_> = out.collect();
        assert_eq!(out.len() as u64, run.port("h0>s0").packets, "{design}");
        assert_eq!((frames.len() - out.len()) as u64, run.port("s0>h0").packets);
        assert!(
            frames.iter().all(|row| !row[5].is_empty()),
            "every frame is one of {design}"
        );
        let payload: u64 = out.iter().map(|row| number(&row[3])).sum();
        assert_eq!(payload, sent_by_the_host(&run.record), "{design}");
        for row in &frames {
            let (length, captured) = (number(&row[1]), number(&row[2]));
            match number(&row[4]) {
                0 => assert_eq!(captured, length.min(128), "{row:?}"),
                // A trimmed packet ends after its header, but the length in its IP header is unchanged.
                _ => assert_eq!(captured, length - number(&row[3]), "{row:?}"),
            }
        }
        let trimmed = frames.iter().filter(|row| number(&row[4]) > 0).count();
        assert_eq!(trimmed > 0, design != "pfabric", "{trimmed} of {design}");
        assert_eq!(remarks(run), [""; 0], "{design}");
    }
}

#[test]
fn a_port_shows_what_it_has_sent_and_dropped_as_the_ports_table_counts_it() {
    // A flag can name a port by the names of its ends or by their numbers.
    for (name, designs) in [
        (
            "leaf[0]>spine[1]",
            ["--set", "designs=tcp,dctcp", "--set", QUEUE],
        ),
        ("s0>s3", ["--set", "designs=ndp", "--seed", "1"]),
        ("s0>s3", ["--set", "designs=pfabric", "--seed", "1"]),
    ] {
        let test_dir = TestDir::new();
        let capture = ["--capture", name, "--seeds", "1"];
        run(&test_dir, SCENARIO, &[&designs[..], &capture].concat());
        for ((design, _), run) in runs(&test_dir) {
            let frames = run.frames(&["frame.interface_name", "frame.comment"]);
            let of = |name: &str| frames.iter().filter(|row| row[0] == name).count() as u64;
            let port = run.port("s0>s3");
            assert_eq!(of("leaf[0]>spine[1]"), port.packets, "{design}");
            assert_eq!(of("leaf[0]>spine[1] dropped"), port.dropped, "{design}");
            assert_eq!(frames.len() as u64, port.packets + port.dropped);
            assert_eq!(port.dropped > 0, design != "ndp", "{design}");
            for row in frames
                .iter()
                .filter(|row| row[0] == "leaf[0]>spine[1] dropped")
            {
                assert_eq!(row[1], "dropped: queue-full");
            }
            let trimmed = frames.iter().filter(|row| row[1] == "trimmed").count();
            assert_eq!(trimmed > 0, design == "ndp", "{design}");
        }
    }
}

#[test]
fn copies_of_requests_are_connections_or_messages_that_tshark_sees() {
    let test_dir = TestDir::new();
    let text = r#"
        designs = ["das+dctcp", "rans+dctcp", "das+ndp"]
        loads = 0.4
        flows = 40
        [topology]
        kind = "single-switch"
        hosts = 8
        rate = "1Gbps"
        [[workload]]
        kind = "requests"
        sizes = "fixed:100KB"
        clients = 2
        servers = 6
    "#;
    // Hosts with higher numbers than the servers are clients.
    run(&test_dir, text, &["--capture", "h6"]);
    for ((design, _), run) in runs(&test_dir) {
        let asked = run
            .record
            .requests
            .iter()
            .filter(|request| request.client.0 == 6);
        let copies: u32 = asked.map(|request| request.copies).sum();
        assert!(copies > 0);
        assert_eq!(remarks(&run), [""; 0], "{design}");
        let seen = if design.ends_with("dctcp") {
            let flags = ["tcp.flags.syn", "tcp.flags.ack"];
            let rows =
                run.frames(&[&["tcp.srcport", "tcp.dstport", "ip.src"][..], &flags].concat());
            let opened = rows.iter().filter(|row| row[2..] == ["10.0.0.6", "1", "0"]);
            let mut connections: Vec<_> = opened.map(|row| &row[..2]).collect();
            connections.sort();
            connections.dedup();
            connections.len()
        } else {
            let rows = run.frames(&["ip.src", "tailcut_ndp.flow", "tailcut_ndp.payload"]);
            let asked = rows
                .iter()
                .filter(|row| row[0] == "10.0.0.6" && number(&row[2]) > 0);
            // The message that purges a copy has its own flow number.
            let flows = asked.map(|row| number(&row[1]) & !(1 << 29));
            let mut flows: Vec<u64> = flows.collect();
            flows.sort();
            flows.dedup();
            flows.len()
        };
        assert_eq!(seen, copies as usize, "{design}");
    }
}

#[test]
fn all_hosts_are_captured_in_one_file_whatever_the_ports_and_the_threads() {
    let test_dir = TestDir::new();
    let flags = ["--set", "designs=dctcp,ndp", "--capture", "all"];
    let mut seen: Vec<BTreeMap<_, _>> = Vec::new();
    for more in [
        ["--threads", "1", "--set", "port_events=one"],
        ["--threads", "2", "--set", "port_events=two"],
    ] {
        run(&test_dir, SCENARIO, &[&flags[..], &more].concat());
        let of_first = runs(&test_dir)
            .into_iter()
            .filter(|((_, seed), _)| *seed == 1);
        let frames = of_first.map(|((design, _), run)| {
            let fields = [
                "frame.interface_name",
                "frame.time_epoch",
                "ip.src",
                "frame.len",
            ];
            let frames = run.frames(&[&fields[..], &["frame.packet_flags_direction"]].concat());
            let out = frames.iter().filter(|row| row[4] == "0x00000002").count() as u64;
            let uplinks = (0..6).map(|host| run.port(&format!("h{host}>s{}", host / 3)).packets);
            assert_eq!(out, uplinks.sum::<u64>(), "{design}");
            let delivered = run.record.totals.delivered.packets;
            assert_eq!(frames.len() as u64 - out, delivered, "{design}");
            // Events at different hosts at the same time have no defined order.
            let mut sorted = frames;
            sorted.sort();
            (design, sorted)
        });
        seen.push(frames.collect());
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_limit_is_kept_and_told_with_what_it_left_out() {
    let test_dir = TestDir::new();
    let of_host = ["--set", "designs=tcp", "--capture", "h0"];
    let limits = ["--capture-bytes", "10KB", "--capture-flows", "2"];
    let ended = run(&test_dir, SCENARIO, &[&of_host[..], &limits].concat());
    let said = |text: &str| assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    said("-seed1-");
    said(".pcapng: full at ");
    said("later packets are omitted (--capture-bytes)");
    said("packets of other flows are omitted (--capture-flows)");
    said("not captured: 1 run of other seeds; --capture-seeds N captures the first N seeds");
    let runs = runs(&test_dir);
    let run = &runs[&("tcp".to_owned(), 1)];
    assert!(run.file().len() <= 10_000);
    let mut streams: Vec<_> = run.frames(&["tcp.stream"]).concat();
    streams.sort();
    streams.dedup();
    assert_eq!(streams, ["0", "1"]);
    assert!(runs[&("tcp".to_owned(), 2)].capture.is_none());
}

#[test]
fn runs_that_are_there_are_run_again_for_their_captures_only() {
    let test_dir = TestDir::new();
    let designs = ["--set", "designs=tcp", "--set", QUEUE];
    run(&test_dir, SCENARIO, &designs);
    let run_file = |name: &str| {
        let runs = fs::read_dir(test_dir.path().join("out/runs")).expect("runs");
        let mut files: Vec<_> = runs
            .map(|run| run.expect("a run").path().join(name))
            .collect();
        files.sort();
        files
            .iter()
            .map(|file| fs::read(file).expect("its file"))
            .collect::<Vec<_>>()
    };
    let before = run_file("run.json");
    let flags = [
        &designs[..],
        &["--capture", "h0>s0", "--capture-seeds", "9"],
    ]
    .concat();
    let ended = run(&test_dir, SCENARIO, &flags);
    let said = "2 of 2 runs are in out already\nrun again for its capture: 2 runs";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!(run_file("run.json"), before);
    let packets = |run: &Run| {
        (
            run.frames(&["frame.number"]).len() as u64,
            run.port("h0>s0").packets,
        )
    };
    for run in runs(&test_dir).values() {
        let (captured, sent) = packets(run);
        assert_eq!(captured, sent);
    }
    // A study without `--capture` keeps existing captures, and its manifest still names them.
    run(&test_dir, SCENARIO, &designs);
    assert!(runs(&test_dir).values().all(|run| run.capture.is_some()));
}

#[test]
fn a_place_that_the_network_does_not_have_is_refused_before_anything_runs() {
    let test_dir = TestDir::new();
    let path = test_dir.file("s.toml", &format!("designs = [\"tcp\"]\n{SCENARIO}"));
    let refused = |flags: &[&str], expected: &str| {
        let path = path.to_string_lossy();
        let ended = test_dir.run(&[&["run", &path, "--out", "out"], flags].concat());
        assert_eq!(ended.code, Some(2));
        assert!(
            ended.complaint().contains(expected),
            "{}",
            ended.complaint()
        );
        assert!(!test_dir.path().join("out").exists());
    };
    refused(
        &["--capture", "s1>h0"],
        "--capture: found 's1>h0'; allowed: all, one of 6 hosts (h0, h1, h2, ...), or one of 20 \
         ports, FROM>TO (h0>leaf[0], h1>leaf[0], h2>leaf[0], ...): the table `topology` has \
         their names",
    );
    refused(
        &["--capture", "h0", "--capture-bytes", "much"],
        "--capture-bytes: found 'much'",
    );
    refused(&["--capture-bytes", "1MB"], "--help");
}
