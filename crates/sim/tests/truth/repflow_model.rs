//! RepFlow's queueing model, compared with RepFlow in the simulator.
//!
//! The model has one unlimited queue per path.
//! The simulator agrees with the model if hosts are faster than the paths and buffers are unlimited.
//! Short buffers cut the long waiting times that copies avoid.
//! If hosts are not faster than a path, both copies share the sender's link and the queue to the receiver.
//! Copies cannot avoid the sender's link and the queue to the receiver.

use crate::support::{config, gigabit, named_sizes, queue_of, simulate, workload};
use std::sync::Arc;
use tailcut_oracle::queueing::Service;
use tailcut_oracle::queueing::repflow::{Lattice, Mouse, slow_start_rounds};
use tailcut_oracle::statistics::{Interval, mean_interval};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::topology::LeafSpine;
use tailcut_sim::transport::tcp::InitialWindow;
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec, Shape};
use tailcut_units::Duration;

const MOUSE: u64 = 30_000;
const MICE_PER_SECOND: f64 = 1_500.0;
/// Time of a full packet at the rate of the links, in seconds.
const PACKET: f64 = 1_538.0 * 8.0 / 1e9;

/// Runs web-search load between racks with small flows of one size, and returns the record.
fn run(design: &str, hosts_gbps: u64, buffer: u32, load: f64, seed: u64) -> RunRecord {
    let open = |sizes: SizeDistribution, rate| {
        FlowsSpec::Open(OpenSpec {
            sizes: Arc::new(sizes),
            arrivals: Arrivals::Poisson,
            matrix: MatrixSpec::BetweenRacks,
            rate,
            from: Duration::ZERO,
            until: Duration::from_ms(300),
            max_flows: None,
            fan_in: None,
        })
    };
    let shape = Shape::LeafSpine(LeafSpine {
        leaves: 3,
        spines: 4,
        hosts_per_leaf: 4,
        host_links: 1,
        host_wire: gigabit(hosts_gbps, Duration::from_us(5)),
        spine_wire: gigabit(1, Duration::from_us(5)),
        queue: queue_of(buffer),
        shared_buffer: None,
    });
    let background = open(
        named_sizes("websearch"),
        OfferedRate::Load {
            fraction: load,
            of: LoadReference::RackUplinks,
            wire_bytes: true,
        },
    );
    let mice = open(
        SizeDistribution::fixed(MOUSE),
        OfferedRate::FlowsPerSecond(MICE_PER_SECOND),
    );
    let workload = workload("websearch", vec![background, mice]);
    let mut config = config(design, "leaf-spine", shape, workload);
    config.settings.tcp.initial_window = InitialWindow::Bytes(12_000);
    config.settings.tcp.min_rto = Duration::from_ms(10);
    config.seed = seed;
    simulate(&config)
}

fn mean_of_mice(record: &RunRecord) -> f64 {
    let mice = record.flows.iter().filter(|flow| flow.bytes.0 == MOUSE);
    let times: Vec<f64> = mice
        .filter_map(|f| f.fct)
        .map(|fct| fct.as_secs_f64())
        .collect();
    times.iter().sum::<f64>() / times.len() as f64
}

/// Returns the share by which copies reduce the mean completion time in the model.
/// `load` is the total load, and `mice` is the load of the small flows. A flow waits in `rounds` rounds.
fn promised(service: &Service, rounds: u32, load: f64, mice: f64) -> f64 {
    let mouse = Mouse {
        transmission: MOUSE.div_ceil(1_460) as f64 * PACKET,
        rounds,
    };
    let lattice = Lattice {
        step: service.mean() / 20.0,
        cells: 4_000,
    };
    let copied = mouse.mean_replicated(load, mice / load, service, lattice);
    1.0 - copied.middle() / mouse.mean_alone(load, service)
}

#[test]
fn repflow_gains_what_its_model_says_where_the_model_applies_and_less_elsewhere() {
    let sizes = named_sizes("websearch");
    let points = sizes.points().iter();
    let service = Service::Piecewise(
        points
            .map(|p| (p.bytes as f64 / 1_460.0 * PACKET, p.cumulative))
            .collect(),
    );
    let rounds = slow_start_rounds(MOUSE.div_ceil(1_460), 12_000 / 1_460);
    for load in [0.3, 0.5] {
        // The load of the small flows is added, once or twice. Twelve links of 1 Gb/s carry all traffic.
        let mice = MICE_PER_SECOND * MOUSE.div_ceil(1_460) as f64 * PACKET / 12.0;
        // The model lets a flow wait again in each round.
        // But a queue that exists longer than the flow delays the flow only once.
        let anew = promised(&service, rounds, load + mice, mice);
        let once = promised(&service, 1, load + mice, mice);
        let gain = |hosts_gbps, buffer| {
            let gains: Vec<f64> = (0..10)
                .map(|seed| {
                    let mean = |design| mean_of_mice(&run(design, hosts_gbps, buffer, load, seed));
                    1.0 - mean("repflow") / mean("tcp")
                })
                .collect();
            mean_interval(&gains, 0.99)
        };
        let print = |network: &str, gain: Interval| {
            println!(
                "RepFlow at load {load}, {network}: copies take {:.1} % off the mean of {MOUSE} B flows \
                 ({:.1} to {:.1}); the model {:.1} % to {:.1} %",
                100.0 * gain.estimate,
                100.0 * gain.low,
                100.0 * gain.high,
                100.0 * anew,
                100.0 * once,
            );
        };
        let modelled = gain(10, 1_000_000);
        print("fast hosts, unlimited buffers", modelled);
        assert!(modelled.high > anew && modelled.low < once, "{modelled:?}");
        let finite = gain(10, 100);
        print("fast hosts, buffers of 100 packets", finite);
        assert!(finite.low > 0.0 && finite.high < anew, "{finite:?}");
        let shared = gain(1, 100);
        print(
            "hosts that are not faster than a path, buffers of 100 packets",
            shared,
        );
        assert!(shared.high < finite.low, "{shared:?}");
    }
}
