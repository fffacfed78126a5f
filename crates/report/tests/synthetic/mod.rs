//! Studies with known properties, as input of the report.

// Each test program uses only some of the functions in this module.
#![allow(dead_code)]

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_record::{
    FlowRecord, LinkSample, Manifest, PacketCount, Parameter, ParameterUnit, ParameterValue,
    PortTotals, QueueSample, RunCost, RunKey, RunRecord, RunState, Sampling, TopologyLink,
};
use tailcut_report::{Run, Study};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Rate, Time};

/// Behaviour of a design: how its flows differ from a common, seeded sample.
#[derive(Clone, Copy)]
pub struct Behaviour {
    pub name: &'static str,
    /// Factor for the queueing delay of flows below 100 KB.
    pub mice_delay: f64,
    /// Further factor for the queueing delay of the slowest 3 % of flows below 100 KB.
    pub tail: f64,
    /// Factor for the time of flows of at least 100 KB.
    pub elephants: f64,
    /// Bytes on the wire divided by the application's bytes.
    pub bytes: f64,
    /// Number of flows of which one does not finish. If the number is 0, all flows finish.
    pub unfinished_one_in: u32,
}

pub const TCP: Behaviour = Behaviour {
    name: "tcp",
    mice_delay: 1.0,
    tail: 1.0,
    elephants: 1.0,
    bytes: 1.05,
    unfinished_one_in: 0,
};

/// Returns a study over five limits of a queue and three numbers of spines.
/// A longer queue delays mice more. More spines delay mice less.
/// A study of one design with one seed has forty limits.
pub fn swept(designs: &[Behaviour], seeds: u64, flows: u32) -> Study {
    let limits: Vec<u64> = match seeds {
        1 => (1..=40).map(|step| step * 10).collect(),
        _ => vec![25, 50, 100, 200, 400],
    };
    let mut records = Vec::new();
    for seed in 1..=seeds {
        for (&limit, spines) in limits.iter().flat_map(|l| [2, 4, 8].map(|s| (l, s))) {
            for behaviour in designs {
                let slower = (limit as f64 / 100.0).sqrt() * 4.0 / spines as f64;
                let mice_delay = match behaviour.name {
                    "tcp" => slower,
                    _ => behaviour.mice_delay * slower.sqrt(),
                };
                let behaviour = Behaviour {
                    mice_delay,
                    ..*behaviour
                };
                let mut record = run(behaviour, Some(0.5), seed, flows);
                record.key.parameters = vec![
                    Parameter {
                        key: "queue.limit".to_owned(),
                        value: ParameterValue::Integer(limit),
                        unit: Some(ParameterUnit::Packets),
                    },
                    Parameter {
                        key: "topology.spines".to_owned(),
                        value: ParameterValue::Integer(spines),
                        unit: None,
                    },
                ];
                records.push(record);
            }
        }
    }
    study(&records)
}

/// Returns a run of `flows` flows. All behaviours have the same random numbers for the same seed and load.
pub fn run(behaviour: Behaviour, load: Option<f64>, seed: u64, flows: u32) -> RunRecord {
    let mut record = RunRecord::new(RunKey {
        design: behaviour.name.to_owned(),
        topology: "fat-tree k=8".to_owned(),
        workload: "websearch".to_owned(),
        load,
        seed,
        ..RunKey::default()
    });
    let busy = load.unwrap_or(0.5);
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(
        seed * 1_000 + (busy * 100.0) as u64,
    ));
    record.classes = vec!["background".to_owned()];
    let mut start_us = 0.0;
    for number in 0..flows {
        start_us += random.exponential(10.0 / busy);
        let size = 10f64.powf(3.2 + 4.2 * random.uniform().powf(1.4)) as u64;
        let ideal_us = 20.0 + size as f64 * 8.0 / 10_000.0;
        let rank = random.uniform();
        let delay = -(1.0 - rank).ln() * 60.0 * busy / (1.0 - busy);
        let own = random.exponential(2.0);
        let is_mouse = size < 100_000;
        let fct_us = if is_mouse {
            let tail = if rank > 0.97 { behaviour.tail } else { 1.0 };
            ideal_us + delay * behaviour.mice_delay * tail + own
        } else {
            (ideal_us / (1.0 - busy) + delay) * behaviour.elephants + own
        };
        let unfinished = behaviour.unfinished_one_in > 0
            && random.uniform() * f64::from(behaviour.unfinished_one_in) < 1.0;
        record.flows.push(FlowRecord {
            flow: FlowId(number),
            src: HostId(number % 16),
            dst: HostId((number + 5) % 16),
            bytes: Bytes(size),
            start: Time::from_ps((start_us * 1e6) as u64),
            fct: (!unfinished).then(|| Duration::from_ps((fct_us * 1e6) as u64)),
            ideal_fct: Duration::from_ps((ideal_us * 1e6) as u64),
            payload_sent: Bytes((size as f64 * behaviour.bytes) as u64),
            retransmissions: number % 3,
            copies: u32::from(behaviour.bytes > 1.05 && is_mouse),
            ..FlowRecord::default()
        });
    }
    fill_totals(&mut record, behaviour, start_us);
    record
}

