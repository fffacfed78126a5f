//! Requests at stations: comparison with queueing theory, and effects of duplicates.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{config, queue_of, simulate, single_switch};
use tailcut_oracle::queueing::{Service, mg1, mm1, priority, processor_sharing};
use tailcut_oracle::statistics::{Interval, batch_means};
use tailcut_record::{RequestRecord, RunRecord};
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::requests::{Discipline, Preemption, Station, Trigger};
use tailcut_sim::workload::{Arrivals, Class, SizeDistribution, Stream, WorkTimes};
use tailcut_sim::{
    FlowsSpec, RequestParameters, RequestRate, RequestsPart, RunConfig, WorkloadPart, WorkloadSpec,
};
use tailcut_units::{Bytes, Duration, Rate, Time};

/// Returns a run with ten clients and ten servers with links of 1 Gb/s.
/// Objects have 1 MB in 64 chunks, and take 8 ms each.
fn requests(design: &str, load: f64, count: u64) -> RunConfig {
    let part = RequestsPart {
        sizes: Arc::new(SizeDistribution::fixed(1_000_000)),
        clients: 10,
        servers: 10,
        arrivals: Arrivals::Poisson,
        rate: RequestRate::Load(load),
        from: Duration::ZERO,
        until: Duration::from_ms(100_000_000),
        max_requests: Some(count),
    };
    let workload = WorkloadSpec {
        name: "requests".to_owned(),
        load: Some(load),
        weights: Arc::default(),
        parts: vec![WorkloadPart {
            class: Class::Foreground,
            path: None,
            flows: FlowsSpec::Requests(part),
        }],
    };
    let mut config = config("tcp", "none", single_switch(2, queue_of(100)), workload);
    config.stack = design.parse().expect("a design");
    config.drain = Duration::from_ms(100_000_000);
    config.settings.designs.requests = RequestParameters {
        chunk: Bytes(15_625),
        ..RequestParameters::default()
    };
    config
}

fn of_requests(config: &mut RunConfig) -> &mut RequestsPart {
    match &mut config.workload.parts[0].flows {
        FlowsSpec::Requests(part) => part,
        other => panic!("{other:?}"),
    }
}

