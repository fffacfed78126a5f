//! Requests over the fabric: the same clients and servers, with connections, queues and purges in the network.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{
    completion_times, named_sizes, poisson, queue_of, requests, simulate, single_switch,
    slow_spines,
};
use tailcut_record::{RequestRecord, RunRecord};
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::topology::{LinkFault, Node, Trouble};
use tailcut_sim::requests::CancelScope;
use tailcut_sim::workload::{Class, SizeDistribution, WorkTimes};
use tailcut_sim::{FlowsSpec, MatrixSpec, RunConfig, RunError, Unattended, WorkloadPart, run};
use tailcut_units::{Bytes, Duration, HostId, Rate, Time};

fn mean_us(record: &RunRecord) -> f64 {
    let summary = record.summary().requests.expect("requests");
    assert_eq!(summary.latency.unfinished, 0);
    summary.latency.mean_us.expect("finished requests")
}

/// Checks that every packet was delivered, was dropped, or is still in the network.
fn in_the_books(record: &RunRecord) {
    let (totals, drops) = (&record.totals, record.totals.drops.total());
    assert_eq!(
        totals.sent.packets,
        totals.delivered.packets + drops.packets + totals.remaining.packets
    );
    assert_eq!(
        totals.sent.bytes,
        totals.delivered.bytes + drops.bytes + totals.remaining.bytes + totals.trimmed.bytes
    );
}

fn purged_packets(record: &RunRecord) -> u64 {
    let purged = record.totals.drops.0.get("purged");
    purged.map_or(0, |count| count.packets)
}

#[test]
fn every_request_is_answered_and_every_byte_is_in_the_books() {
    for (design, lead) in [
        ("dctcp", None),
        ("duplicate-low+dctcp", None),
        ("duplicate-low+tcp", Some(1)),
        ("das+dctcp", None),
        ("das+dctcp", Some(1)),
        ("rans+dctcp", None),
        ("rans+dctcp", Some(5_000)),
        ("hedge-purge+tcp", None),
    ] {
        let mut config = requests(design, 0.5, 400);
        config.settings.designs.requests.swap_lead = lead.map(Bytes);
        let record = simulate(&config);
        in_the_books(&record);
        for request in &record.requests {
            assert!(request.latency.is_some(), "{design}: {request:?}");
            assert!(
                request.sent.0 - request.wasted.0 == 300_000,
                "{design}: {request:?}"
            );
        }
        let purges = ["das", "rans", "hedge-purge"].map(|first| design.starts_with(first));
        let purges = purges.contains(&true);
        assert_eq!(purged_packets(&record) > 0, purges, "{design}");
    }
}

#[test]
fn requests_run_over_every_transport_that_leaves_a_class_to_duplicates() {
    for transport in ["cubic", "pias", "ndp", "ndp-plus", "scdp"] {
        for (duplicates, lead, disk) in [
            ("", None, None),
            ("duplicate-low+", Some(50_000), None),
            ("das+", None, Some(Rate::from_gbps(20))),
            ("rans+", None, None),
            ("rans+", Some(50_000), Some(Rate::from_gbps(20))),
            ("hedge-purge+", None, None),
        ] {
            let design = format!("{duplicates}{transport}");
            let mut config = requests(&design, 0.4, 120);
            config.settings.designs.requests.swap_lead = lead.map(Bytes);
            config.settings.designs.requests.disk = disk;
            config.settings.designs.requests.chunk = Bytes(50_000);
            config.settings.designs.scdp.block_symbols = 20;
            let record = simulate(&config);
            in_the_books(&record);
            for request in &record.requests {
                assert!(request.latency.is_some(), "{design}: {request:?}");
                let counted = request.sent.0 - request.wasted.0;
                assert_eq!(counted, 300_000, "{design}: {request:?}");
            }
            let purges = ["das", "rans"].map(|first| design.starts_with(first));
            if purges.contains(&true) {
                assert!(purged_packets(&record) > 0, "{design}");
            }
        }
    }
}

#[test]
fn switches_that_choose_paths_choose_those_of_requests_too() {
    // Three servers and three clients share four links of 1 Gb/s, with a load of 60 % in both directions.
    // Switches choose a path by the congestion in the direction of the client's packets.
    // The requests are therefore as long as the answers.
    let mean_over = |routing: &str| {
        let mut config = requests(&format!("dctcp{routing}"), 0.08, 2_000);
        config.topology.shape = slow_spines(queue_of(100));
        let FlowsSpec::Requests(part) = &mut config.workload.parts[0].flows else {
            panic!("requests");
        };
        (part.servers, part.clients) = (3, 3);
        config.settings.designs.requests.request_size = Bytes(300_000);
        mean_us(&simulate(&config))
    };
    let (ecmp, expeditus) = (mean_over(""), mean_over("@expeditus"));
    assert!(
        expeditus < 0.9 * ecmp,
        "{expeditus} us where ECMP has {ecmp} us"
    );
}

