//! Tests of NIC functions of designs: packet tags and pacing.
//! The tests need DCTCP, either in the kernel, or loaded by tailcut, which needs Linux 6.4 and root.

use crate::harness::{Lab, books_hold, summaries, text, wait_until};

/// Two hosts with PIAS. The priority of a flow decreases after 20 KB and after 60 KB.
const PIAS: &[&str] = &[
    "--topology",
    "single-switch:hosts=2,rate=100Mbps",
    "--design",
    "pias",
    "--set",
    "pias.thresholds=20KB,60KB",
];

/// Program that prints the DSCPs of a connection until the connection ends. Repeated values are omitted.
/// The program prints the DSCP of each segment from port 7000, and of each segment with payload to port 7000.
const WATCH: &str = "import socket, struct\n\
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)\n\
    print('ready')\nlast = None\nseen = []\n\
    while True:\n  p = s.recv(65536)\n  h = (p[0] & 15) * 4\n\
    \x20 src, dst = struct.unpack('!HH', p[h:h + 4])\n\
    \x20 if dst != 7000: continue\n\
    \x20 if p[1] >> 2 != last:\n    last = p[1] >> 2\n    seen.append(last)\n\
    \x20 if p[h + 13] & 1: break\n\
    print(seen)";

const SINK: &str = "import socket\ns = socket.create_server(('', 7000))\nprint('ready')\n\
    c, _ = s.accept()\nn = 0\nwhile d := c.recv(65536): n += len(d)\nprint(n)";

#[test]
fn a_flow_of_a_real_program_goes_down_in_class_and_its_packets_say_so() {
    let lab = Lab::up(PIAS);
    let mut watch = lab.python("h1", WATCH);
    let mut sink = lab.python("h1", SINK);
    let source =
        "import socket\nc = socket.create_connection(('h1', 7000))\nc.sendall(bytes(100000))";
    let sent = lab.exec("h0", &["python3", "-c", source]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert_eq!(sink.line(), "100000");
    // Class selectors 6, 5 and 4 represent the priority classes 0, 1 and 2.
    assert_eq!(watch.line(), "[48, 40, 32]");
}

#[test]
fn a_nic_drops_what_its_queue_has_no_room_for() {
    let lab = Lab::up(&[PIAS, &["--set", "host.queue=5"]].concat());
    let rate = lab
        .command("link")
        .args(["h0-s0", "--rate", "1Mbps"])
        .output();
    assert!(rate.expect("it runs").status.success());
    let burst = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                 for _ in range(200): s.sendto(bytes(1400), ('h1', 9))";
    assert!(lab.exec("h0", &["python3", "-c", burst]).status.success());
    // The transmission of one packet takes 11.6 ms.
    wait_until("all are sent or dropped", || {
        let status = lab.status();
        let mut links = status["links"].as_array().expect("links").iter();
        let uplink = links.find(|link| link["link"] == "h0>s0").expect("a link");
        let count = |what: &str| uplink[what].as_u64().expect("a count");
        count("dropped") > 100 && count("packets") > 5 && count("packets") + count("dropped") >= 200
    });
}

const SCENARIO: &str = r#"
designs = ["dctcp", "pias", "hull", "pias@conga"]
loads = 0.4
flows = 40
seeds = 1
measure_waits = true
drain = "60s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 2
rate = "20Mbps"
[pias]
thresholds = "10KB,30KB"
[hull]
pacer_association = 1
[[workload]]
sizes = "uniform:1KB:100KB"
"#;

#[test]
fn studies_run_with_tags_and_pacers_on_real_hosts() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = summaries(directory.path(), SCENARIO, "wall");
    assert_eq!(runs.len(), 4);
    for run in &runs {
        assert_eq!(run["unfinished"], 0, "{run}");
        books_hold(run);
        assert_eq!(run["wall"]["lost_frames"], 0, "{run}");
    }
}
