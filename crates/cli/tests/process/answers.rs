//! What a careful user may act on: commands whose first answer would be confidently wrong are answered
//! rightly, or refused with the reason.

use crate::place::{Ended, Place};

/// Two leaves of four hosts at 1 Gb/s, three to one.
const THIN: [&str; 2] = [
    "-t",
    "leaf-spine:leaves=2,spines=2,hosts=6,rate=1Gbps,oversubscription=3",
];

/// The standard output of a command that succeeds.
fn told(place: &Place, arguments: &[&str]) -> String {
    let Ended {
        code,
        stdout,
        stderr,
    } = place.run(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    stdout
}

/// What a command says that refuses.
fn refused(place: &Place, arguments: &[&str]) -> String {
    let ended = place.run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stdout);
    ended.complaint().to_owned()
}

#[test]
fn overload_is_no_gain_and_comes_with_the_load_that_would_be_none() {
    let place = Place::new();
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
    let told_at_three = told(&place, &arguments("3"));
    // 20,000 B are 14 packets with 78 B each beside the payload: 9 times 1.0546.
    let start =
        "At load 3 no gain is told: the leaf uplinks are offered 949 % of what they can carry";
    assert!(told_at_three.starts_with(start), "{told_at_three}");
    assert!(
        told_at_three.contains("At --load 0.31 they would not be."),
        "{told_at_three}"
    );
    assert!(!told_at_three.contains(" cuts "), "{told_at_three}");
    // The report of the directory says the same.
    let report = told(&place, &["report", "out/compare"]);
    assert!(report.starts_with(start), "{report}");
    // The usual load of hosts is half as much again as these uplinks carry.
    let usual = told(
        &place,
        &[&["compare", "tcp", "dctcp"], &THIN[..], &small].concat(),
    );
    assert!(
        usual.starts_with("At load 0.5 no gain is told: the leaf uplinks are offered 158 %"),
        "{usual}"
    );
    let below = told(&place, &arguments("0.31"));
    assert!(!below.contains("no gain is told"), "{below}");
    assert!(below.contains("leaf uplinks 98 %"), "{below}");
    assert!(
        below.contains("Unfinished bytes from the middle to the last third"),
        "{below}"
    );
}

#[test]
fn a_tail_that_is_a_timer_is_told_with_the_timer_and_its_value() {
    let place = Place::new();
    for rto in ["10 ms", "200 ms"] {
        let min_rto = format!("tcp.min_rto={}", rto.replace(' ', ""));
        let text = told(
            &place,
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
            text.contains(
                "The share of the slowest 1 % of mice that wait for a retransmission timer: "
            ),
            "{text}"
        );
        assert!(text.contains(&timer), "{text}");
        assert!(
            text.contains("Where that is most of them, the p99 measures the timer"),
            "{text}"
        );
    }
}

#[test]
fn compare_and_run_have_the_same_timers() {
    let place = Place::new();
    place.file(
        "s.toml",
        "designs = [\"tcp\"]\nseeds = 1\nflows = 200\nduration = \"10s\"\n[topology]\nkind = \"leaf-spine\"\n\
         leaves = 4\nspines = 4\nhosts = 8\noversubscription = 1\n[[workload]]\nsizes = \"websearch\"\n",
    );
    let run = place.run(&["run", "s.toml", "--json"]).json();
    let flags = ["--seeds", "1", "--flows", "200", "--json"];
    let compare = place
        .run(&[&["compare", "tcp"], &flags[..]].concat())
        .json();
    assert_eq!(run[0]["timers"], compare[0]["timers"]);
    assert_eq!(run[0]["timers"]["least"]["ns"], 10_000_000);
    assert_eq!(run[0]["record_hash"], compare[0]["record_hash"]);
}

