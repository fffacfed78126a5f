//! Tests of sources: rates of arrivals, independence of hosts, loads, bursts and closed loops.

use std::collections::{BTreeMap, BTreeSet};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};
use tailcut_workload::{
    Arrivals, Burst, BurstSpec, Class, ClosedLoop, ClosedLoopSpec, Error, FanIn, Flow, Framing,
    Generated, GeneratedSpec, Load, LoadUnit, Matrix, Merge, Racks, ReferenceCapacity,
    SizeDistribution, Source, Stream, ThinkTime,
};

fn hosts(n: u32) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}

fn seconds(secs: f64) -> Time {
    Time::ZERO.saturating_add(Duration::from_secs_f64(secs))
}

fn open_loop(n: u32, flows_per_second: f64) -> GeneratedSpec {
    GeneratedSpec {
        seed: 11,
        label: 0,
        matrix: Matrix::anywhere(&hosts(n), &hosts(n)).expect("a matrix"),
        sizes: SizeDistribution::named("websearch").expect("a known name"),
        arrivals: Arrivals::Poisson,
        flows_per_second,
        start: Time::ZERO,
        until: seconds(1.0),
        arrivals_at_most: None,
        fan_in: None,
        class: Class::Foreground,
        path: None,
    }
}

fn all(mut source: impl Source) -> Vec<Flow> {
    let mut flows = Vec::new();
    while let Some(start) = source.peek() {
        let flow = source.next().expect("what peek announced");
        assert_eq!(flow.start, start);
        flows.push(flow);
    }
    assert_eq!(source.next(), None);
    flows
}

fn generate(spec: GeneratedSpec) -> Vec<Flow> {
    all(Generated::new(spec).expect("a workload"))
}

#[test]
fn flows_come_in_the_order_of_their_starts_and_are_numbered_in_it() {
    let flows = generate(open_loop(16, 20_000.0));
    assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
    assert!((0..).zip(&flows).all(|(id, flow)| flow.id == FlowId(id)));
    assert!(flows.iter().all(|flow| flow.src != flow.dst));
    assert!(flows.iter().all(|flow| flow.start < seconds(1.0)));
}

#[test]
fn poisson_arrivals_have_exponential_gaps() {
    let flows = generate(open_loop(16, 50_000.0));
    // The arrivals of all hosts together are a Poisson process, so the gaps between them are exponential.
    let mut gaps: Vec<f64> = flows
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start).as_secs_f64() * 50_000.0)
        .collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = (1..)
        .zip(&gaps)
        .map(|(rank, gap)| {
            let expected = 1.0 - (-gap).exp();
            (f64::from(rank) / n - expected).abs()
        })
        .fold(0.0, f64::max);
    // The probability of a Kolmogorov-Smirnov distance above 1.95 / sqrt(n) is 0.001.
    assert!(
        distance < 1.95 / n.sqrt(),
        "distance {distance} with {n} gaps"
    );
    // The number of arrivals in a second has a Poisson distribution. The limit is four standard deviations.
    assert!(
        (n - 50_000.0).abs() < 4.0 * 50_000f64.sqrt(),
        "{n} arrivals"
    );
}

#[test]
fn every_arrival_process_is_stationary_from_time_zero() {
    // The expected number of arrivals in [0, t) is rate t, also if t is shorter than the mean gap.
    for arrivals in [Arrivals::Poisson, Arrivals::Uniform, Arrivals::Fixed] {
        let mut stream = Stream::new(3, 3, 3);
        for t in [0.3, 0.8, 1.4, 2.2] {
            let runs = 40_000;
            let mut count = 0.0;
            for _ in 0..runs {
                let mut at = arrivals.first_gap(1.0, &mut stream).as_secs_f64();
                while at < t {
                    count += 1.0;
                    at += arrivals.gap(1.0, &mut stream).as_secs_f64();
                }
            }
            let mean = count / f64::from(runs);
            // The variance of the number of arrivals is at most t, the variance of the Poisson process.
            let error = (t / f64::from(runs)).sqrt();
            assert!(
                (mean - t).abs() < 4.0 * error,
                "{arrivals:?}: {mean} arrivals in {t} +- {error}"
            );
        }
    }
}