fn latencies(record: &RunRecord) -> Vec<f64> {
    let latency = |request: &RequestRecord| request.latency.expect("it is done").as_secs_f64();
    record.requests.iter().map(latency).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn agrees(what: &str, series: &[f64], exact: f64, widest: f64) {
    let interval: Interval = batch_means(series, 20, 0.999);
    assert!(
        interval.contains(exact) && interval.relative_half_width() < widest,
        "{what}: {exact} and {interval:?}"
    );
}

#[test]
fn low_duplicates_leave_every_primary_on_the_path_that_it_has_without_them() {
    for discipline in [Discipline::Fifo, Discipline::ProcessorSharing] {
        for load in [0.2, 0.5, 0.8] {
            let run = |design: &str| {
                let mut config = requests(design, load, 3_000);
                config.settings.designs.requests.discipline = discipline;
                config.settings.designs.requests.work.cpu = Duration::from_ms(2);
                config.settings.designs.requests.work.cpu_times = WorkTimes::Exponential;
                config.settings.designs.requests.client_link = Some(Rate::from_gbps(4));
                simulate(&config)
            };
            let (single, low) = (run("stations"), run("duplicate-low"));
            let mut won = [0, 0];
            for (alone, beside) in single.requests.iter().zip(&low.requests) {
                let winner = beside.winner.expect("it is done");
                won[winner as usize] += 1;
                match winner {
                    0 => assert_eq!(alone.latency, beside.latency, "{beside:?}"),
                    _ => assert!(beside.latency < alone.latency, "{beside:?}"),
                }
            }
            assert!(won[0] > 0 && won[1] > 0, "{won:?} at {load}");
        }
    }
}

#[test]
fn two_equal_copies_pay_at_a_tenth_of_the_load_and_diverge_beyond_half() {
    let of = |design: &str, load: f64| latencies(&simulate(&requests(design, load, 8_000)));
    let gain = |load: f64| 1.0 - mean(&of("duplicate", load)) / mean(&of("stations", load));
    assert!(gain(0.1) > 0.01, "{}", gain(0.1));
    assert!(gain(0.4) < -0.2, "{}", gain(0.4));
    // At a load below one half, the last requests are as fast as the requests in the middle of the run.
    // At a load above one half, the queue grows during the whole run.
    let growth = |load: f64| {
        let series = of("duplicate", load);
        let quarter = series.len() / 4;
        mean(&series[3 * quarter..]) / mean(&series[quarter..2 * quarter])
    };
    assert!(growth(0.4) < 1.5, "{}", growth(0.4));
    assert!(growth(0.6) > 1.8, "{}", growth(0.6));
    let last = |design: &str| *of(design, 0.6).last().expect("requests");
    assert!(last("duplicate") > 20.0 * last("das"));
}

#[test]
fn priority_and_purging_delay_no_request_at_any_load() {
    for discipline in [Discipline::Fifo, Discipline::ProcessorSharing] {
        for load in [0.1, 0.5, 0.9, 0.97] {
            for (design, copies) in [("das", 2), ("rans", 2), ("rans", 3)] {
                let run = |design: &str| {
                    let mut config = requests(design, load, 2_000);
                    config.settings.designs.requests.copies = copies;
                    config.settings.designs.requests.discipline = discipline;
                    simulate(&config)
                };
                let (single, duplicated) = (run("stations"), run(design));
                // Processor sharing rounds the clock when the number of jobs changes.
                // Each rounding error is a fraction of a picosecond.
                let rounding = match discipline {
                    Discipline::Fifo => Duration::ZERO,
                    Discipline::ProcessorSharing => Duration::from_ns(1),
                };
                for (alone, duplicate) in single.requests.iter().zip(&duplicated.requests) {
                    let (alone, duplicate) = (alone.latency.unwrap(), duplicate.latency.unwrap());
                    assert!(
                        duplicate <= alone + rounding,
                        "{design} at load {load}: {duplicate} with duplicates, {alone} alone"
                    );
                }
            }
        }
    }
}

#[test]
fn bytes_of_both_copies_sum_to_the_object_and_what_was_sent_beyond_is_called_wasted() {
    for design in [
        "stations",
        "duplicate",
        "duplicate-purge",
        "duplicate-low",
        "das",
        "rans",
    ] {
        let record = simulate(&requests(design, 0.4, 2_000));
        for request in &record.requests {
            assert_eq!(request.sent.0 - request.wasted.0, 1_000_000, "{request:?}");
            let most = 1_000_000 * u64::from(request.copies);
            assert!(request.sent.0 <= most, "{design}: {request:?}");
        }
        let summary = record.summary().requests.expect("requests");
        let amplification = summary.amplification().expect("bytes");
        match design {
            "stations" => assert_eq!(amplification, 1.0),
            "duplicate" | "duplicate-low" => assert_eq!(amplification, 2.0),
            // The two copies overlap by at most a chunk each, and a purge takes at least 50 us.
            "rans" => assert!(amplification < 1.05, "{amplification}"),
            _ => assert!(amplification < 2.0, "{design}: {amplification}"),
        }
    }
}

#[test]
fn bytes_of_every_copy_count_however_many_there_are() {
    let run = |copies: u8| {
        let mut config = requests("rans", 0.05, 1_000);
        config.settings.designs.requests.copies = copies;
        simulate(&config)
    };
    let alone = mean(&latencies(&run(2)));
    for copies in [3, 4] {
        let record = run(copies);
        let share = mean(&latencies(&record)) / alone;
        // Idle servers share the object evenly, except for one or two of 64 chunks.
        let ideal = 2.0 / f64::from(copies);
        assert!(share < ideal + 0.15, "{copies} copies: {share}");
        for request in &record.requests {
            assert_eq!(request.sent.0 - request.wasted.0, 1_000_000, "{request:?}");
            assert!(request.wasted.0 < 150_000, "{request:?}");
        }
    }
}

#[test]
fn a_slower_purge_wastes_more_and_never_helps() {
    let run = |ms: u64| {
        let mut config = requests("rans", 0.7, 4_000);
        config.settings.designs.requests.purge_delay = Some(Duration::from_ms(ms));
        let record = simulate(&config);
        let wasted = record.summary().requests.expect("requests").wasted_bytes;
        let slowest = record
            .requests
            .iter()
            .filter_map(|request| request.purge)
            .max();
        (mean(&latencies(&record)), wasted, slowest.expect("purges"))
    };
    let (fast, slow) = (run(1), run(4));
    assert!(fast.0 < slow.0 && fast.1 < slow.1, "{fast:?} {slow:?}");
    assert!(slow.2 <= Duration::from_ms(4));
}

#[test]
fn a_quorum_waits_for_its_slowest_answer_and_a_low_third_copy_makes_that_faster() {
    let run = |design: &str| {
        let mut config = requests(design, 0.6, 3_000);
        config.settings.designs.requests.copies = 3;
        config.settings.designs.requests.quorum = 2;
        simulate(&config)
    };
    let (two, three) = (run("stations"), run("das"));
    assert!(
        two.requests
            .iter()
            .all(|r| (r.copies, r.sent.0) == (2, 2_000_000))
    );
    assert!(
        three
            .requests
            .iter()
            .all(|r| r.copies == 3 && r.latency.is_some())
    );
    assert!(mean(&latencies(&three)) < 0.95 * mean(&latencies(&two)));
}

/// Returns a run with one client, and one server whose processor needs 1 ms on average.
/// The transfer of bytes takes a negligible time.
fn processor(load: f64, count: u64) -> RunConfig {
    let mut config = requests("stations", load, count);
    let part = of_requests(&mut config);
    (part.clients, part.servers) = (1, 1);
    part.sizes = Arc::new(SizeDistribution::fixed(1));
    config.settings.designs.requests.work.cpu = Duration::from_ms(1);
    config.settings.designs.requests.delay = Duration::ZERO;
    config.settings.designs.requests.link = Rate::from_gbps(100);
    config
}

#[test]
fn exponential_work_takes_as_long_as_in_mm1() {
    for load in [0.3, 0.7] {
        let mut config = processor(load, 200_000);
        config.settings.designs.requests.work.cpu_times = WorkTimes::Exponential;
        let exact = mm1::mean_sojourn(load / 1e-3, 1e3);
        let series = latencies(&simulate(&config));
        agrees(&format!("M/M/1 at {load}"), &series, exact, 0.06);
    }
}

#[test]
fn stragglers_wait_as_pollaczek_and_khinchine_say() {
    let load = 0.6;
    let mut config = processor(load, 200_000);
    config.settings.designs.requests.work.straggler_share = 0.1;
    config.settings.designs.requests.work.straggler_factor = 5.0;
    let service = Service::Piecewise(vec![(1e-3, 0.9), (5e-3, 0.9), (5e-3 + 1e-12, 1.0)]);
    let rate = load / service.mean();
    let exact = mg1::mean_wait(rate, &service) + service.mean();
    agrees("M/G/1", &latencies(&simulate(&config)), exact, 0.06);
}

#[test]
fn a_shared_link_takes_as_long_as_processor_sharing_whatever_the_sizes() {
    let load = 0.6;
    for sizes in [
        SizeDistribution::fixed(1_000_000),
        SizeDistribution::uniform(1_000, 1_999_000),
    ] {
        let mut config = requests("stations", load, 200_000);
        let part = of_requests(&mut config);
        (part.clients, part.servers) = (1, 1);
        let mean = sizes.mean() * 8e-9;
        part.sizes = Arc::new(sizes);
        config.settings.designs.requests.discipline = Discipline::ProcessorSharing;
        config.settings.designs.requests.delay = Duration::ZERO;
        config.settings.designs.requests.chunk = Bytes(2_000_000);
        let exact = processor_sharing::mean_sojourn(load / mean, mean);
        agrees("sharing", &latencies(&simulate(&config)), exact, 0.06);
    }
}

/// Returns the sojourn times of both classes at a station.
/// Arrivals are Poisson with `rates`, and the work is exponential with a mean of 1 ms.
fn two_classes(preemption: Preemption, rates: [f64; 2], jobs: u64) -> [Vec<f64>; 2] {
    let mut station = Station::new(Discipline::Fifo, preemption);
    let mut streams = [0, 1].map(|class| Stream::new(7, 0x7465_7374, class));
    let mut next = [Time::ZERO; 2];
    let mut started = Vec::new();
    let mut sojourns = [Vec::new(), Vec::new()];
    let mut collect = |station: &mut Station, started: &[(Time, usize)]| {
        while let Some(done) = station.poll_progress() {
            let (start, class): (Time, usize) = started[done.job as usize];
            sojourns[class].push(done.time.since(start).as_secs_f64());
        }
    };
    for job in 0..jobs {
        let class = usize::from(next[1] < next[0]);
        let now = next[class];
        let work = Duration::from_secs_f64(streams[class].exponential() * 1e-3);
        let gap = streams[class].exponential() / rates[class];
        next[class] += Duration::from_secs_f64(gap);
        started.push((now, class));
        station.add(now, job, class as u8, work, work);
        collect(&mut station, &started);
    }
    while let Some(due) = station.next_timeout() {
        station.advance(due);
        collect(&mut station, &started);
    }
    sojourns
}

#[test]
fn both_classes_take_as_long_as_cobham_says_with_and_without_preemption() {
    let rates = [300.0, 400.0];
    let service = Service::Exponential(1e-3);
    let classes = rates.map(|rate| (rate, &service));
    let resume = two_classes(Preemption::Resume, rates, 400_000);
    let never = two_classes(Preemption::Never, rates, 400_000);
    for class in [0, 1] {
        let exact = priority::preemptive_sojourn(&classes, class);
        agrees(
            &format!("preemptive, class {class}"),
            &resume[class],
            exact,
            0.05,
        );
        let exact = priority::non_preemptive_wait(&classes, class) + 1e-3;
        agrees(
            &format!("not preemptive, class {class}"),
            &never[class],
            exact,
            0.05,
        );
    }
}

#[test]
fn a_link_that_does_not_interrupt_costs_a_primary_one_chunk_or_one_object_at_most() {
    for (preemption, residual) in [
        (Preemption::Unit, Duration::from_us(125)),
        (Preemption::Never, Duration::from_ms(8)),
    ] {
        let run = |design: &str| {
            let mut config = requests(design, 0.6, 4_000);
            config.settings.designs.requests.preemption = preemption;
            simulate(&config)
        };
        let (single, low) = (run("stations"), run("duplicate-low"));
        let mut delayed = 0;
        for (alone, beside) in single.requests.iter().zip(&low.requests) {
            let (alone, beside) = (alone.latency.unwrap(), beside.latency.unwrap());
            assert!(beside <= alone + residual, "{beside} after {alone}");
            delayed += u32::from(beside > alone);
        }
        assert!(delayed > 100, "{delayed} with {preemption:?}");
    }
}

#[test]
fn a_hedge_after_a_fixed_delay_collapses_where_servers_do_not_hear_of_its_end() {
    // The work of the 40 servers is exponential. One copy in twenty takes ten times as long.
    // The delay of the hedge is the 95th percentile of an idle server.
    let run = |design: &str| {
        let mut config = requests(design, 0.8, 20_000);
        let part = of_requests(&mut config);
        (part.clients, part.servers) = (20, 40);
        part.sizes = Arc::new(SizeDistribution::fixed(1));
        let work = &mut config.settings.designs.requests.work;
        (work.cpu, work.cpu_times) = (Duration::from_ms(1), WorkTimes::Exponential);
        (work.straggler_share, work.straggler_factor) = (0.05, 10.0);
        config.settings.designs.requests.hedge = Trigger::After(Duration::from_us(4_350));
        simulate(&config)
    };
    let p99 = |record: &RunRecord| {
        let latency = record.summary().requests.expect("requests").latency;
        latency.p99_us.expect("finished")
    };
    let single = p99(&run("stations"));
    assert!(p99(&run("hedge")) > 5.0 * single);
    assert!(p99(&run("hedge-purge")) < 0.5 * single);
    assert!(p99(&run("das")) < 0.2 * single);
    // If a purge also stops running work immediately, priorities give no further advantage.
    assert!(p99(&run("duplicate-purge")) < p99(&run("das")));
}

#[test]
fn a_run_is_the_same_on_either_engine_and_twice() {
    for design in ["stations", "rans", "hedge-budget", "duplicate-purge"] {
        let mut config = requests(design, 0.7, 2_000);
        config.settings.designs.requests.client_link = Some(Rate::from_gbps(2));
        config.settings.designs.requests.discipline = Discipline::ProcessorSharing;
        let first = simulate(&config).hash();
        assert_eq!(simulate(&config).hash(), first);
        config.engine = EngineKind::Heap;
        assert_eq!(simulate(&config).hash(), first, "{design}");
    }
}

#[test]
fn all_designs_see_the_same_requests() {
    let of = |design: &str| {
        let record = simulate(&requests(design, 0.5, 1_000));
        let key = |r: &RequestRecord| (r.request, r.client, r.server, r.bytes, r.start);
        record.requests.iter().map(key).collect::<Vec<_>>()
    };
    let first = of("stations");
    for design in ["duplicate", "rans", "hedge"] {
        assert_eq!(of(design), first, "{design}");
    }
}