#[test]
fn a_lone_request_takes_its_round_trips_and_its_bytes_and_a_low_duplicate_does_not_delay_it() {
    let alone = simulate(&requests("dctcp", 0.0001, 5));
    for request in &alone.requests {
        let latency = request.latency.expect("it is done");
        // 300 KB with headers at 10 Gb/s take 252 us. At least two round trips of 4 us and slow start come on top.
        let bytes = Duration::from_us(252);
        assert!(
            latency > bytes && latency < bytes + Duration::from_us(150),
            "{latency}"
        );
    }
    let beside = simulate(&requests("duplicate-low+dctcp", 0.0001, 5));
    for (alone, beside) in alone.requests.iter().zip(&beside.requests) {
        // Both answers use the client's link, where the low copy waits.
        let residual = Duration::from_us(20);
        assert!(beside.latency.unwrap() <= alone.latency.unwrap() + residual);
        assert_eq!(beside.winner, Some(0));
    }
}

#[test]
fn an_answer_flows_while_its_disk_reads() {
    // The disk is as fast as the link: both need 240 us for 300 KB.
    let latency = |chunk: u64| {
        let mut config = requests("dctcp", 0.0001, 5);
        config.settings.designs.requests.disk = Some(Rate::from_gbps(10));
        config.settings.designs.requests.chunk = Bytes(chunk);
        mean_us(&simulate(&config))
    };
    let (by_chunks, whole) = (latency(10_000), latency(300_000));
    assert!(
        by_chunks < whole - 150.0,
        "{by_chunks} us by chunks, {whole} us at once"
    );
}

#[test]
fn low_duplicates_cost_primaries_next_to_nothing_and_equal_ones_cost_them_much() {
    let mean = |design: &str| mean_us(&simulate(&requests(design, 0.6, 1_500)));
    let (single, low, equal) = (
        mean("dctcp"),
        mean("duplicate-low+dctcp"),
        mean("duplicate+dctcp"),
    );
    assert!(low < 1.05 * single, "{low} and {single}");
    assert!(equal > 2.0 * single, "{equal} and {single}");
    let rans = mean("rans+dctcp");
    assert!(rans < 0.9 * single, "{rans} and {single}");
}

#[test]
fn low_duplicates_are_below_the_classes_of_every_transport_and_their_bytes_count() {
    for transport in ["pias", "ndp", "ndp-plus", "scdp"] {
        let mean = |duplicates: &str| {
            let mut config = requests(&format!("{duplicates}{transport}"), 0.5, 500);
            config.settings.designs.scdp.block_symbols = 20;
            mean_us(&simulate(&config))
        };
        let (single, low, rans) = (mean(""), mean("duplicate-low+"), mean("rans+"));
        assert!(low < 1.06 * single, "{transport}: {low} and {single}");
        assert!(rans < 0.9 * single, "{transport}: {rans} and {single}");
    }
}

#[test]
fn a_purge_stops_work_at_a_server_and_takes_a_way_there() {
    let mut config = requests("das+dctcp", 0.6, 600);
    config.settings.designs.requests.work.cpu = Duration::from_us(300);
    config.settings.designs.requests.work.cpu_times = WorkTimes::Exponential;
    let all = simulate(&config);
    in_the_books(&all);
    let of = |record: &RunRecord, figure: fn(&RequestRecord) -> f64| -> f64 {
        record.requests.iter().map(figure).sum()
    };
    let service = |request: &RequestRecord| request.service.as_secs_f64();
    config.settings.designs.requests.purge = CancelScope::Queued;
    let queued = simulate(&config);
    assert!(of(&all, service) < of(&queued, service));
    // A reset crosses two links, and waits behind a few packets.
    let fastest = all
        .requests
        .iter()
        .filter_map(|request| request.purge)
        .min();
    let fastest = fastest.expect("purges");
    assert!(
        fastest >= Duration::from_us(2) && fastest < Duration::from_us(5),
        "{fastest}"
    );
}

/// Returns the run in which two copies exchange their priorities at a lead of `lead` bytes of window.
fn swapping(mut config: RunConfig, lead: u64) -> RunConfig {
    config.settings.designs.requests.swap_lead = Some(Bytes(lead));
    config
}

