//! Tests of DCTCP on real hosts. The tests compare tailcut's implementation in the kernel with the simulator's DCTCP.

use crate::harness::{Lab, TAILCUT, text, wait_until};
use crate::user::Nobody;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use tailcut_lab::bpf::{Dctcp, Parameters, Sample, SampleEvent};
use tailcut_sim::transport::tcp::congestion::{
    Ack, Congested, CongestionControl, Dctcp as Simulated, Window,
};
use tailcut_units::{Duration, Time};

/// Topology of two senders and one receiver, h2, on one switch.
const THREE: [&str; 2] = [
    "--topology",
    "leaf-spine:hosts=3,leaves=1,spines=1,rate=100Mbps",
];
/// Design with a gain that no kernel's own DCTCP has.
const ODD: [&str; 4] = ["--design", "dctcp", "--set", "tcp.dctcp_gain=0.3"];
/// Payload of a full segment in bytes: 1,500 bytes minus headers and timestamps.
const SEGMENT: f64 = 1_448.0;
/// Number that represents one segment in the windows of the BPF programs.
const UNIT: f64 = 65_536.0;

/// Server program on port 7000 that reads each connection to its end, and sends one byte at the end.
const SINK: &str = "import socket, threading\n\
                    def serve(c):\n  while c.recv(65536): pass\n  c.sendall(b'x')\n  c.close()\n\
                    s = socket.create_server(('', 7000))\nprint('ready')\n\
                    while True: threading.Thread(target=serve, args=s.accept()[:1]).start()";

/// Returns a program that sends `bytes` bytes to h2, optionally with another congestion control.
/// The program waits until the bytes have arrived.
fn source(bytes: u32, congestion: Option<&str>) -> String {
    let choose = congestion.map_or(String::new(), |name| {
        format!("c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'{name}')\n")
    });
    format!(
        "import socket\nc = socket.create_connection(('h2', 7000))\n{choose}print('ready')\n\
         c.sendall(bytes({bytes}))\nc.shutdown(socket.SHUT_WR)\nc.recv(1)\nprint('done')"
    )
}

/// Starts a lab of two senders and one receiver, with a link of 20 Mb/s to the receiver.
fn bottleneck(design: &[&str]) -> Lab {
    let lab = Lab::up(&[&THREE[..], design].concat());
    change_link(&lab, &["leaf-h2", "--rate", "20Mbps"]);
    lab
}

fn change_link(lab: &Lab, change: &[&str]) {
    let changed = lab.command("link").args(change).output();
    let changed = changed.expect("it runs");
    assert!(changed.status.success(), "{}", text(&changed.stderr));
}

/// Returns the status of the link to the receiver.
fn link_to_receiver(status: &Value) -> &Value {
    let links = status["links"].as_array().expect("links");
    let link = links.iter().find(|link| link["link"] == "leaf[0]>h2");
    link.expect("the link")
}

