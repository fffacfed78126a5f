//! Transports at one bottleneck, compared with theory.

use crate::support::{
    Run, completion_times, config, gigabit, queue_of, simulate, single_switch, workload,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_oracle::dctcp::Steady;
use tailcut_oracle::ideal::{self, Hop};
use tailcut_oracle::queueing::processor_sharing;
use tailcut_oracle::statistics::mean_interval;
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{CustomLink, CustomTopology, Node, NodeNames};
use tailcut_sim::workload::sizes::Point;
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{
    BurstPart, FlowsSpec, MatrixSpec, OfferedRate, OpenSpec, RunConfig, Shape, WorkloadSpec,
};
use tailcut_units::{Duration, HostId, Rate, Time};

const FULL: u64 = 1_538;
const PAYLOAD: f64 = 1_460.0;

/// Returns senders on fast links, and a receiver (host 0) on one link of `gbps`.
fn star(senders: u32, gbps: u64, queue: QueueConfig, delay: Duration) -> Shape {
    let link = |host, gbps| CustomLink {
        a: Node::Host(HostId(host)),
        b: Node::Switch(0),
        wire: gigabit(gbps, delay),
    };
    let senders = (1..=senders).map(|host| link(host, 10 * gbps));
    let links: Vec<_> = std::iter::once(link(0, gbps)).chain(senders).collect();
    Shape::Custom(Arc::new(CustomTopology {
        hosts: links.len() as u32,
        switches: 1,
        links,
        queue,
        shared_buffer: None,
        names: NodeNames::default(),
    }))
}

/// Returns one flow from each sender to host 0, all at the same time.
fn all_at_once(senders: u32, bytes: u64) -> WorkloadSpec {
    let burst = BurstPart {
        sizes: Arc::new(SizeDistribution::fixed(bytes)),
        matrix: MatrixSpec::Incast {
            senders,
            receiver: 0,
        },
        at: Duration::ZERO,
        jitter: Duration::ZERO,
    };
    workload("all at once", vec![FlowsSpec::Burst(burst)])
}

/// Returns the port to the receiver.
fn bottleneck(config: &RunConfig) -> u32 {
    let links = Run::of(config).topology.links;
    let to_receiver = links
        .iter()
        .position(|link| link.to == Node::Host(HostId(0)));
    to_receiver.expect("a port to the receiver") as u32
}

#[test]
fn an_incast_drains_at_line_rate_to_the_picosecond() {
    for senders in [2, 7, 40] {
        let packets = 10;
        let workload = all_at_once(senders, packets * 1_460);
        let shape = single_switch(senders + 1, queue_of(10_000));
        let record = simulate(&config("tcp", "single switch", shape, workload));
        let last = record.flows.iter().filter_map(|flow| flow.fct).max();
        // The first SYN finds an empty queue. After the first data packet, the port is never idle.
        let handshake = record.flows.iter().filter_map(|flow| flow.handshake).min();
        let hop = Hop {
            rate: Rate::from_gbps(10),
            delay: Duration::from_us(1),
        };
        let round_trip = ideal::equal_packets(&[hop; 4], 1, 78);
        assert_eq!(handshake, Some(round_trip));
        let bytes = u64::from(senders) * packets * FULL;
        let drained = round_trip + ideal::incast_drain(&[hop], hop, FULL, bytes);
        assert_eq!(last, Some(drained), "{senders} senders");
    }
}

/// Returns the share of each sender in the bytes of an interval, after the first half second.
fn shares(record: &RunRecord, senders: u32) -> Vec<Vec<f64>> {
    let settled = Time::ZERO + Duration::from_ms(500);
    let mut bytes: BTreeMap<Time, Vec<f64>> = BTreeMap::new();
    for sample in &record.links {
        if sample.time > settled && (1..=senders).contains(&sample.link) {
            let row = bytes.entry(sample.time);
            let row = row.or_insert_with(|| vec![0.0; senders as usize]);
            row[sample.link as usize - 1] = sample.bytes.0 as f64;
        }
    }
    let share = |flow: usize| {
        let rows = bytes.values();
        rows.map(move |row| row[flow] / row.iter().sum::<f64>())
            .collect()
    };
    (0..senders as usize).map(share).collect()
}

#[test]
fn long_flows_share_a_bottleneck_evenly() {
    for design in ["tcp", "cubic", "dctcp"] {
        let senders = 4;
        let queue = QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(60),
            mark_above: Some(Limit::Packets(20)),
        });
        let shape = star(senders, 1, queue, Duration::from_us(10));
        let mut config = config(design, "star", shape, all_at_once(senders, 1_000_000_000));
        config.drain = Duration::from_ms(6_000);
        config.sample_every = Some(Duration::from_ms(100));
        let record = simulate(&config);
        let shares = shares(&record, senders);
        for (flow, series) in shares.iter().enumerate() {
            let share = mean_interval(series, 0.999);
            println!(
                "{design}: flow {flow} has a share of {:.4} of the bottleneck, interval {:.4} to {:.4}",
                share.estimate, share.low, share.high
            );
            assert!(
                share.contains(1.0 / f64::from(senders)),
                "{design}: {share:?}"
            );
            assert!(share.relative_half_width() < 0.15, "{design}: {share:?}");
        }
        let port = bottleneck(&config);
        let at_port = record.links.iter().filter(|sample| sample.link == port);
        let settled: Vec<f64> = at_port.skip(2).map(|sample| sample.utilisation).collect();
        let idle = settled[..settled.len() - 1]
            .iter()
            .filter(|used| **used < 1.0 - 1e-5);
        assert_eq!(idle.count(), 0, "{design} leaves the bottleneck idle");
    }
}