/// Returns a failure of a server's link for the whole run.
fn trouble_at(server: u32, trouble: Trouble) -> LinkFault {
    LinkFault {
        a: Node::Host(HostId(server)),
        b: Node::Switch(0),
        number: None,
        trouble,
        from: Time::ZERO,
        until: Time::MAX,
        reconvergence: Duration::ZERO,
    }
}

/// Returns the run in which the links of the first servers have `gbps`.
fn slow_servers(mut config: RunConfig, servers: u32, gbps: u64) -> RunConfig {
    let slow = |server| trouble_at(server, Trouble::Slow(Rate::from_gbps(gbps)));
    config.faults.extend((0..servers).map(slow));
    config
}

#[test]
fn bytes_of_three_copies_count() {
    for design in ["rans+dctcp", "rans+pias", "rans+ndp", "rans+scdp"] {
        let mean = |copies: u8| {
            // The links of servers are the bottleneck, even with three copies.
            let mut config = slow_servers(requests(design, 0.02, 60), 6, 2);
            config.settings.designs.requests.copies = copies;
            config.settings.designs.requests.chunk = Bytes(30_000);
            config.settings.designs.scdp.block_symbols = 10;
            let record = simulate(&config);
            in_the_books(&record);
            let copies_sent = record
                .requests
                .iter()
                .all(|r| r.copies == u32::from(copies));
            assert!(copies_sent, "{design}");
            mean_us(&record)
        };
        let (two, three) = (mean(2), mean(3));
        assert!(three < 0.85 * two, "{design}: {three} and {two}");
    }
}

#[test]
fn a_hedge_answers_what_a_dead_server_does_not_from_the_first_request_on() {
    for design in ["hedge+dctcp", "hedge-purge+dctcp", "hedge-budget+dctcp"] {
        let mut config = requests(design, 0.1, 300);
        config.faults.push(trouble_at(0, Trouble::Down));
        config.settings.designs.requests.budget.burst = 100;
        let record = simulate(&config);
        let to_dead = record.requests.iter().filter(|r| r.server == HostId(0));
        let slowest = to_dead.map(|r| r.latency.expect("the other server answers"));
        let slowest = slowest.max().expect("requests to the dead server");
        // The hedge is sent after at most 10 ms, and the second server needs a few milliseconds.
        assert!(slowest < Duration::from_ms(20), "{design}: {slowest}");
    }
}

#[test]
fn copies_that_change_places_spare_requests_a_slow_server() {
    let mean = |config: RunConfig| mean_us(&simulate(&slow_servers(config, 2, 3)));
    for design in ["duplicate-low+dctcp", "das+dctcp"] {
        let keeps = mean(requests(design, 0.5, 400));
        let swaps = mean(swapping(requests(design, 0.5, 400), 10_000));
        assert!(swaps < 0.85 * keeps, "{design}: {swaps} and {keeps}");
    }
}

#[test]
fn copies_that_never_change_places_leave_primaries_unharmed() {
    let mean = |config: RunConfig| mean_us(&simulate(&config));
    let single = mean(requests("dctcp", 0.6, 1_500));
    let might = mean(swapping(
        requests("duplicate-low+dctcp", 0.6, 1_500),
        1_000_000_000,
    ));
    assert!(might < 1.05 * single, "{might} and {single}");
}

/// Returns the run with additional web-search flows between random hosts, at `load` of the hosts' links.
fn with_flows(mut config: RunConfig, load: f64) -> RunConfig {
    let flows = poisson(named_sizes("websearch"), load, Duration::from_ms(20));
    config.workload.parts.push(WorkloadPart {
        class: Class::Background,
        path: None,
        flows,
    });
    config
}

#[test]
fn flows_next_to_requests_share_the_network_with_them_and_everything_is_in_the_books() {
    for design in ["dctcp", "rans+dctcp", "duplicate+tcp"] {
        let alone = simulate(&requests(design, 0.3, 400));
        let with_flows_too = simulate(&with_flows(requests(design, 0.3, 400), 0.3));
        in_the_books(&with_flows_too);
        assert!(with_flows_too.flows.len() > 50, "{design}");
        for flow in &with_flows_too.flows {
            assert!(flow.fct.is_some(), "{design}: {flow:?}");
            assert!(flow.payload_sent.0 >= flow.bytes.0, "{design}: {flow:?}");
            assert_eq!(flow.class, Class::Background as u8);
        }
        for (alone, with_flows_too) in alone.requests.iter().zip(&with_flows_too.requests) {
            assert_eq!(
                (alone.start, alone.server),
                (with_flows_too.start, with_flows_too.server)
            );
        }
        let (alone, with_flows_too) = (mean_us(&alone), mean_us(&with_flows_too));
        assert!(
            with_flows_too > 1.05 * alone,
            "{design}: {with_flows_too} and {alone}"
        );
    }
}

