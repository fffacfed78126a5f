//! Transports at one bottleneck against what theory says of them.

use crate::support::{
    Run, completion_times, config, gigabit, queue_of, simulate, single_switch, workload,
};
use std::sync::Arc;
use tailcut_oracle::dctcp::Steady;
use tailcut_oracle::ideal::{self, Hop};
use tailcut_oracle::queueing::processor_sharing;
use tailcut_oracle::statistics::{Interval, mean_interval};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{CustomLink, CustomTopology, Node};
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{
    BurstPart, FlowsSpec, MatrixSpec, OfferedRate, OpenSpec, RunConfig, Shape, WorkloadSpec,
};
use tailcut_units::{Duration, HostId, Rate, Time};

const FULL: u64 = 1_538;
const PAYLOAD: f64 = 1_460.0;

/// Senders on fast links, a receiver (host 0) on one link of `gbps`.
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
    }))
}

/// One flow from each of so many senders to host 0, all at once.
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

/// The port in front of the receiver.
fn bottleneck(config: &RunConfig) -> u32 {
    let links = Run::of(config).topology.links;
    let to_receiver = links.iter().position(|link| link.to == Node::Host(HostId(0)));
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
        // The first SYN meets nobody; from its data on the port never idles.
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

/// What each flow of a run that is cut off got through the bottleneck in each interval, as far as
/// the host's own link shows it: shares of the bottleneck's rate.
fn shares(record: &RunRecord, senders: u32, skip: usize, group: usize) -> Vec<Vec<f64>> {
    let mut instants: Vec<Time> = record.links.iter().map(|sample| sample.time).collect();
    instants.dedup();
    let at = |time| instants.binary_search(&time).expect("an instant");
    let mut bytes = vec![vec![0.0; instants.len()]; senders as usize + 1];
    for sample in record.links.iter().filter(|s| s.link <= senders) {
        bytes[sample.link as usize][at(sample.time)] = sample.bytes.0 as f64;
    }
    let instants = skip..instants.len() - 1;
    let totals: Vec<f64> = instants
        .clone()
        .map(|i| bytes[1..].iter().map(|series| series[i]).sum())
        .collect();
    bytes[1..]
        .iter()
        .map(|series| {
            series[instants.clone()]
                .chunks_exact(group)
                .zip(totals.chunks_exact(group))
                .map(|(own, all)| own.iter().sum::<f64>() / all.iter().sum::<f64>())
                .collect()
        })
        .collect()
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
        config.drain = Duration::from_ms(1_500);
        config.sample_every = Some(Duration::from_ms(5));
        let record = simulate(&config);
        let shares = shares(&record, senders, 20, 14);
        for (flow, series) in shares.iter().enumerate() {
            let share = mean_interval(series, 0.99);
            println!(
                "{design}: flow {flow} has {:.4} in {:.4} to {:.4} of the bottleneck",
                share.estimate, share.low, share.high
            );
        }
        let port = &record.ports[bottleneck(&config) as usize];
        let used = port.bytes.0 as f64 * 8.0 / 1e9 / record.totals.simulated.as_secs_f64();
        println!("{design}: {:.4} of the bottleneck used, {:?}", used, record.summary().drops);
    }
}

/// A star whose bottleneck of 10 Gb/s marks above a threshold, and its round trip in packets.
fn marking_star(flows: u32, threshold: u32, delay: Duration) -> (Shape, f64) {
    let queue = QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(1_000),
        mark_above: Some(Limit::Packets(threshold)),
    });
    (star(flows, 10, queue, delay), pipe(10, delay))
}

/// The packets that a round trip without queues holds in a star of these links.
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
    for (flows, threshold, delay_us) in
        [(1, 20, 50), (2, 20, 25), (2, 65, 100), (4, 40, 100), (10, 65, 25)]
    {
        let (shape, pipe) = marking_star(flows, threshold, Duration::from_us(delay_us));
        let mut config = config("dctcp", "star", shape, all_at_once(flows, 1_000_000_000));
        config.tcp.delayed_ack = None;
        config.drain = Duration::from_ms(400);
        config.sample_every = Some(Duration::from_us(20));
        let record = simulate(&config);
        let port = bottleneck(&config);
        let steady = Steady {
            pipe,
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
        // A window is whole packets, and flows do not all cut at once: each figure is right to one.
        assert!((amplitude - steady.window_amplitude()).abs() < 1.0);
        assert!(longest > steady.threshold && longest <= steady.largest_queue() + 1.0);
        assert!(shortest >= steady.smallest_queue() - steady.flows);
        assert!(shortest > 0.0, "so the link never idles");
        assert_eq!(totals.dropped, 0);
    }
}

