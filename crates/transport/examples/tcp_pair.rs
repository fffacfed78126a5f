//! Cost of TCP between two hosts without loss: CPU time per data segment.
//! The time includes sending and receiving the segment, and a part of an ACK.
//!
//! `cargo run --release -p tailcut-transport --example tcp_pair -- 10000000`

use std::collections::VecDeque;
use std::hint::black_box;
use tailcut_transport::tcp::{Congestion, Host, TcpConfig};
use tailcut_transport::{Message, PathPin, Replication, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// Number of segments in all windows together, enough to fill the pipe.
const WINDOW: u64 = 192;
/// Duration of a full segment at 10 Gb/s.
const STEP: Duration = Duration::from_ns(1_230);
/// One-way delay of the pipe.
const DELAY: Duration = Duration::from_ns(50_000);
const MSS: u64 = 1_460;

fn main() {
    let argument = std::env::args().nth(1);
    let segments: u64 = match argument.as_deref().map(str::parse) {
        None => 10_000_000,
        Some(Ok(count)) if count > 0 => count,
        Some(_) => {
            eprintln!("usage: tcp_pair [SEGMENTS], a count of at least 1");
            std::process::exit(2);
        }
    };
    for (name, congestion) in [
        ("newreno", Congestion::NewReno),
        ("cubic", Congestion::Cubic),
        ("dctcp", Congestion::DCTCP),
    ] {
        for connections in [1, 64] {
            measure(name, &congestion, connections, segments);
        }
    }
}

fn measure(name: &str, congestion: &Congestion, connections: u32, segments: u64) {
    let config = TcpConfig {
        congestion: congestion.clone(),
        max_cwnd: (WINDOW / u64::from(connections)) * MSS,
        ..TcpConfig::default()
    };
    let host = |id| Host::new(HostId(id), config.clone()).expect("a valid configuration");
    let mut hosts = [host(0), host(1)];
    let started = cpu_time();
    for flow in 0..connections {
        hosts[0].submit(
            Time::ZERO,
            Message {
                flow: FlowId(flow),
                dst: HostId(1),
                bytes: segments / u64::from(connections) * MSS,
                path: PathPin::NONE,
                replication: Replication::Off,
            },
        );
    }
    let (sent, acks) = run(&mut hosts);
    let spent = (cpu_time() - started).as_nanos() as f64;
    println!(
        "{name:8} {connections:3} connections: {:5.1} ns a data segment ({sent} data segments, {acks} ACKs)",
        spent / sent as f64
    );
}

/// Passes segments in order, one per step in each direction, until no segment is left.
fn run(hosts: &mut [Host; 2]) -> (u64, u64) {
    let mut pipes: [VecDeque<(Time, Segment)>; 2] = [VecDeque::new(), VecDeque::new()];
    let mut counts = [0, 0];
    let mut now = Time::ZERO;
    loop {
        now += STEP;
        let mut moved = false;
        for from in [0, 1] {
            if hosts[from].has_transmit()
                && let Some(segment) = hosts[from].poll_transmit(now)
            {
                pipes[from].push_back((now + DELAY, black_box(segment)));
                counts[from] += 1;
                moved = true;
            }
            if pipes[from].front().is_some_and(|(at, _)| *at <= now)
                && let Some((_, segment)) = pipes[from].pop_front()
            {
                hosts[1 - from].on_segment(now, segment);
                while hosts[1 - from].poll_event().is_some() {}
                moved = true;
            }
            moved |= !pipes[from].is_empty();
        }
        for host in &mut *hosts {
            if host.next_timeout().is_some_and(|at| at <= now) {
                host.on_timeout(now);
            }
        }
        if !moved {
            return (counts[0], counts[1]);
        }
    }
}

/// Returns the CPU time of this process.
fn cpu_time() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").expect("Linux's schedstat");
    let nanoseconds = stat.split(' ').next().and_then(|field| field.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.expect("nanoseconds on the CPU"))
}