#[test]
fn uniform_gaps_lie_between_half_and_one_and_a_half_means() {
    let mut stream = Stream::new(1, 1, 1);
    for _ in 0..10_000 {
        let gap = Arrivals::Uniform.gap(1_000.0, &mut stream).as_secs_f64();
        assert!((0.000_5..=0.001_5).contains(&gap), "{gap}");
    }
    assert_eq!(
        Arrivals::Fixed.gap(1_000.0, &mut stream),
        Duration::from_ms(1)
    );
}

#[test]
fn adding_a_host_changes_no_other_hosts_arrivals_and_sizes() {
    let per_host = 1_000.0;
    let few = generate(open_loop(8, 8.0 * per_host));
    let many = generate(open_loop(9, 9.0 * per_host));
    let drawn = |flows: &[Flow]| -> Vec<(Time, HostId, u64)> {
        flows
            .iter()
            .filter(|flow| flow.src != HostId(8))
            .map(|flow| (flow.start, flow.src, flow.bytes))
            .collect()
    };
    assert_eq!(drawn(&few), drawn(&many));
    assert!(many.iter().any(|flow| flow.src == HostId(8)));
}

#[test]
fn adding_a_sender_changes_no_flow_of_the_others_when_the_receivers_stay() {
    let with = |senders: u32| {
        let receivers: Vec<HostId> = (100..110).map(HostId).collect();
        generate(GeneratedSpec {
            matrix: Matrix::anywhere(&hosts(senders), &receivers).expect("a matrix"),
            ..open_loop(2, f64::from(senders) * 1_000.0)
        })
    };
    let unnumbered = |flows: Vec<Flow>| -> Vec<Flow> {
        let others = flows.into_iter().filter(|flow| flow.src != HostId(8));
        others
            .map(|flow| Flow {
                id: FlowId(0),
                ..flow
            })
            .collect()
    };
    assert_eq!(unnumbered(with(8)), unnumbered(with(9)));
}

#[test]
fn two_workloads_of_one_run_draw_apart() {
    let starts = |label| -> BTreeSet<Time> {
        let spec = GeneratedSpec {
            label,
            ..open_loop(4, 1_000.0)
        };
        generate(spec).iter().map(|flow| flow.start).collect()
    };
    assert!(starts(0).is_disjoint(&starts(1)));
}

/// Checks a sum of `values`, one per Poisson arrival.
/// The sum must differ from `expected` by less than four standard deviations.
/// The variance of the sum is the expected sum of the squares.
fn assert_compound_poisson(values: &[f64], expected: f64) {
    let sum: f64 = values.iter().sum();
    let deviation = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(
        (sum - expected).abs() < 4.0 * deviation,
        "{sum} against {expected}, deviation {deviation}"
    );
    assert!(deviation < 0.02 * expected, "too few flows for the check");
}

#[test]
fn the_load_of_host_links_in_payload_bytes_is_met() {
    let sizes = SizeDistribution::named("websearch").expect("a known name");
    let load = Load {
        fraction: 0.5,
        of: ReferenceCapacity::HostLinks {
            rate: Rate::from_gbps(10),
            senders: 128,
        },
        unit: LoadUnit::Payload,
    };
    let flows_per_second = load.flows_per_second(&sizes).expect("a rate");
    let flows = generate(GeneratedSpec {
        sizes,
        ..open_loop(128, flows_per_second)
    });
    let bytes: Vec<f64> = flows.iter().map(|flow| flow.bytes as f64).collect();
    assert_compound_poisson(&bytes, 0.5 * 128.0 * 1.25e9);
}

#[test]
fn the_load_in_wire_bytes_counts_headers_preamble_and_gap() {
    let sizes = SizeDistribution::named("facebook-hadoop").expect("a known name");
    let framing = Framing::ETHERNET_TCP;
    let load = Load {
        fraction: 0.8,
        of: ReferenceCapacity::HostLinks {
            rate: Rate::from_gbps(1),
            senders: 64,
        },
        unit: LoadUnit::Wire(framing),
    };
    let flows_per_second = load.flows_per_second(&sizes).expect("a rate");
    let flows = generate(GeneratedSpec {
        sizes,
        until: seconds(2.0),
        ..open_loop(64, flows_per_second)
    });
    let wire: Vec<f64> = flows
        .iter()
        .map(|flow| (flow.bytes + flow.bytes.div_ceil(1460) * 78) as f64)
        .collect();
    assert_compound_poisson(&wire, 2.0 * 0.8 * 64.0 * 1.25e8);
}