fn fill_totals(record: &mut RunRecord, behaviour: Behaviour, end_us: f64) {
    let bytes: u64 = record.flows.iter().map(|flow| flow.bytes.0).sum();
    let wire = (bytes as f64 * behaviour.bytes) as u64;
    record.totals.sent = PacketCount {
        packets: wire / 1_500,
        bytes: wire,
    };
    record.totals.packet_hops = wire / 300;
    record.totals.events = wire / 200;
    record.totals.simulated = Duration::from_ps((end_us * 1e6) as u64);
    record.totals.drops.0.insert(
        "tail".to_owned(),
        PacketCount {
            packets: 1_234,
            bytes: 1_234 * 1_500,
        },
    );
    record.cost = RunCost {
        cpu_seconds: Some(1.25),
        wall_seconds: Some(1.3),
        peak_rss_bytes: Some(50_000_000),
    };
    fill_network(record, behaviour, end_us);
}

/// Samples of each port.
const INSTANTS: u64 = 400;

/// Port that every design overloads: the port of the fifth leaf towards its first host.
pub const HOTSPOT: &str = "s4>h8";

/// Returns a run on eight leaves of two hosts over four spines. The links of the run are sampled, and one port is hot.
fn fill_network(record: &mut RunRecord, behaviour: Behaviour, end_us: f64) {
    let hosts = (0..16).map(|host| (format!("h{host}"), 0, format!("s{}", host / 2), 1));
    let leaves = (0..8)
        .flat_map(|leaf| (8..12).map(move |spine| (format!("s{leaf}"), 1, format!("s{spine}"), 2)));
    for (low, low_tier, high, high_tier) in hosts.chain(leaves) {
        for up in [true, false] {
            let (from, from_tier, to, to_tier) = match up {
                true => (&low, low_tier, &high, high_tier),
                false => (&high, high_tier, &low, low_tier),
            };
            let port = record.topology.len() as u32;
            record.topology.push(TopologyLink {
                port,
                from: from.clone(),
                to: to.clone(),
                from_tier,
                to_tier,
                rate: Rate::from_gbps(10),
                delay: Duration::from_us(1),
            });
            record.ports.push(PortTotals {
                port,
                name: format!("{from}>{to}"),
                ..PortTotals::default()
            });
        }
    }
    let every_ns = (end_us * 1e3) as u64 / INSTANTS;
    record.sampling = Some(Sampling {
        every_ns,
        instants: INSTANTS,
    });
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(7));
    for step in 1..=INSTANTS {
        let time = Time::from_ns(every_ns * step);
        for port in 0..record.topology.len() as u32 {
            let hot = record.ports[port as usize].name == HOTSPOT;
            let busy = if hot { 0.99 } else { random.uniform().powi(2) };
            let packets = match hot {
                true => 90,
                false => (random.exponential(3.0 * behaviour.mice_delay)).min(60.0) as u32,
            };
            record.links.push(LinkSample {
                time,
                link: port,
                bytes: Bytes((busy * every_ns as f64 * 10.0 / 8.0) as u64),
                utilisation: busy,
            });
            if packets > 0 {
                record.queues.push(QueueSample {
                    time,
                    port,
                    backlog: Bytes(u64::from(packets) * 1_500),
                    packets,
                });
            }
        }
    }
}

/// Returns a finished study of `runs`, with the first design as its baseline.
pub fn study(runs: &[RunRecord]) -> Study {
    let keys: Vec<RunKey> = runs.iter().map(|run| run.key.clone()).collect();
    Study::new(manifest(keys), runs.iter().map(Run::from).collect())
}

/// Returns a manifest whose runs have all finished.
pub fn manifest(keys: Vec<RunKey>) -> Manifest {
    let command = "tailcut compare tcp repflow --workload websearch";
    let command_line = command.split(' ').map(str::to_owned).collect();
    let config = serde_json::json!({ "topology": "fat-tree", "k": 8, "rate": "10 Gb/s" });
    let mut manifest = Manifest::new("0.1.0", command_line, 1, config, keys);
    for run in &mut manifest.runs {
        run.state = RunState::Finished;
    }
    manifest
}

/// Returns a study of every design at every load and seed.
pub fn compare(designs: &[Behaviour], loads: &[f64], seeds: u64, flows: u32) -> Study {
    let mut runs = Vec::new();
    for &load in loads {
        for &design in designs {
            for seed in 1..=seeds {
                runs.push(run(design, Some(load), seed, flows));
            }
        }
    }
    study(&runs)
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.uniform()).ln() * mean
    }
}
