//! Demand of a workload, estimated before the run. The demand predicts the cost of the run.
//! The demand has two numbers: transfers, and packet-hops. A packet that crosses three links has three packet-hops.

use crate::config::{
    ClosedSpec, FlowsSpec, MatrixSpec, OpenSpec, QueriesPart, RequestsPart, RunConfig, StoragePart,
};
use crate::traffic;
use std::collections::HashMap;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::{HostId, Time};
use tailcut_workload::{Class, Error, Flow, Matrix, Operation, SizeDistribution};

/// Demand of a workload. Copies, acknowledgements and retransmissions are not included.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Demand {
    /// Number of flows, requests and sessions.
    pub transfers: f64,
    /// Packet-hops of full data packets: for each packet, the number of links of its path is added.
    /// Zero in designs without packets.
    pub packet_hops: f64,
}

/// Largest number of sources in a matrix from which the lengths of paths are counted.
const SOURCES: usize = 64;

/// Estimates the demand of a run's workload.
/// For each part of the workload, at most `draws` transfers are generated, in the same way as in the run.
/// The estimate assumes that all other transfers are similar.
/// The transfers of a closed loop are counted as if the loop were alone in the network.
///
/// # Errors
/// The workload cannot be generated.
pub fn demand(config: &RunConfig, topology: &Topology, draws: usize) -> Result<Demand, Error> {
    let mut estimate = DemandEstimate {
        config,
        topology,
        draws: draws.max(1),
        hops: HashMap::new(),
        packets: 0.0,
        demand: Demand::default(),
    };
    for (part, label) in config.workload.parts.iter().zip(0u64..) {
        let arrivals = Arrivals::of(config, topology, &part.flows)?;
        match &part.flows {
            FlowsSpec::Trace(trace) => estimate.flows(trace.flows(), 1.0),
            FlowsSpec::Open(spec) => {
                let mut source = traffic::part_source(config, topology, part, label)?;
                let next = || source.as_mut().and_then(|source| source.next());
                let drawn: Vec<Flow> = std::iter::from_fn(next).take(estimate.draws).collect();
                estimate.open(spec, &drawn, arrivals);
            }
            FlowsSpec::Burst(_) | FlowsSpec::Coflows(_) => {
                let mut source = traffic::part_source(config, topology, part, label)?;
                let next = || source.as_mut().and_then(|source| source.next());
                estimate.flows(&std::iter::from_fn(next).collect::<Vec<_>>(), 1.0);
            }
            FlowsSpec::Closed(spec) => estimate.closed(spec)?,
            FlowsSpec::Queries(spec) => estimate.queries(spec)?,
            FlowsSpec::Requests(spec) => estimate.requests(spec, arrivals)?,
            FlowsSpec::Storage(spec) => estimate.storage(spec, (part.class, label), arrivals)?,
            // The application determines the data that it sends, so its number of packets is unknown here.
            FlowsSpec::Application(spec) => {
                estimate.demand.transfers += spec.at_most.unwrap_or(1) as f64;
            }
        }
    }
    estimate.demand.packet_hops = estimate
        .demand
        .packet_hops
        .min(estimate.host_capacity_limit());
    Ok(estimate.demand)
}

/// Expected arrivals of an open loop. Zero for other parts.
#[derive(Clone, Copy, Default)]
struct Arrivals {
    per_second: f64,
    /// Expected number of arrivals between the limits.
    all: f64,
}

impl Arrivals {
    fn of(config: &RunConfig, topology: &Topology, flows: &FlowsSpec) -> Result<Self, Error> {
        let per_second = traffic::per_second(config, topology, flows)?;
        let arrivals = per_second
            .zip(flows.limits())
            .map(|(per_second, limits)| Self {
                per_second,
                all: (per_second * limits.span().as_secs_f64())
                    .min(limits.at_most.map_or(f64::INFINITY, |most| most as f64)),
            });
        Ok(arrivals.unwrap_or_default())
    }
}

/// State of the estimate of a workload's demand.
struct DemandEstimate<'a> {
    config: &'a RunConfig,
    topology: &'a Topology,
    draws: usize,
    /// Number of links between two hosts, for the pairs that have been counted so far.
    hops: HashMap<(HostId, HostId), f64>,
    /// Number of packets in the demand.
    packets: f64,
    demand: Demand,
}