#[test]
fn the_load_of_a_bottleneck_counts_only_what_crosses_it() {
    // There are two racks of 4 hosts. A flow goes to any of 7 hosts, and 4 of the 7 hosts are in the other rack.
    // The first rack sends half of the traffic between the racks.
    let sizes = SizeDistribution::uniform(1_000, 9_000);
    let load = Load {
        fraction: 0.6,
        of: ReferenceCapacity::Bottleneck {
            rate: Rate::from_gbps(2),
            crossing: 0.5 * 4.0 / 7.0,
        },
        unit: LoadUnit::Payload,
    };
    let flows_per_second = load.flows_per_second(&sizes).expect("a rate");
    let flows = generate(GeneratedSpec {
        sizes,
        ..open_loop(8, flows_per_second)
    });
    let up: Vec<f64> = flows
        .iter()
        .filter(|flow| flow.src.0 < 4 && flow.dst.0 >= 4)
        .map(|flow| flow.bytes as f64)
        .collect();
    assert_compound_poisson(&up, 0.6 * 2.5e8);
}

#[test]
fn a_load_without_meaning_is_an_error() {
    let sizes = SizeDistribution::fixed(1_000);
    let load = |fraction, crossing| Load {
        fraction,
        of: ReferenceCapacity::Bottleneck {
            rate: Rate::from_gbps(1),
            crossing,
        },
        unit: LoadUnit::Payload,
    };
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(load(wrong, 1.0).flows_per_second(&sizes).is_err());
        assert!(load(0.5, wrong).flows_per_second(&sizes).is_err());
        assert!(Generated::new(open_loop(4, wrong)).is_err());
    }
    assert_eq!(
        load(-0.5, 1.0)
            .flows_per_second(&sizes)
            .unwrap_err()
            .to_string(),
        "load: found -0.5; allowed: a number above 0"
    );
}

#[test]
fn every_mouse_brings_ten_more_flows_to_its_receiver_in_eleven_to_one() {
    let fan_in = FanIn {
        degree: 11,
        below: 100_000,
    };
    let plain = generate(open_loop(12, 2_000.0));
    let flows = generate(GeneratedSpec {
        fan_in: Some(fan_in),
        ..open_loop(12, 2_000.0)
    });
    let (incast, rest): (Vec<Flow>, Vec<Flow>) =
        flows.iter().partition(|flow| flow.class == Class::Incast);
    assert!(rest.iter().all(|flow| flow.bytes >= 100_000));
    let mut groups: BTreeMap<Time, Vec<Flow>> = BTreeMap::new();
    for flow in &incast {
        groups.entry(flow.start).or_default().push(*flow);
    }
    for group in groups.values() {
        assert_eq!(group.len(), 11);
        let first = group[0];
        assert!(group.iter().all(|flow| flow.dst == first.dst));
        assert!(group.iter().all(|flow| flow.bytes == first.bytes));
        let senders: BTreeSet<HostId> = group.iter().map(|flow| flow.src).collect();
        assert_eq!(senders.len(), 11);
        assert!(!senders.contains(&first.dst));
    }
    // Without the additional flows of the fan-in, the flows are the same as in a run without a fan-in.
    let arrivals: Vec<(Time, HostId, HostId, u64)> = groups
        .values()
        .map(|group| group[0])
        .chain(rest)
        .map(|flow| (flow.start, flow.src, flow.dst, flow.bytes))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let expected: BTreeSet<_> = plain
        .iter()
        .map(|flow| (flow.start, flow.src, flow.dst, flow.bytes))
        .collect();
    assert_eq!(arrivals, expected.into_iter().collect::<Vec<_>>());
    // The fan-in increases the load by the factor that `load_factor` returns.
    let bytes = |flows: &[Flow]| flows.iter().map(|flow| flow.bytes as f64).sum::<f64>();
    let grown = bytes(&flows) / bytes(&plain);
    let announced = fan_in.load_factor(&SizeDistribution::named("websearch").expect("known"));
    assert!(
        (grown / announced - 1.0).abs() < 0.02,
        "{grown} against {announced}"
    );
}