/// Sends from both senders. Returns samples of the length of the queue before the receiver, in packets.
fn send(lab: &Lab, bytes: u32, congestion: Option<&str>) -> Vec<f64> {
    let _sink = lab.python("h2", SINK);
    let script = source(bytes, congestion);
    let sources = ["h0", "h1"].map(|host| lab.python(host, &script));
    let waiting = sources.map(|mut source| std::thread::spawn(move || source.line()));
    let mut queued = Vec::new();
    while waiting.iter().any(|source| !source.is_finished()) {
        let status = lab.status();
        queued.extend(link_to_receiver(&status)["queued_packets"].as_f64());
    }
    for source in waiting {
        assert_eq!(source.join().expect("a line"), "done");
    }
    queued
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_queue_stays_near_the_threshold_where_tcp_fills_it() {
    let count = |lab: &Lab, what: &str| {
        let status = lab.status();
        link_to_receiver(&status)[what].as_u64().expect("a count")
    };
    let dctcp = bottleneck(&["--design", "dctcp"]);
    let near = mean(&send(&dctcp, 2_000_000, None));
    assert!(count(&dctcp, "marked") > 0, "they negotiate ECN");
    assert_eq!(count(&dctcp, "dropped"), 0);
    drop(dctcp);
    let tcp = bottleneck(&["--design", "tcp"]);
    let full = mean(&send(&tcp, 2_000_000, None));
    assert!(count(&tcp, "dropped") > 0);
    // The marking threshold is 20 packets, and the buffer holds 100 packets.
    assert!(near < 40.0 && near < full, "dctcp {near}, tcp {full}");
}

/// Checks connections against the simulator's DCTCP, which receives the same ACKs.
/// Returns the number of marks and the number of losses to which the connections reacted.
fn hold_to_simulated(samples: &[Sample], gain: f64, first_alpha: f64) -> (u32, u32) {
    // In each window, alpha and the marked fraction are rounded. The gain is rounded once.
    let resolution = 1.0 / 2f64.powi(31);
    let tolerance = (2.0 / gain + 2.0) * resolution;
    let mut connections: BTreeMap<u32, (Simulated, u64)> = BTreeMap::new();
    let (mut marks, mut losses) = (0, 0);
    for (place, sample) in samples.iter().enumerate() {
        let new = || (Simulated::new(gain, first_alpha), 0);
        let (simulated, una) = connections.entry(sample.connection).or_insert_with(new);
        let mut window = Window {
            cwnd: 0,
            ssthresh: u64::MAX,
        };
        let mut congested = Congested {
            now: Time::ZERO,
            in_flight: 0,
            mss: UNIT as u64,
        };
        match sample.event {
            SampleEvent::Ack {
                acked,
                is_marked,
                una: sequence,
                nxt,
            } => {
                *una += u64::from(acked);
                let ack = Ack {
                    now: Time::ZERO,
                    acked: acked.into(),
                    marked: is_marked,
                    una: *una,
                    nxt: *una + u64::from(nxt.wrapping_sub(sequence)),
                    mss: SEGMENT as u64,
                    may_grow: false,
                    slow_start_limit: 0,
                    srtt: Duration::ZERO,
                    rtt: None,
                };
                simulated.on_ack(&mut window, &ack);
            }
            SampleEvent::Mark {
                window: before,
                kept,
            } => {
                window.cwnd = (before * UNIT) as u64;
                simulated.on_mark(&mut window, &congested);
                let difference = kept - window.cwnd as f64 / UNIT;
                let tolerance = 2.0 / UNIT + before / 2f64.powi(23);
                assert!(
                    difference.abs() <= tolerance,
                    "{place}: {before} becomes {kept}, {difference} too much"
                );
                marks += 1;
            }
            SampleEvent::Loss {
                window: before,
                flight,
                kept,
            } => {
                congested.in_flight = (f64::from(flight).min(before) * UNIT) as u64;
                simulated.on_loss(&mut window, &congested);
                assert_eq!(kept, (window.cwnd as f64 / UNIT).floor(), "{place}");
                losses += 1;
            }
        }
        let difference = sample.alpha - simulated.alpha();
        assert!(
            difference.abs() <= tolerance,
            "{place}: alpha is {}, which exceeds the simulated alpha by {difference}",
            sample.alpha
        );
    }
    (marks, losses)
}

#[test]
fn alpha_and_cuts_are_the_simulators_for_the_same_acks() {
    let lab = bottleneck(&["--design", "dctcp"]);
    for (gain, first_alpha) in [(1.0 / 16.0, 1.0), (0.25, 0.0), (0.01, 0.5)] {
        let parameters = Parameters::new(gain, first_alpha);
        let dctcp = Dctcp::register_sampled(parameters, 10_000).expect("missing: BPF and BTF");
        send(&lab, 1_000_000, Some(dctcp.name()));
        let samples = dctcp.samples().expect("room for all");
        let of_acks = samples.iter().filter(
            |sample| matches!(sample.event, SampleEvent::Ack { is_marked, .. } if is_marked),
        );
        assert!(of_acks.count() > 10, "some ACKs are marked");
        let first = samples.iter().map(|sample| sample.connection).max();
        assert_eq!(first, Some(1), "two connections");
        let (marks, _) = hold_to_simulated(&samples, gain, first_alpha);
        assert!(marks > 5, "windows are cut");
    }
}

#[test]
fn a_loss_halves_the_window_whatever_alpha_is() {
    let few = ["--set", "queue.limit=10 packets"];
    let unmarked = ["--set", "queue.mark_above=off"];
    let lab = bottleneck(&[&["--design", "dctcp"], &few[..], &unmarked].concat());
    let (gain, first_alpha) = (1.0 / 16.0, 1.0);
    let dctcp = Dctcp::register_sampled(Parameters::new(gain, first_alpha), 10_000);
    let dctcp = dctcp.expect("missing: BPF and BTF");
    send(&lab, 1_000_000, Some(dctcp.name()));
    let samples = dctcp.samples().expect("room for all");
    let (_, losses) = hold_to_simulated(&samples, gain, first_alpha);
    assert!(losses > 1, "packets are lost");
}

#[test]
fn a_timeout_halves_the_window_too() {
    // The queue neither marks nor drops packets.
    // After a mark, the kernel would not reduce its window again at a timeout.
    let roomy = ["--set", "queue.limit=10000 packets"];
    let unmarked = ["--set", "queue.mark_above=off"];
    let lab = bottleneck(&[&["--design", "dctcp"], &roomy[..], &unmarked].concat());
    let dctcp = Dctcp::register_sampled(Parameters::new(1.0 / 16.0, 1.0), 10_000);
    let dctcp = dctcp.expect("missing: BPF and BTF");
    let samples = || dctcp.samples().expect("room for all");
    let _sink = lab.python("h2", SINK);
    let mut source = lab.python("h0", &source(8_000_000, Some(dctcp.name())));
    wait_until("ACKs come", || samples().len() > 50);
    change_link(&lab, &["h0-leaf", "down"]);
    // No more ACKs arrive, so only the retransmission timer can detect a loss.
    let is_loss = |sample: &Sample| matches!(sample.event, SampleEvent::Loss { .. });
    wait_until("the timer expires", || samples().iter().any(is_loss));
    change_link(&lab, &["h0-leaf", "up"]);
    assert_eq!(source.line(), "done");
    let (_, losses) = hold_to_simulated(&samples(), 1.0 / 16.0, 1.0);
    assert!(losses > 0);
}

/// Program that prints a line for each packet to and from port 7000, until both connections have ended.
/// A line contains the peer's port, the direction, a sequence number, and a flag.
/// For a data packet, the number follows the payload, and the flag is the congestion mark.
/// For an ACK, the number is the acknowledgement number, and the flag is the echo of the mark.
const WATCH: &str = "import socket, struct\n\
                     s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n\
                     s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)\nprint('ready')\nends = 0\n\
                     while ends < 2:\n  p = s.recv(128)[14:]\n  if p[0] != 0x45 or p[9] != 6: continue\n  \
                     length, = struct.unpack('!H', p[2:4])\n  \
                     a, b, seq, ack, at, flags = struct.unpack('!HHIIBB', p[20:34])\n  \
                     payload = length - 20 - (at >> 4) * 4\n  \
                     if b == 7000 and payload: print(a, 1, (seq + payload) % 2**32, int(p[1] & 3 == 3))\n  \
                     if a == 7000 and not flags & 2: print(b, 0, ack, int(flags & 0x40 != 0))\n  \
                     if a == 7000 and flags & 1: ends += 1\n\
                     print('end')";

#[test]
fn an_ack_says_marked_for_marked_segments_and_for_no_others() {
    let lab = bottleneck(&["--design", "dctcp"]);
    let mut watch = lab.python("h2", WATCH);
    send(&lab, 1_000_000, None);
    // For each connection: the packets that have arrived but are not acknowledged yet.
    // The last value is true if the latest ACK echoed a mark.
    let mut held: BTreeMap<u64, (Vec<(u32, bool)>, bool)> = BTreeMap::new();
    let mut changes = 0;
    loop {
        let line = watch.line();
        if line == "end" {
            break;
        }
        let numbers = line
            .split(' ')
            .map(|number| number.parse().expect("a number"));
        let numbers: Vec<u64> = numbers.collect();
        let [port, comes, number, is_marked] = numbers[..] else {
            panic!("{line}");
        };
        let (number, is_marked) = (number as u32, is_marked == 1);
        let (segments, said) = held.entry(port).or_default();
        if comes == 1 {
            segments.push((number, is_marked));
            continue;
        }
        let is_covered = |end: u32| number.wrapping_sub(end) < 1 << 31;
        for (end, was_marked) in segments.extract_if(.., |(end, _)| is_covered(*end)) {
            assert_eq!(
                was_marked, is_marked,
                "{end} of {port}, acknowledged by {number}"
            );
            changes += u32::from(*said != is_marked);
            *said = is_marked;
        }
    }
    let status = lab.status();
    assert_eq!(link_to_receiver(&status)["dropped"], 0);
    assert!(changes > 5, "marks come and go");
}

/// Returns the congestion controls that the kernel offers.
fn available() -> Vec<String> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = fs::read_to_string(path).expect("Linux");
    available.split_whitespace().map(str::to_owned).collect()
}