/// Returns a star whose bottleneck of 10 Gb/s marks above a threshold, and its round-trip time in packets.
fn marking_star(flows: u32, threshold: u32, delay: Duration) -> (Shape, f64) {
    let queue = QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(1_000),
        mark_above: Some(Limit::Packets(threshold)),
    });
    (star(flows, 10, queue, delay), pipe(10, delay))
}

/// Returns the number of packets in a round-trip time without queues, in a star of the given links.
fn pipe(gbps: u64, delay: Duration) -> f64 {
    let slow = Rate::from_gbps(gbps);
    let hop = |rate| Hop { rate, delay };
    let fast = hop(Rate::from_gbps(10 * gbps));
    let there = ideal::equal_packets(&[fast, hop(slow)], 1, FULL);
    let back = ideal::equal_packets(&[hop(slow), fast], 1, 78);
    (there + back).as_secs_f64() / slow.serialisation(FULL).as_secs_f64()
}

#[test]
fn dctcp_marks_and_queues_as_its_steady_state_says_to_a_packet_a_flow() {
    for (flows, threshold, delay_us) in [
        (1, 20, 50),
        (2, 20, 25),
        (2, 65, 100),
        (4, 40, 100),
        (10, 65, 25),
    ] {
        let (shape, pipe) = marking_star(flows, threshold, Duration::from_us(delay_us));
        let mut config = config("dctcp", "star", shape, all_at_once(flows, 1_000_000_000));
        config.settings.tcp.delayed_ack = None;
        config.drain = Duration::from_ms(400);
        config.sample_every = Some(Duration::from_us(20));
        let record = simulate(&config);
        let port = bottleneck(&config);
        let steady = Steady {
            bdp_packets: pipe,
            threshold: f64::from(threshold),
            flows: f64::from(flows),
        };
        let settled = Time::ZERO + Duration::from_ms(100);
        let at_port = record.queues.iter().filter(|sample| sample.port == port);
        let queue: Vec<f64> = at_port
            .filter(|sample| sample.time >= settled)
            .map(|sample| f64::from(sample.packets))
            .collect();
        let longest = queue.iter().copied().fold(0.0, f64::max);
        let shortest = queue.iter().copied().fold(f64::MAX, f64::min);
        let totals = &record.ports[port as usize];
        let marked = totals.marked as f64 / totals.packets as f64;
        let amplitude = (steady.critical_window() + 1.0) * marked / 2.0;
        println!(
            "DCTCP, N {flows}, K {threshold}, W* {:.1}: marked {marked:.4}, alpha {:.4}, sqrt(2/W*) {:.4}; \
             window falls by {amplitude:.2}, model {:.2}; queue {shortest} to {longest}, model {:.1} to {}",
            steady.critical_window(),
            steady.alpha(),
            steady.alpha_for_large_windows(),
            steady.window_amplitude(),
            steady.smallest_queue(),
            steady.largest_queue(),
        );
        // A window is a whole number of packets, and flows do not reduce their windows at the same time.
        // Each value is therefore accurate to one packet.
        assert!((amplitude - steady.window_amplitude()).abs() < 1.0);
        assert!(longest > steady.threshold && longest <= steady.largest_queue() + 1.0);
        assert!(shortest >= steady.smallest_queue() - steady.flows);
        assert!(shortest > 0.0, "the link must never be idle");
        assert_eq!(totals.dropped, 0);
    }
}