#[test]
fn a_fan_in_wider_than_the_hosts_is_an_error() {
    let build = |degree| {
        Generated::new(GeneratedSpec {
            fan_in: Some(FanIn {
                degree,
                below: 100_000,
            }),
            ..open_loop(12, 100.0)
        })
    };
    assert!(build(11).is_ok());
    assert_eq!(
        build(12).unwrap_err().to_string(),
        "degree of the fan-in: found 12 with 12 sources; allowed: at least 2 and fewer than the sources"
    );
    assert!(build(1).is_err());
}

#[test]
fn arrivals_stop_at_their_number_or_at_their_end_whichever_is_first() {
    let counted = generate(GeneratedSpec {
        arrivals_at_most: Some(100),
        ..open_loop(4, 10_000.0)
    });
    assert_eq!(counted.len(), 100);
    assert_eq!(counted[..], generate(open_loop(4, 10_000.0))[..100]);
    let late = generate(GeneratedSpec {
        start: seconds(0.5),
        ..open_loop(4, 10_000.0)
    });
    assert!(late[0].start >= seconds(0.5));
}

fn burst(matrix: Matrix) -> BurstSpec {
    BurstSpec {
        seed: 1,
        label: 0,
        matrix,
        sizes: SizeDistribution::fixed(20_000),
        start: seconds(0.001),
        jitter: Duration::ZERO,
        rounds: 1,
        interval: Duration::ZERO,
        class: Class::Incast,
        path: None,
    }
}

#[test]
fn a_pure_incast_starts_every_sender_at_once() {
    let matrix = Matrix::incast(&hosts(8), HostId(8)).expect("a matrix");
    let flows = all(Burst::new(burst(matrix)).expect("a burst"));
    assert_eq!(flows.len(), 8);
    assert!(flows.iter().all(|flow| flow.start == seconds(0.001)));
    assert!(flows.iter().all(|flow| flow.dst == HostId(8)));
    let senders: Vec<HostId> = flows.iter().map(|flow| flow.src).collect();
    assert_eq!(senders, hosts(8));
}

#[test]
fn rounds_of_a_burst_follow_each_other_with_their_jitter() {
    let matrix = Matrix::incast(&hosts(8), HostId(8)).expect("a matrix");
    let spec = BurstSpec {
        jitter: Duration::from_us(10),
        rounds: 3,
        interval: Duration::from_us(100),
        ..burst(matrix)
    };
    let flows = all(Burst::new(spec.clone()).expect("a burst"));
    assert_eq!(flows.len(), 24);
    assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
    for (round, flows) in (0u64..).zip(flows.chunks(8)) {
        let begins = spec.start + spec.interval * round;
        assert!(flows.iter().all(|flow| flow.start >= begins));
        assert!(flows.iter().all(|flow| flow.start <= begins + spec.jitter));
        let senders: BTreeSet<HostId> = flows.iter().map(|flow| flow.src).collect();
        assert_eq!(senders.len(), 8);
    }
    let overlapping = BurstSpec {
        jitter: Duration::from_us(101),
        ..spec
    };
    assert!(matches!(
        Burst::new(overlapping),
        Err(Error::OutOfRange {
            parameter: "jitter",
            ..
        })
    ));
}

#[test]
fn a_pair_listed_twice_draws_apart() {
    let pair = (HostId(0), HostId(1));
    let matrix = Matrix::pairs(&[pair, pair]).expect("a matrix");
    let spec = BurstSpec {
        sizes: SizeDistribution::uniform(1, 1_000_000),
        ..burst(matrix)
    };
    let flows = all(Burst::new(spec).expect("a burst"));
    assert_eq!(flows.len(), 2);
    assert_ne!(flows[0].bytes, flows[1].bytes);
}

fn closed_loop(n: u32, outstanding: u32) -> ClosedLoopSpec {
    ClosedLoopSpec {
        seed: 5,
        label: 0,
        matrix: Matrix::between_racks(&hosts(n), &hosts(n), &Racks::even(n, 2)).expect("a matrix"),
        sizes: SizeDistribution::fixed(1_000),
        outstanding,
        think: ThinkTime::Fixed(Duration::from_us(7)),
        start: Time::ZERO,
        jitter: Duration::ZERO,
        until: seconds(0.01),
        flows_at_most: None,
        class: Class::Foreground,
        path: None,
    }
}

