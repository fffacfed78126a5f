//! What a run's workload asks of its network, before anything is run: how many transfers, and how many
//! packets of data over how many links.

use crate::config::{
    ClosedSpec, FlowsSpec, MatrixSpec, OpenSpec, RequestsPart, RunConfig, StoragePart,
};
use crate::traffic;
use std::collections::HashMap;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::{HostId, Time};
use tailcut_workload::{Class, Error, Flow, Matrix, Operation, SizeDistribution};

/// What a workload asks for. Copies, acknowledgements and what is sent again come on top.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Demand {
    /// Flows, requests and sessions.
    pub transfers: f64,
    /// Full packets of data, times the links of their paths; zero where there are no packets.
    pub packet_hops: f64,
}

/// Sources of a matrix whose paths are looked at.
const SOURCES: usize = 64;

/// What a run's workload asks of its network. Of each part of the workload at most `draws` transfers are
/// drawn, as the run draws them; more of them are taken to be like these. How many transfers a closed loop
/// has is not known before: it is taken to be alone in the network.
///
/// # Errors
/// A workload that cannot be drawn.
pub fn demand(config: &RunConfig, topology: &Topology, draws: usize) -> Result<Demand, Error> {
    let mut asked = Asked {
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
            FlowsSpec::Trace(trace) => asked.flows(trace.flows(), 1.0),
            FlowsSpec::Open(spec) => {
                let mut source = traffic::part_source(config, topology, part, label)?;
                let next = || source.as_mut().and_then(|source| source.next());
                let drawn: Vec<Flow> = std::iter::from_fn(next).take(asked.draws).collect();
                asked.open(spec, &drawn, arrivals);
            }
            FlowsSpec::Burst(_) => {
                let mut source = traffic::part_source(config, topology, part, label)?;
                let next = || source.as_mut().and_then(|source| source.next());
                asked.flows(&std::iter::from_fn(next).collect::<Vec<_>>(), 1.0);
            }
            FlowsSpec::Closed(spec) => asked.closed(spec)?,
            FlowsSpec::Requests(spec) => asked.requests(spec, arrivals)?,
            FlowsSpec::Storage(spec) => asked.storage(spec, (part.class, label), arrivals)?,
            // Nobody but the application knows what it sends.
            FlowsSpec::Application(spec) => {
                asked.demand.transfers += spec.at_most.unwrap_or(1) as f64;
            }
        }
    }
    asked.demand.packet_hops = asked.demand.packet_hops.min(asked.possible());
    Ok(asked.demand)
}

/// The arrivals of an open loop in the mean; none for what is none.
#[derive(Clone, Copy, Default)]
struct Arrivals {
    per_second: f64,
    /// Until its limits.
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

/// What has been found of a workload's demand.
struct Asked<'a> {
    config: &'a RunConfig,
    topology: &'a Topology,
    draws: usize,
    /// Links between hosts, as far as they were counted.
    hops: HashMap<(HostId, HostId), f64>,
    /// Packets of the demand.
    packets: f64,
    demand: Demand,
}

impl Asked<'_> {
    /// Flows, each so many times.
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

    /// Bytes of data in a full packet.
    fn payload(&self) -> u64 {
        u64::from(self.config.settings.framing.payload).max(1)
    }

    /// Transfers of sizes that are drawn, over links in the mean.
    fn drawn_alike(&mut self, transfers: f64, sizes: &SizeDistribution, hops: f64) {
        let packets = sizes.mean_packets(self.config.settings.framing.payload);
        self.demand.transfers += transfers;
        self.add(transfers * packets, hops);
    }

    /// What hosts can send until the run ends, over paths as long as those of the demand.
    fn possible(&self) -> f64 {
        let framing = self.config.settings.framing;
        let bits = f64::from(framing.wire_bytes(framing.payload)) * 8.0;
        let lasts = self.config.workload.span() + self.config.drain;
        let packets = self.topology.host_capacity_bps() as f64 * lasts.as_secs_f64() / bits;
        packets * self.demand.packet_hops / self.packets.max(1.0)
    }

    /// An open loop whose first flows these are.
    fn open(&mut self, spec: &OpenSpec, drawn: &[Flow], arrivals: Arrivals) {
        let is_whole = drawn.len() < self.draws;
        let seen = match spec.fan_in {
            None => drawn.len() as f64,
            // Some arrivals are several flows; how many have been drawn is told by the clock.
            Some(_) => {
                let last = drawn.last().map_or(Time::ZERO, |flow| flow.start);
                let span = last.since(Time::ZERO).saturating_sub(spec.from);
                arrivals.per_second * span.as_secs_f64()
            }
        };
        let times = match is_whole || seen <= 0.0 {
            true => 1.0,
            false => (arrivals.all / seen).max(1.0),
        };
        self.flows(drawn, times);
    }

    /// A closed loop: the flows of a source share its link, and where they go to any host, also the link
    /// of that with as many others.
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
            outstanding / (spec.think.as_secs_f64() + alone * outstanding * crowd)
        });
        let span = spec.until.saturating_sub(spec.from);
        let ended = of_sources.sum::<f64>() * span.as_secs_f64();
        let hops = self.mean_hops(&matrix);
        if let Some(most) = spec.max_flows.filter(|most| ended > *most as f64) {
            self.drawn_alike(most as f64, &spec.sizes, hops);
            return Ok(());
        }
        self.drawn_alike(ended, &spec.sizes, hops);
        // What is under way at the end is sent, too: long flows are met more often than short ones.
        let under_way = outstanding * matrix.sources().len() as f64;
        let rest = spec.sizes.second_moment() / (2.0 * spec.sizes.mean().max(1.0));
        self.demand.transfers += under_way;
        self.add(under_way * rest / self.payload() as f64, hops);
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
        self.drawn_alike(arrivals.all, &spec.sizes, hops);
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

    /// Links of a matrix's paths in the mean.
    fn mean_hops(&mut self, matrix: &Matrix) -> f64 {
        let sources = matrix.sources();
        let step = sources.len().div_ceil(SOURCES).max(1);
        let (mut hops, mut looked_at) = (0.0, 0.0);
        for (index, &source) in sources.iter().enumerate().step_by(step) {
            let shares: Vec<(HostId, f64)> = matrix.shares(index).collect();
            let weight = matrix.part_of_source(index, sources.len() as f64);
            for (destination, share) in shares {
                hops += weight * share * self.hops_between(source, destination);
            }
            looked_at += weight;
        }
        hops / if looked_at > 0.0 { looked_at } else { 1.0 }
    }

    /// The links of a shortest path.
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