/// Returns the utilisation of a link by one flow.
/// In each round trip, the flow's window grows by `step` packets until it fills pipe, buffer and transmitter.
/// When all three are full, the window falls to the share `kept`, and does not grow in the round trip of the recovery.
/// A round trip takes the time of the window at line rate, but at least the time of the pipe.
fn sawtooth_utilisation(pipe: f64, buffer: f64, kept: f64, step: f64) -> f64 {
    let top = (pipe + buffer + 1.0).floor();
    let climb = (0..).map(|i| (kept * top + f64::from(i) * step).floor());
    let windows: Vec<f64> = std::iter::once((kept * top).floor())
        .chain(climb.take_while(|&window| window <= top))
        .collect();
    windows.iter().sum::<f64>() / windows.iter().map(|w| w.max(pipe)).sum::<f64>()
}

#[test]
fn one_flow_keeps_a_link_as_busy_as_its_sawtooth_allows() {
    // With the round-trip time of the test, CUBIC is in its Reno-friendly region (RFC 9438, 4.3).
    // CUBIC's window grows by half packets, so the window at which the buffer overflows is accurate only to one packet.
    for (design, kept, step, unsure) in [("tcp", 0.5, 1.0, 0.0), ("cubic", 0.7, 0.9 / 1.7, 1.0)] {
        for buffer in [4, 20, 60, 100] {
            let queue = QueueConfig::DropTail(DropTail {
                limit: Limit::Packets(buffer),
                mark_above: None,
            });
            let delay = Duration::from_us(250);
            let shape = star(1, 1, queue, delay);
            let mut config = config(design, "star", shape, all_at_once(1, 2_000_000_000));
            config.settings.tcp.delayed_ack = None;
            config.drain = Duration::from_ms(12_000);
            config.sample_every = Some(Duration::from_ms(500));
            let record = simulate(&config);
            let port = bottleneck(&config);
            let samples = record.links.iter().filter(|sample| sample.link == port);
            // The first second contains slow start.
            let used: Vec<f64> = samples.skip(2).map(|sample| sample.utilisation).collect();
            let used = mean_interval(&used[..used.len() - 1], 0.99);
            let model = |buffer| sawtooth_utilisation(pipe(1, delay), buffer, kept, step);
            let buffer = f64::from(buffer);
            let (least, most) = (model(buffer - unsure), model(buffer + unsure));
            println!(
                "{design}, pipe {:.1}, buffer {buffer}: used {:.4} ({:.4} to {:.4}), sawtooth {least:.4} to {most:.4}",
                pipe(1, delay),
                used.estimate,
                used.low,
                used.high,
            );
            assert!(
                used.low - 1e-9 <= most && least <= used.high + 1e-9,
                "{used:?}"
            );
            assert!(used.relative_half_width() < 0.01, "{used:?}");
        }
    }
}

/// Returns the time in seconds that each flow spends at a server with even sharing.
/// Flows are pairs of start and service time, sorted by start.
fn shared_evenly(flows: &[(f64, f64)]) -> Vec<f64> {
    // All present flows gain service at the same rate.
    // A flow therefore leaves when the total gain since the start reaches its gain at arrival plus its service time.
    let mut present: Vec<(f64, usize)> = Vec::new();
    let mut left = vec![0.0; flows.len()];
    let (mut now, mut gained) = (0.0, 0.0);
    let mut next = 0;
    while next < flows.len() || !present.is_empty() {
        let first = present.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
        let ends = first.map_or(f64::MAX, |(at, _)| {
            now + (at - gained) * present.len() as f64
        });
        let starts = flows.get(next).map_or(f64::MAX, |flow| flow.0);
        let until = ends.min(starts);
        if let Some((at, flow)) = first {
            gained += (until - now) / present.len() as f64;
            if ends <= starts {
                gained = at;
                left[flow] = until - flows[flow].0;
                present.retain(|&(_, other)| other != flow);
            }
        }
        now = until;
        if starts < ends {
            present.push((gained + flows[next].1, next));
            next += 1;
        }
    }
    left
}