#[test]
fn a_purge_takes_no_packet_of_another_connection_between_the_same_hosts() {
    let mut config = requests("das+dctcp", 0.2, 400);
    // With a queue of 10,000 packets, only purges drop packets. The timeout is long.
    // In the network of this test, only a purge could cause a retransmission.
    config.topology.shape = single_switch(12, queue_of(10_000));
    (config.settings.tcp.min_rto, config.settings.tcp.initial_rto) =
        (Duration::from_ms(1_000), Duration::from_ms(1_000));
    if let FlowsSpec::Requests(part) = &mut config.workload.parts[0].flows {
        (part.servers, part.clients) = (2, 1);
    }
    let mut config = with_flows(config, 0.2);
    if let FlowsSpec::Open(flows) = &mut config.workload.parts[1].flows {
        flows.matrix = MatrixSpec::Pairs(vec![(0, 2), (1, 2)]);
        flows.sizes = Arc::new(SizeDistribution::fixed(100_000));
    }
    let record = simulate(&config);
    let purged = record.totals.drops.0["purged"];
    assert_eq!(record.totals.drops.total(), purged);
    assert!(purged.packets > 100 && record.flows.len() > 100);
    for flow in &record.flows {
        assert_eq!(flow.retransmissions, 0, "{flow:?}");
    }
}

#[test]
fn flows_beside_no_requests_are_what_they_are_without() {
    let mut config = with_flows(requests("dctcp", 0.3, 0), 0.5);
    config.workload.parts.swap(0, 1);
    let beside = simulate(&config);
    config.workload.parts.truncate(1);
    let without = simulate(&config);
    assert!(without.flows.len() > 50);
    assert_eq!(beside.flows, without.flows);
}

#[test]
fn low_duplicates_cost_flows_beside_them_next_to_nothing_and_equal_ones_cost_them_much() {
    let mean = |design: &str| {
        let record = simulate(&with_flows(requests(design, 0.5, 1_500), 0.2));
        let times = completion_times(&record);
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (single, low, equal) = (
        mean("dctcp"),
        mean("duplicate-low+dctcp"),
        mean("duplicate+dctcp"),
    );
    assert!(low < 1.05 * single, "{low} and {single}");
    assert!(equal > 1.2 * single, "{equal} and {single}");
}

#[test]
fn queues_and_links_of_requests_are_sampled_and_the_record_knows_the_network() {
    let plain = simulate(&requests("rans+dctcp", 0.5, 200));
    let mut config = requests("rans+dctcp", 0.5, 200);
    config.sample_every = Some(Duration::from_us(50));
    let sampled = simulate(&config);
    assert_eq!(
        sampled.requests, plain.requests,
        "samples do not change the run"
    );
    assert!(plain.queues.is_empty() && plain.links.is_empty());
    assert!(!sampled.queues.is_empty() && !sampled.links.is_empty());
    assert_eq!(sampled.topology.len(), 24, "twelve hosts, both directions");
    let last = sampled
        .requests
        .iter()
        .map(|r| r.start + r.latency.unwrap());
    let (last, every) = (last.max().unwrap(), Duration::from_us(50));
    let instants = sampled.sampling.expect("samples").instants;
    let until = Time::ZERO + every * instants;
    assert!(
        until + every >= last && until < last + every * 2,
        "{until} {last}"
    );
    // The bytes in the samples equal the bytes at the ports, except for bytes after the last sample.
    let by_samples: u64 = sampled.links.iter().map(|sample| sample.bytes.0).sum();
    let by_ports: u64 = sampled.ports.iter().map(|port| port.bytes.0).sum();
    assert!(by_samples <= by_ports && by_samples as f64 > 0.99 * by_ports as f64);
}

#[test]
fn engines_and_ports_do_not_change_a_run() {
    let config = swapping(requests("rans+dctcp", 0.5, 200), 5_000);
    let mut config = with_flows(config, 0.2);
    let hash = simulate(&config).hash();
    for engine in [EngineKind::Calendar, EngineKind::Heap] {
        for port_events in [PortEvents::OneWherePossible, PortEvents::Two] {
            (config.engine, config.port_events) = (engine, port_events);
            assert_eq!(simulate(&config).hash(), hash, "{engine:?} {port_events:?}");
        }
    }
}

#[test]
fn servers_and_clients_need_hosts() {
    let mut config = requests("dctcp", 0.5, 10);
    if let FlowsSpec::Requests(part) = &mut config.workload.parts[0].flows {
        part.clients = 7;
    }
    let error = run(&config, &Unattended).expect_err("thirteen on twelve");
    assert!(matches!(error, RunError::Requests(_)), "{error}");
}