/// Returns the name under which a lab has registered its congestion control.
fn own_name(lab: &Lab) -> String {
    let status = lab.status();
    let mut notes = status["notes"].as_array().expect("notes").iter();
    let name = notes.find_map(|note| note.as_str()?.strip_prefix("DCTCP is tailcut's, "));
    let name = name.unwrap_or_else(|| panic!("{}", status["notes"]));
    name.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn each_lab_has_its_own_and_it_goes_with_the_lab() {
    let design = [&THREE[..], &ODD].concat();
    let mut labs = [Lab::up(&design), Lab::up(&design)];
    let names = [own_name(&labs[0]), own_name(&labs[1])];
    assert_ne!(names[0], names[1]);
    for (lab, name) in labs.iter().zip(&names) {
        assert!(
            available().contains(name) && lab.said.contains(name),
            "{}",
            lab.said
        );
        let route = lab.sh("h0", "ip route show 10.0.0.0/16");
        assert!(route.contains(&format!("congctl {name} ")), "{route}");
    }
    labs[0].up.kill().expect("it is there");
    wait_until("it goes", || !available().contains(&names[0]));
    assert!(available().contains(&names[1]));
    let down = labs[1].command("down").status();
    assert!(down.expect("it runs").success());
    wait_until("it goes", || !available().contains(&names[1]));
}

#[test]
fn an_ordinary_user_is_told_what_dctcp_takes() {
    let nobody = Nobody::new(TAILCUT);
    let mut up = nobody.command();
    let output = up.args(["lab", "up"]).args(THREE).args(ODD).output();
    let output = output.expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let is_named =
        said.contains("design: found one with DCTCP") || said.contains("tcp.dctcp_gain: found 0.3");
    assert!(is_named && said.contains("run as root"), "{said}");
}