#[test]
fn keys_that_change_nothing_are_refused_by_name() {
    let place = Place::new();
    for (arguments, said) in [
        (
            &["compare", "tcp", "repflow", "--set", "pfabric.queue=70KB"][..],
            "--set: pfabric.queue: found no design that reads it among tcp, repflow; allowed: only with pfabric",
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
            "servers.disk: found nothing in the scenario that reads it (its workload has no requests)",
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
            "duration: found a span in which ",
        ),
    ] {
        let complaint = refused(&place, arguments);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
    place.file("s.toml", "designs = [\"tcp\"]\nloads = [0.2, 1.5, -0.1]\n");
    let complaint = refused(&place, &["run", "s.toml"]);
    assert!(
        complaint
            .contains("s.toml:2: loads: found -0.1 in [0.2, 1.5, -0.1]; allowed: loads above 0"),
        "{complaint}"
    );
    place.file(
        "storage.toml",
        "designs = [\"tcp\"]\n[servers]\nstraggler_share = 0.9\n[[workload]]\nkind = \"storage\"\n\
         sessions_per_second = 100\n",
    );
    let complaint = refused(&place, &["run", "storage.toml"]);
    assert!(
        complaint.contains("storage.toml:3: servers.straggler_share"),
        "{complaint}"
    );
}

#[test]
fn a_trace_is_as_short_as_flags_say() {
    let place = Place::new();
    let rows: String = (0..50)
        .map(|row| format!("{},{},9,1000\n", row * 1_000, row % 8))
        .collect();
    place.file("flows.csv", &format!("start_ns,src,dst,bytes\n{rows}"));
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
        place.run(&[&start[..], more].concat()).json()[0]["flows"].clone()
    };
    assert_eq!(flows(&[]), 50);
    assert_eq!(flows(&["--flows", "7"]), 7);
    assert_eq!(flows(&["--duration", "20us"]), 20);
    let none = refused(
        &place,
        &[
            "compare",
            "tcp",
            "-w",
            "trace:flows.csv",
            "--set",
            "loads=0.5",
        ],
    );
    assert!(none.contains("loads that no workload takes"), "{none}");
}

#[test]
fn a_burst_and_a_trace_are_told_as_all_that_there_is() {
    let place = Place::new();
    place.file(
        "burst.toml",
        "designs = [\"dctcp\", \"ndp\"]\n[topology]\nkind = \"single-switch\"\nhosts = 32\nrate = \"10Gbps\"\n\
         [[workload]]\nkind = \"burst\"\nmatrix = \"incast\"\nsizes = \"fixed:100KB\"\n",
    );
    let burst = told(&place, &["run", "burst.toml"]);
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
    place.file("flows.csv", &format!("start_ns,src,dst,bytes\n{rows}"));
    let trace = told(&place, &["compare", "tcp", "ndp", "-w", "trace:flows.csv"]);
    assert!(
        trace.contains("All 6 seeds run the same flows of the trace"),
        "{trace}"
    );
    assert!(
        trace.contains("finishes all 90 flows of the trace"),
        "{trace}"
    );
}

#[test]
fn reads_and_writes_are_told_together_and_each() {
    let place = Place::new();
    place.file(
        "storage.toml",
        "designs = [\"tcp\", \"scdp\"]\nseeds = 3\nduration = \"100ms\"\n[topology]\nkind = \"leaf-spine\"\n\
         leaves = 3\nspines = 2\nhosts = 4\nrate = \"1Gbps\"\n[[workload]]\nkind = \"storage\"\nsizes = \
         \"fixed:50KB\"\nsessions_per_second = 3000\nread_share = 0.5\n",
    );
    let text = told(&place, &["run", "storage.toml"]);
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
    let place = Place::new();
    let fast = [
        "-t",
        "leaf-spine:leaves=2,spines=2,hosts=2,rate=400Gbps",
        "--seeds",
        "1",
        "--flows",
        "50",
    ];
    let usual = told(&place, &[&["compare", "scdp"], &fast[..]].concat());
    assert!(
        usual.contains("scdp decodes a block that lacks a symbol at 1.3 Gb/s (scdp.decode_rate), slower than the 400 Gb/s"),
        "{usual}"
    );
    let quick = told(
        &place,
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
    let place = Place::new();
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
    let said = "Warning: 100 % of the objects are no larger than servers.chunk, 1 MB";
    let of = |compared: &[&str]| told(&place, &[compared, &requests[..]].concat());
    let coarse = of(&["compare", "stations", "rans"]);
    assert!(coarse.contains(said), "{coarse}");
    assert!(coarse.contains("cannot add up with rans"), "{coarse}");
    let fine = of(&["compare", "stations", "rans", "--set", "servers.chunk=50KB"]);
    assert!(!fine.contains("servers.chunk"), "{fine}");
    let without = of(&["compare", "stations", "das"]);
    assert!(!without.contains("servers.chunk"), "{without}");
}

#[test]
fn sensitivity_says_whether_the_order_holds_and_the_report_repeats_it() {
    let place = Place::new();
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
    let text = told(
        &place,
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
        let manifest = place
            .path()
            .join("out/compare/sensitivity")
            .join(name)
            .join("manifest.json");
        assert!(manifest.exists(), "{}", manifest.display());
    }
    let report = told(&place, &["report", "out/compare"]);
    assert!(report.contains(said), "{report}");
    // A later study of the same name says nothing of it.
    let plain = told(
        &place,
        &[&["compare", "tcp", "repflow"], &small[..]].concat(),
    );
    assert!(!plain.contains(said), "{plain}");
}