/// The share of a link that one Reno flow keeps busy: its window climbs by a packet a round trip
/// from half of what pipe and buffer hold, and a round trip takes a window's time or the pipe's.
fn sawtooth_utilisation(pipe: f64, buffer: f64) -> f64 {
    let top = (pipe + buffer).floor();
    let windows = || (0..).map(|i| (top / 2.0).floor() + f64::from(i)).take_while(|&w| w <= top);
    windows().sum::<f64>() / windows().map(|w| w.max(pipe)).sum::<f64>()
}

#[test]
fn one_flow_keeps_the_link_as_busy_as_its_sawtooth_allows() {
    for (design, buffer) in [("tcp", 4), ("tcp", 20), ("tcp", 60), ("tcp", 100), ("cubic", 4), ("cubic", 20), ("cubic", 60)] {
        let queue = QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(buffer),
            mark_above: None,
        });
        let delay = Duration::from_us(250);
        let pipe = pipe(1, delay);
        let shape = star(1, 1, queue, delay);
        let mut config = config(design, "star", shape, all_at_once(1, 1_000_000_000));
        config.tcp.delayed_ack = None;
        config.drain = Duration::from_ms(4_000);
        config.sample_every = Some(Duration::from_ms(100));
        let record = simulate(&config);
        let port = bottleneck(&config);
        let used: Vec<f64> = record.links.iter().filter(|s| s.link == port).map(|s| s.utilisation).skip(5).collect();
        let used = mean_interval(&used, 0.99);
        println!("{design} pipe {pipe:.1} buffer {buffer}: {used:?}; sawtooth {:.4} {:?} {:?}", sawtooth_utilisation(pipe, f64::from(buffer)+1.0), record.totals.drops, record.flows[0]);
    }
}

#[test]
fn flows_at_one_bottleneck_finish_as_under_processor_sharing() {
    for load in [0.3, 0.6, 0.8] {
        let queue = QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(2_000),
            mark_above: Some(Limit::Packets(20)),
        });
        let (smallest, largest) = (200_000, 1_800_000);
        let delay = Duration::from_us(1);
        let seconds = |bytes: f64| bytes / PAYLOAD * FULL as f64 * 8.0 / 10e9;
        let per_second = load / seconds(1e6);
        let means: Vec<f64> = (0..12)
            .map(|seed| {
                let flows = FlowsSpec::Open(OpenSpec {
                    sizes: Arc::new(SizeDistribution::uniform(smallest, largest)),
                    arrivals: Arrivals::Poisson,
                    matrix: MatrixSpec::Incast { senders: 24, receiver: 0 },
                    rate: OfferedRate::FlowsPerSecond(per_second),
                    from: Duration::ZERO,
                    until: Duration::from_secs_f64(500.0 / per_second),
                    max_flows: None,
                    fan_in: None,
                });
                let shape = star(24, 10, queue.clone(), delay);
                let mut config = config("dctcp", "star", shape, workload("uniform", vec![flows]));
                config.seed = seed;
                let record = simulate(&config);
                assert_eq!(record.totals.drops.total().packets, 0);
                let times = completion_times(&record);
                let settled = &times[times.len() / 5..];
                settled.iter().sum::<f64>() / settled.len() as f64
            })
            .collect();
        let measured = mean_interval(&means, 0.99);
        let model = processor_sharing::mean_sojourn(per_second, seconds(1e6));
        println!("PS at {load}: {measured:?} model {model:.3e} fcfs {:.3e}", seconds(1e6) * (1.0 + load * (1.0 + 0.64 / 3.0) / 2.0 / (1.0 - load)));
    }
}