/// Returns exponential sizes: quantiles at thousandths with linear interpolation, up to 15 times the mean.
fn exponential_sizes(mean: f64) -> SizeDistribution {
    let at = |cumulative: f64| Point {
        bytes: (-(-cumulative).ln_1p() * mean).round() as u64,
        cumulative,
    };
    let body = (0..1_000).map(|i| at(f64::from(i) / 1_000.0));
    let tail = (1..=400).map(|i| at(1.0 - 1e-3 * (-0.02 * f64::from(i)).exp()));
    let end = Point {
        bytes: (15.0 * mean) as u64,
        cumulative: 1.0,
    };
    let points = body.chain(tail).chain([end]).collect();
    SizeDistribution::new(points).expect("a distribution")
}

#[test]
fn exponential_flows_at_one_bottleneck_take_as_long_as_under_processor_sharing() {
    // With exponential sizes, all disciplines that keep the link busy and do not use the sizes have the same mean.
    // Processor sharing has the same mean (Kleinrock, volume 2, section 3.3).
    // TCP is a discipline without sizes, fair or not.
    // The comparison with the same flows under exact processor sharing removes most of the random error.
    let threshold = 20;
    let sizes = exponential_sizes(1e6);
    let seconds_at_line = |bytes: f64| bytes / PAYLOAD * FULL as f64 * 8.0 / 10e9;
    let queue = QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(2_000),
        mark_above: Some(Limit::Packets(threshold)),
    });
    for load in [0.3, 0.6, 0.8] {
        let per_second = load / seconds_at_line(sizes.mean());
        let (mut sojourns, mut extra) = (Vec::new(), Vec::new());
        for seed in 0..16 {
            let flows = FlowsSpec::Open(OpenSpec {
                sizes: Arc::new(sizes.clone()),
                arrivals: Arrivals::Poisson,
                matrix: MatrixSpec::Incast {
                    senders: 24,
                    receiver: 0,
                },
                rate: OfferedRate::FlowsPerSecond(per_second),
                from: Duration::ZERO,
                until: Duration::from_secs_f64(400.0 / per_second),
                max_flows: None,
                fan_in: None,
            });
            let shape = star(24, 10, queue.clone(), Duration::from_us(1));
            let mut config = config("dctcp", "star", shape, workload("exponential", vec![flows]));
            config.seed = seed;
            let record = simulate(&config);
            assert_eq!(record.totals.drops.total().packets, 0);
            let customer = |flow: &FlowRecord| {
                let service = seconds_at_line(flow.bytes.0 as f64);
                (flow.start.as_secs_f64(), service)
            };
            let ideal = shared_evenly(&record.flows.iter().map(customer).collect::<Vec<_>>());
            let mean = |series: &[f64]| series.iter().sum::<f64>() / series.len() as f64;
            sojourns.push(mean(&ideal));
            extra.push(mean(&completion_times(&record)) - mean(&ideal));
        }
        let exact = processor_sharing::mean_sojourn(per_second, seconds_at_line(sizes.mean()));
        let sampled = mean_interval(&sojourns, 0.99);
        let extra = mean_interval(&extra, 0.99);
        // The latency of a flow is the handshake, the path delay, and twice the standing queue.
        // The SYN and the data each wait in the queue.
        let way = seconds_at_line(2.0 * pipe(10, Duration::from_us(1)) * PAYLOAD);
        let queued = seconds_at_line(2.0 * f64::from(threshold) * PAYLOAD);
        println!(
            "processor sharing at {load}: closed form {:.1} us, of the flows drawn {:.1} to {:.1}; \
             DCTCP {:+.1} us ({:+.1} to {:+.1}), latency explains 0 to {:+.1}",
            exact * 1e6,
            sampled.low * 1e6,
            sampled.high * 1e6,
            extra.estimate * 1e6,
            extra.low * 1e6,
            extra.high * 1e6,
            (way + queued) * 1e6,
        );
        assert!(extra.high > 0.0 && extra.low < way + queued, "{extra:?}");
        assert!(extra.high - extra.low < 0.15 * exact, "{extra:?}");
    }
}
