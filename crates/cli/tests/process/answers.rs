//! Tests of commands that could easily print a wrong answer with confidence.
//! The commands must print the right answer, or an error with the reason.

use crate::test_dir::{Ended, TestDir};

/// Topology of two leaves with four hosts each at 1 Gb/s. The uplinks are oversubscribed three to one.
const THIN: [&str; 2] = [
    "-t",
    "leaf-spine:leaves=2,spines=2,hosts=6,rate=1Gbps,oversubscription=3",
];

/// Runs a command that must succeed, and returns its standard output.
fn answer(test_dir: &TestDir, arguments: &[&str]) -> String {
    let Ended {
        code,
        stdout,
        stderr,
    } = test_dir.run(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    stdout
}

/// Runs a command that must fail, and returns its error message.
fn refused(test_dir: &TestDir, arguments: &[&str]) -> String {
    let ended = test_dir.run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stdout);
    ended.complaint().to_owned()
}

#[test]
fn overload_is_no_gain_and_comes_with_the_load_that_would_be_none() {
    let test_dir = TestDir::new();
    let small = ["-w", "fixed:20KB", "--flows", "300", "--seeds", "3"];
    let arguments = |load| {
        [
            &["compare", "tcp", "dctcp"],
            &THIN[..],
            &small,
            &["--load", load],
        ]
        .concat()
    };
    let told_at_three = answer(&test_dir, &arguments("3"));
    // A flow of 20,000 B is 14 packets, each with 78 B of headers and framing, so the load is 9 times 1.0546.
    let start = "Overload at load 3: the leaf uplinks are offered 949 %";
    assert!(told_at_three.starts_with(start), "{told_at_three}");
    assert!(
        told_at_three.contains("Try --load 0.31."),
        "{told_at_three}"
    );
    assert!(!told_at_three.contains(" cuts "), "{told_at_three}");
    // `tailcut report` must print the same answer for the directory.
    let report = answer(&test_dir, &["report", "out/compare"]);
    assert!(report.starts_with(start), "{report}");
    // By default, a load refers to the links of the hosts.
    // The uplinks can transport about two thirds of the hosts' load.
    let usual = answer(
        &test_dir,
        &[&["compare", "tcp", "dctcp"], &THIN[..], &small].concat(),
    );
    assert!(
        usual.starts_with("Overload at load 0.5: the leaf uplinks are offered 158 %"),
        "{usual}"
    );
    let below = answer(&test_dir, &arguments("0.31"));
    assert!(!below.contains("Overload"), "{below}");
    assert!(below.contains("leaf uplinks 98 %"), "{below}");
}

#[test]
fn a_tail_that_is_a_timer_is_told_with_the_timer_and_its_value() {
    let test_dir = TestDir::new();
    for rto in ["10 ms", "200 ms"] {
        let min_rto = format!("tcp.min_rto={}", rto.replace(' ', ""));
        let text = answer(
            &test_dir,
            &[
                "compare",
                "tcp",
                "-t",
                "single-switch:hosts=16,rate=1Gbps",
                "-w",
                "fixed:20KB",
                "--matrix",
                "incast",
                "--load",
                "0.05",
                "--flows",
                "2000",
                "--set",
                "queue.limit=4 packets",
                "--set",
                &min_rto,
            ],
        );
        let timer = format!("(tcp.min_rto = {rto}");
        assert!(
            text.contains("Timers: of the slowest 1 % of mice, "),
            "{text}"
        );
        assert!(text.contains(&timer), "{text}");
        assert!(
            text.contains(" wait for a retransmission timer")
                && text.contains(": the p99 measures the timer."),
            "{text}"
        );
    }
}

#[test]
fn compare_and_run_have_the_same_timers() {
    let test_dir = TestDir::new();
    test_dir.file(
        "s.toml",
        "designs = [\"tcp\"]\nseeds = 1\nflows = 200\nduration = \"10s\"\n[topology]\nkind = \"leaf-spine\"\n\
         leaves = 4\nspines = 4\nhosts = 8\noversubscription = 1\n[[workload]]\nsizes = \"websearch\"\n",
    );
    let run = test_dir.run(&["run", "s.toml", "--json"]).json();
    let flags = ["--seeds", "1", "--flows", "200", "--json"];
    let compare = test_dir
        .run(&[&["compare", "tcp"], &flags[..]].concat())
        .json();
    assert_eq!(run[0]["timers"], compare[0]["timers"]);
    assert_eq!(run[0]["timers"]["least"]["ns"], 10_000_000);
    assert_eq!(run[0]["record_hash"], compare[0]["record_hash"]);
}