impl DemandEstimate<'_> {
    /// Adds flows, with each flow counted `times` times.
    fn flows(&mut self, flows: &[Flow], times: f64) {
        for flow in flows {
            self.transfer(flow.bytes, flow.src, flow.dst, times);
        }
        self.demand.transfers += flows.len() as f64 * times;
    }

    fn transfer(&mut self, bytes: u64, from: HostId, to: HostId, times: f64) {
        let packets = bytes.div_ceil(self.payload()).max(1) as f64 * times;
        let hops = self.hops_between(from, to);
        self.add(packets, hops);
    }

    fn add(&mut self, packets: f64, hops: f64) {
        self.packets += packets;
        self.demand.packet_hops += packets * hops;
    }

    /// Returns the payload of a full packet, in bytes.
    fn payload(&self) -> u64 {
        u64::from(self.config.settings.framing.payload).max(1)
    }

    /// Adds transfers with random sizes. `hops` is the mean number of links on their paths.
    fn add_drawn(&mut self, transfers: f64, sizes: &SizeDistribution, hops: f64) {
        let packets = sizes.mean_packets(self.config.settings.framing.payload);
        self.demand.transfers += transfers;
        self.add(transfers * packets, hops);
    }

    /// Returns the largest number of packet-hops that the hosts can send until the end of the run.
    /// The number assumes the mean path length of the demand.
    fn host_capacity_limit(&self) -> f64 {
        let framing = self.config.settings.framing;
        let bits = f64::from(framing.wire_bytes(framing.payload)) * 8.0;
        let lasts = self.config.workload.span() + self.config.drain;
        let packets = self.topology.host_capacity_bps() as f64 * lasts.as_secs_f64() / bits;
        packets * self.demand.packet_hops / self.packets.max(1.0)
    }

    /// Adds the demand of an open loop. `drawn` contains the first flows of the loop.
    fn open(&mut self, spec: &OpenSpec, drawn: &[Flow], arrivals: Arrivals) {
        let is_whole = drawn.len() < self.draws;
        let arrivals_drawn = match spec.fan_in {
            None => drawn.len() as f64,
            // With fan-in, one arrival can be several flows.
            // The number of arrivals therefore follows from the time of the last flow.
            Some(_) => {
                let last = drawn.last().map_or(Time::ZERO, |flow| flow.start);
                let span = last.since(Time::ZERO).saturating_sub(spec.from);
                arrivals.per_second * span.as_secs_f64()
            }
        };
        let times = match is_whole || arrivals_drawn <= 0.0 {
            true => 1.0,
            false => (arrivals.all / arrivals_drawn).max(1.0),
        };
        self.flows(drawn, times);
    }

    /// Adds the demand of a closed loop. The flows of a source share the link of the source.
    /// With random destinations, a flow also shares its destination's link with as many flows of other sources.
    fn closed(&mut self, spec: &ClosedSpec) -> Result<(), Error> {
        let matrix = traffic::weighted(self.config, &spec.matrix, self.topology)?;
        let bits = self.config.settings.framing.mean_wire_bytes(&spec.sizes) * 8.0;
        let crowd = match spec.matrix {
            MatrixSpec::Anywhere | MatrixSpec::AnywhereBeside { .. } | MatrixSpec::BetweenRacks => {
                2.0
            }
            MatrixSpec::Incast { senders, .. } => f64::from(senders),
            _ => 1.0,
        };
        let outstanding = f64::from(spec.outstanding);
        let of_sources = matrix.sources().iter().map(|&source| {
            let alone = bits / self.topology.host_rate(source).as_bps() as f64;
            outstanding / (spec.think.mean().as_secs_f64() + alone * outstanding * crowd)
        });
        let span = spec.until.saturating_sub(spec.from);
        let ended = of_sources.sum::<f64>() * span.as_secs_f64();
        let hops = self.mean_hops(&matrix);
        if let Some(most) = spec.max_flows.filter(|most| ended > *most as f64) {
            self.add_drawn(most as f64, &spec.sizes, hops);
            return Ok(());
        }
        self.add_drawn(ended, &spec.sizes, hops);
        // Flows in progress at the end are also sent.
        // A random instant falls more often into a long flow than into a short flow.
        // The mean rest of a flow is therefore E[X^2] / (2 E[X]).
        let under_way = outstanding * matrix.sources().len() as f64;
        let rest = spec.sizes.second_moment() / (2.0 * spec.sizes.mean().max(1.0));
        self.demand.transfers += under_way;
        self.add(under_way * rest / self.payload() as f64, hops);
        Ok(())
    }

    /// Adds the demand of queries.
    /// All answers to an aggregator share the aggregator's link, and also the links of their workers.
    fn queries(&mut self, spec: &QueriesPart) -> Result<(), Error> {
        let hosts: Vec<HostId> = (0..self.topology.hosts()).map(HostId).collect();
        let matrix = Matrix::anywhere(&hosts, &hosts)?;
        let bits = self.config.settings.framing.mean_wire_bytes(&spec.sizes) * 8.0;
        let rates = hosts
            .iter()
            .map(|&host| self.topology.host_rate(host).as_bps());
        let rate = rates.sum::<u64>() as f64 / hosts.len().max(1) as f64;
        let (outstanding, fan_out) = (f64::from(spec.outstanding), f64::from(spec.fan_out));
        let alone = bits * fan_out / rate;
        let aggregators = spec.aggregators.unwrap_or(self.topology.hosts());
        let round = spec.think.mean().as_secs_f64() + alone * outstanding;
        let span = spec.until.saturating_sub(spec.from).as_secs_f64();
        let asked = f64::from(aggregators) * outstanding * (1.0 + span / round);
        let most = spec.max_queries.map_or(f64::INFINITY, |most| most as f64);
        let hops = self.mean_hops(&matrix);
        let answers = asked.min(most) * fan_out;
        self.add_drawn(answers, &spec.sizes, hops);
        if spec.question.is_some() {
            self.demand.transfers += answers;
            self.add(answers, hops);
        }
        Ok(())
    }

    fn requests(&mut self, spec: &RequestsPart, arrivals: Arrivals) -> Result<(), Error> {
        let hops = match self.config.stack.design.has_packets() {
            true => {
                let servers: Vec<HostId> = (0..spec.servers).map(HostId).collect();
                let clients = spec.servers..spec.servers + spec.clients;
                let clients: Vec<HostId> = clients.map(HostId).collect();
                self.mean_hops(&Matrix::anywhere(&servers, &clients)?)
            }
            false => 0.0,
        };
        self.add_drawn(arrivals.all, &spec.sizes, hops);
        Ok(())
    }

    fn storage(
        &mut self,
        spec: &StoragePart,
        of: (Class, u64),
        arrivals: Arrivals,
    ) -> Result<(), Error> {
        let mut storage = traffic::storage(self.config, self.topology, spec, of)?;
        let drawn = std::iter::from_fn(|| storage.next_session()).take(self.draws);
        let drawn: Vec<_> = drawn.collect();
        let times = match drawn.len() < self.draws {
            true => 1.0,
            false => (arrivals.all / drawn.len() as f64).max(1.0),
        };
        for session in &drawn {
            for (index, block) in session.blocks.iter().enumerate() {
                let bytes = session.block_bytes(index);
                match session.operation {
                    Operation::Read => {
                        self.transfer(bytes, block.read_from, session.client, times);
                    }
                    Operation::Write => block
                        .replicas
                        .iter()
                        .for_each(|&to| self.transfer(bytes, session.client, to, times)),
                }
            }
        }
        self.demand.transfers += drawn.len() as f64 * times;
        Ok(())
    }

    /// Returns the mean number of links on the paths of a matrix.
    fn mean_hops(&mut self, matrix: &Matrix) -> f64 {
        let sources = matrix.sources();
        let step = sources.len().div_ceil(SOURCES).max(1);
        let (mut hops, mut counted) = (0.0, 0.0);
        for (index, &source) in sources.iter().enumerate().step_by(step) {
            let shares: Vec<(HostId, f64)> = matrix.shares(index).collect();
            let weight = matrix.part_of_source(index, sources.len() as f64);
            for (destination, share) in shares {
                hops += weight * share * self.hops_between(source, destination);
            }
            counted += weight;
        }
        hops / if counted > 0.0 { counted } else { 1.0 }
    }

    /// Returns the number of links on a shortest path.
    fn hops_between(&mut self, from: HostId, to: HostId) -> f64 {
        let topology = self.topology;
        let count = || {
            let mut node = topology.links[topology.uplinks_of(from).start as usize].to;
            let mut hops = 1u32;
            while let Node::Switch(switch) = node {
                let Some(&port) = topology.ports_towards(switch, to, None).first() else {
                    break;
                };
                node = topology.links[port as usize].to;
                hops += 1;
            }
            f64::from(hops)
        };
        *self.hops.entry((from, to)).or_insert_with(count)
    }
}