#[test]
fn a_closed_loop_keeps_its_flows_outstanding_and_thinks_between_them() {
    let mut source = ClosedLoop::new(closed_loop(4, 3)).expect("a closed loop");
    let mut outstanding: BTreeMap<HostId, u32> = BTreeMap::new();
    let mut running = Vec::new();
    while source.peek() == Some(Time::ZERO) {
        let flow = source.next().expect("a flow");
        *outstanding.entry(flow.src).or_default() += 1;
        running.push(flow);
    }
    assert_eq!(running.len(), 12);
    assert!(outstanding.values().all(|&count| count == 3));
    assert_eq!(
        source.peek(),
        None,
        "no flow starts before another flow ends"
    );

    let ended = running[4];
    source.completed(Time::from_ns(50_000), ended.id);
    assert_eq!(source.peek(), Some(Time::from_ns(57_000)));
    let next = source.next().expect("the next flow of the same source");
    assert_eq!((next.src, next.id), (ended.src, FlowId(12)));
    source.completed(Time::from_ns(60_000), ended.id);
    assert_eq!(source.peek(), None, "a flow ends once");
}

#[test]
fn a_closed_loop_stops_at_its_end_and_at_its_number_of_flows() {
    let drive = |spec| {
        let mut source = ClosedLoop::new(spec).expect("a closed loop");
        let mut flows = Vec::new();
        while let Some(flow) = source.next() {
            source.completed(flow.start + Duration::from_us(93), flow.id);
            flows.push(flow);
        }
        flows
    };
    // Each host of 4 starts a flow every 93 + 7 us, for 10 ms: 100 flows per host.
    assert_eq!(drive(closed_loop(4, 1)).len(), 400);
    let few = ClosedLoopSpec {
        flows_at_most: Some(10),
        ..closed_loop(4, 1)
    };
    assert_eq!(drive(few).len(), 10);
    assert!(ClosedLoop::new(closed_loop(4, 0)).is_err());
}

#[test]
fn exponential_think_times_have_the_mean_asked_for() {
    let mut source = ClosedLoop::new(ClosedLoopSpec {
        think: ThinkTime::Exponential(Duration::from_us(100)),
        until: Time::MAX,
        flows_at_most: Some(40_000),
        ..closed_loop(4, 1)
    })
    .expect("a closed loop");
    let mut latest: BTreeMap<HostId, Time> = BTreeMap::new();
    let (mut sum, mut count) = (0.0, 0.0);
    while let Some(flow) = source.next() {
        if let Some(before) = latest.insert(flow.src, flow.start) {
            sum += (flow.start - before).as_us_f64();
            count += 1.0;
        }
        source.completed(flow.start, flow.id);
    }
    let mean: f64 = sum / count;
    // The standard deviation of an exponential distribution equals its mean.
    assert!(
        (mean - 100.0).abs() < 4.0 * 100.0 / f64::sqrt(count),
        "{mean}"
    );
}

#[test]
fn merged_sources_are_renumbered_in_the_order_of_start_and_hear_of_their_own_completions() {
    let closed = ClosedLoop::new(closed_loop(4, 1)).expect("a closed loop");
    let open = Generated::new(GeneratedSpec {
        class: Class::Background,
        ..open_loop(4, 50_000.0)
    })
    .expect("an open loop");
    let mut merged = Merge::new(vec![Box::new(closed), Box::new(open)]);
    let mut flows = Vec::new();
    while let Some(start) = merged.peek() {
        if start >= seconds(0.005) {
            break;
        }
        let flow = merged.next().expect("what peek announced");
        assert_eq!(flow.start, start);
        merged.completed(flow.start + Duration::from_us(93), flow.id);
        flows.push(flow);
    }
    assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
    assert!((0..).zip(&flows).all(|(id, flow)| flow.id == FlowId(id)));
    let of = |class| flows.iter().filter(move |flow| flow.class == class);
    // Each host of 4 starts a flow every 100 us, for 5 ms: 50 flows per host.
    assert_eq!(of(Class::Foreground).count(), 200);
    assert!(of(Class::Background).count() > 100);
}