#[test]
fn keys_that_change_nothing_are_refused_by_name() {
    let test_dir = TestDir::new();
    for (arguments, said) in [
        (
            &["compare", "tcp", "repflow", "--set", "pfabric.queue=70KB"][..],
            "--set: pfabric.queue: found only designs without this key: tcp, repflow; allowed: only with pfabric",
        ),
        (
            &["compare", "tcp", "--set", "repnet.limit=50KB"],
            "allowed: only with repflow, repsyn, mixed",
        ),
        (
            &["compare", "tcp", "--set", "ndp.queue=16 packets"],
            "only with ndp, ndp-plus",
        ),
        (
            &["compare", "tcp", "--set", "hull.pacer=false"],
            "only with hull",
        ),
        (
            &["compare", "tcp", "--set", "servers.disk=1Mbps"],
            "servers.disk: found a key without effect (the workload has no requests)",
        ),
        (
            &["compare", "tcp", "-t", "fat-tree:k=8,k=4"],
            "--topology: topology: found 'k' twice; allowed: each key once",
        ),
        (
            &["compare", "tcp", "--set", "seed=1", "--set", "seed=2"],
            "--set: found 'seed' twice",
        ),
        (
            &["compare", "tcp", "-t", "leaf-spine:rate=1bps"],
            "duration: found too few arrivals: ",
        ),
    ] {
        let complaint = refused(&test_dir, arguments);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
    test_dir.file("s.toml", "designs = [\"tcp\"]\nloads = [0.2, 1.5, -0.1]\n");
    let complaint = refused(&test_dir, &["run", "s.toml"]);
    assert!(
        complaint
            .contains("s.toml:2: loads: found -0.1 in [0.2, 1.5, -0.1]; allowed: loads above 0"),
        "{complaint}"
    );
    test_dir.file(
        "storage.toml",
        "designs = [\"tcp\"]\n[servers]\nstraggler_share = 0.9\n[[workload]]\nkind = \"storage\"\n\
         sessions_per_second = 100\n",
    );
    let complaint = refused(&test_dir, &["run", "storage.toml"]);
    assert!(
        complaint.contains("storage.toml:3: servers.straggler_share"),
        "{complaint}"
    );
}

#[test]
fn a_trace_is_as_short_as_flags_say() {
    let test_dir = TestDir::new();
    let rows: String = (0..50)
        .map(|row| format!("{},{},9,1000\n", row * 1_000, row % 8))
        .collect();
    test_dir.file("flows.csv", &format!("start_ns,src,dst,bytes\n{rows}"));
    let flows = |more: &[&str]| {
        let start = [
            "compare",
            "tcp",
            "-w",
            "trace:flows.csv",
            "--seeds",
            "1",
            "--json",
        ];
        test_dir.run(&[&start[..], more].concat()).json()[0]["flows"].clone()
    };
    assert_eq!(flows(&[]), 50);
    assert_eq!(flows(&["--flows", "7"]), 7);
    assert_eq!(flows(&["--duration", "20us"]), 20);
    let none = refused(
        &test_dir,
        &[
            "compare",
            "tcp",
            "-w",
            "trace:flows.csv",
            "--set",
            "loads=0.5",
        ],
    );
    assert!(none.contains("loads that no workload uses"), "{none}");
}

#[test]
fn a_burst_and_a_trace_are_told_as_all_that_there_is() {
    let test_dir = TestDir::new();
    test_dir.file(
        "burst.toml",
        "designs = [\"dctcp\", \"ndp\"]\n[topology]\nkind = \"single-switch\"\nhosts = 32\nrate = \"10Gbps\"\n\
         [[workload]]\nkind = \"burst\"\nmatrix = \"incast\"\nsizes = \"fixed:100KB\"\n",
    );
    let burst = answer(&test_dir, &["run", "burst.toml"]);
    assert!(
        burst.starts_with("dctcp finishes all 31 flows of the burst in "),
        "{burst}"
    );
    assert!(
        burst.contains("makespan") && !burst.contains("too few"),
        "{burst}"
    );
    let rows: String = (0..90)
        .map(|row| format!("{},{},{},30000\n", row, row % 8, 8 + row % 5))
        .collect();
    test_dir.file("flows.csv", &format!("start_ns,src,dst,bytes\n{rows}"));
    let trace = answer(
        &test_dir,
        &["compare", "tcp", "ndp", "-w", "trace:flows.csv"],
    );
    assert!(
        trace.contains("One trace: all 6 seeds run the same flows"),
        "{trace}"
    );
    assert!(
        trace.contains("finishes all 90 flows of the trace"),
        "{trace}"
    );
}

#[test]
fn reads_and_writes_are_told_together_and_each() {
    let test_dir = TestDir::new();
    test_dir.file(
        "storage.toml",
        "designs = [\"tcp\", \"scdp\"]\nseeds = 3\nduration = \"100ms\"\n[topology]\nkind = \"leaf-spine\"\n\
         leaves = 3\nspines = 2\nhosts = 4\nrate = \"1Gbps\"\n[[workload]]\nkind = \"storage\"\nsizes = \
         \"fixed:50KB\"\nsessions_per_second = 3000\nread_share = 0.5\n",
    );
    let text = answer(&test_dir, &["run", "storage.toml"]);
    for told in [
        "the p99 of sessions",
        "the p99 of writes",
        "the p99 of reads",
        "\nWrites, ",
        "\nReads, ",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(text.contains("Offered load"), "{text}");
}

#[test]
fn a_codec_that_is_slower_than_its_network_is_told() {
    let test_dir = TestDir::new();
    let fast = [
        "-t",
        "leaf-spine:leaves=2,spines=2,hosts=2,rate=400Gbps",
        "--seeds",
        "1",
        "--flows",
        "50",
    ];
    let usual = answer(&test_dir, &[&["compare", "scdp"], &fast[..]].concat());
    assert!(
        usual.contains("scdp decodes a block that lacks a symbol at 1.3 Gb/s (scdp.decode_rate), slower than the 400 Gb/s"),
        "{usual}"
    );
    let quick = answer(
        &test_dir,
        &[
            &["compare", "scdp", "--set", "scdp.decode_rate=10Tbps"],
            &fast[..],
        ]
        .concat(),
    );
    assert!(!quick.contains("decodes a block"), "{quick}");
}

#[test]
fn a_chunk_as_large_as_the_objects_is_told_where_bytes_of_copies_should_add_up() {
    let test_dir = TestDir::new();
    let requests = [
        "-w",
        "requests:fixed:1MB",
        "--seeds",
        "1",
        "--flows",
        "50",
        "--duration",
        "1000s",
    ];
    let said = "Chunks: 100 % of the objects are no larger than servers.chunk, 1 MB";
    let of = |compared: &[&str]| answer(&test_dir, &[compared, &requests[..]].concat());
    let coarse = of(&["compare", "stations", "rans"]);
    assert!(coarse.contains(said), "{coarse}");
    assert!(
        coarse.contains("so that rans cannot add up the bytes"),
        "{coarse}"
    );
    let fine = of(&["compare", "stations", "rans", "--set", "servers.chunk=50KB"]);
    assert!(!fine.contains("servers.chunk"), "{fine}");
    let without = of(&["compare", "stations", "das"]);
    assert!(!without.contains("servers.chunk"), "{without}");
}

#[test]
fn sensitivity_says_whether_the_order_holds_and_the_report_repeats_it() {
    let test_dir = TestDir::new();
    let small = [
        "-t",
        "leaf-spine:leaves=2,spines=2,hosts=3",
        "-w",
        "fixed:20KB",
        "--flows",
        "200",
        "--seeds",
        "3",
    ];
    let text = answer(
        &test_dir,
        &[&["compare", "tcp", "repflow", "--sensitivity"], &small[..]].concat(),
    );
    let said = "The order of the designs by this p99, ";
    assert!(text.contains(said), "{text}");
    for name in [
        "timers-halved",
        "timers-doubled",
        "buffers-halved",
        "buffers-doubled",
    ] {
        let manifest = test_dir
            .path()
            .join("out/compare/sensitivity")
            .join(name)
            .join("manifest.json");
        assert!(manifest.exists(), "{}", manifest.display());
    }
    let report = answer(&test_dir, &["report", "out/compare"]);
    assert!(report.contains(said), "{report}");
    // A later study with the same name must not print the sentence about other timers and buffers.
    let plain = answer(
        &test_dir,
        &[&["compare", "tcp", "repflow"], &small[..]].concat(),
    );
    assert!(!plain.contains(said), "{plain}");
}
