//! Load that a workload offers to every tier of links, from its traffic matrix and the topology.
//!
//! Each part of the workload offers data packets with headers, preamble and gap.
//! The bytes of the packets are spread evenly over all shortest paths, as ECMP does on average.
//! A part that is pinned to a path uses only this path.
//! A multicast packet uses each link of its tree once.
//! The placements of storage are drawn at random.
//! With random placements, the load of a tier is accurate to a few per cent. The load of a single link is not accurate.

use crate::config::{FlowsSpec, OfferedRate, OpenSpec, RequestRate, RunConfig, StoragePart};
use crate::request_traffic::{self, network::link_of_servers};
use crate::sessions::{ReadBy, WriteBy};
use crate::traffic;
use std::collections::BTreeMap;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_record::{LinkLoad, OfferedLoad, TierLoad};
use tailcut_units::{Duration, HostId};
use tailcut_workload::{Class, Error, FanIn, Matrix, Operation, Session};

/// Number of storage sessions that are generated to estimate the load.
const SESSIONS: u32 = 4_000;

/// Load of a part between the start and the end of its arrivals.
struct PartLoad {
    from: Duration,
    until: Duration,
    /// Whether the load of this part is proportional to the load of the run.
    in_proportion: bool,
    /// Bytes per second on each link, including headers, preamble and gap.
    bytes: Vec<f64>,
    /// For each link, whether the traffic can use it.
    uses: Vec<bool>,
    /// Whether the loads of single links are exact.
    is_exact: bool,
}

/// Returns the load that the workload of a run offers to the network without faults.
///
/// # Errors
/// The workload cannot be generated.
pub(crate) fn offered(config: &RunConfig, topology: &Topology) -> Result<OfferedLoad, Error> {
    let mut part_loads = Vec::new();
    let mut exempt: Vec<String> = Vec::new();
    let mut stations = None;
    for (part, label) in config.workload.parts.iter().zip(0u64..) {
        let mut loads = LinkLoads::over(topology, part.path);
        let (span, in_proportion, is_exact) = match &part.flows {
            FlowsSpec::Trace(_)
            | FlowsSpec::Coflows(_)
            | FlowsSpec::Closed(_)
            | FlowsSpec::Burst(_)
            | FlowsSpec::Queries(_)
            | FlowsSpec::Application(_) => {
                exempt.push(kind_of(&part.flows).to_owned());
                continue;
            }
            FlowsSpec::Open(spec) => {
                open(config, spec, &mut loads)?;
                let of_run = matches!(spec.rate, OfferedRate::Load { fraction, .. }
                    if config.workload.load == Some(fraction));
                let foreground = part.class == Class::Foreground;
                ((spec.from, spec.until), of_run && foreground, true)
            }
            FlowsSpec::Requests(spec) => {
                let link = link_of_servers(topology, spec);
                let (per_second, load) = request_traffic::rate_and_load(config, spec, link);
                let of_run = matches!(spec.rate, RequestRate::Load(_));
                stations = Some(stations_load(load, of_run));
                let answers = per_second * f64::from(config.settings.designs.requests.quorum);
                let bytes = answers * config.settings.framing.mean_wire_bytes(&spec.sizes);
                let servers: Vec<HostId> = (0..spec.servers).map(HostId).collect();
                let clients = spec.servers..spec.servers + spec.clients;
                let clients: Vec<HostId> = clients.map(HostId).collect();
                loads.matrix(&Matrix::anywhere(&servers, &clients)?, bytes);
                ((spec.from, spec.until), of_run, true)
            }
            FlowsSpec::Storage(spec) => {
                storage(config, spec, (part.class, label), &mut loads)?;
                ((spec.from, spec.until), false, false)
            }
        };
        part_loads.push(PartLoad {
            from: span.0,
            until: span.1,
            in_proportion,
            uses: loads.uses(),
            bytes: loads.bytes,
            is_exact,
        });
    }
    exempt.sort_unstable();
    exempt.dedup();
    let mut tiers = tiers(topology, &part_loads);
    tiers.extend(stations);
    Ok(OfferedLoad {
        tiers,
        busiest: busiest(topology, &part_loads),
        exempt,
    })
}

/// Returns the name of a kind of workload that has no offered load.
const fn kind_of(flows: &FlowsSpec) -> &'static str {
    match flows {
        FlowsSpec::Closed(_) => "closed",
        FlowsSpec::Burst(_) => "burst",
        FlowsSpec::Queries(_) => "queries",
        FlowsSpec::Coflows(_) => "coflows",
        FlowsSpec::Application(_) => "application",
        _ => "trace",
    }
}

/// Returns the load that requests offer to the servers, in a design without packets.
pub(crate) fn offered_to_stations(config: &RunConfig) -> Option<OfferedLoad> {
    let (_, part) = request_traffic::part_of(config)?;
    let (_, load) =
        request_traffic::rate_and_load(config, part, config.settings.designs.requests.link);
    let of_run = matches!(part.rate, RequestRate::Load(_));
    Some(OfferedLoad {
        tiers: vec![stations_load(load, of_run)],
        ..OfferedLoad::default()
    })
}

fn stations_load(load: f64, of_run: bool) -> TierLoad {
    TierLoad {
        tier: "busiest stations of the servers".to_owned(),
        load,
        in_proportion: if of_run { load } else { 0.0 },
    }
}

fn open(config: &RunConfig, spec: &OpenSpec, loads: &mut LinkLoads<'_>) -> Result<(), Error> {
    let matrix = traffic::weighted(config, &spec.matrix, loads.topology)?;
    let flows = traffic::flows_per_second(config, loads.topology, spec, &matrix)?;
    let received = loads.matrix(
        &matrix,
        flows * config.settings.framing.mean_wire_bytes(&spec.sizes),
    );
    if let Some(fan_in) = spec.fan_in {
        let (degree, below) = (fan_in.senders, fan_in.below.0);
        let added = FanIn { degree, below }.load_factor(&spec.sizes) - 1.0;
        loads.fan_in(&matrix, &received, added);
    }
    Ok(())
}

fn storage(
    config: &RunConfig,
    spec: &StoragePart,
    of: (Class, u64),
    loads: &mut LinkLoads<'_>,
) -> Result<(), Error> {
    let mut storage = traffic::storage(config, loads.topology, spec, of)?;
    let drawn = std::iter::from_fn(|| storage.next_session()).take(SESSIONS as usize);
    let drawn: Vec<Session> = drawn.collect();
    let all = spec.per_second * config.settings.framing.mean_wire_bytes(&spec.sizes);
    let each = all / drawn.len().max(1) as f64;
    let several_ends = config.stack.design.several_ends;
    for session in &drawn {
        let (client, number) = (session.client, session.number);
        let share = each / session.blocks.len() as f64;
        for block in &session.blocks {
            let replicas = &block.replicas;
            match (session.operation, spec.write, spec.read) {
                (Operation::Write, WriteBy::Multicast, _) if several_ends => {
                    loads.tree(client, replicas, share, number);
                }
                (Operation::Write, WriteBy::DaisyChain(_), _) => {
                    let senders = std::iter::once(&client).chain(replicas);
                    for (&from, &to) in senders.zip(replicas) {
                        loads.tree(from, &[to], share, number);
                    }
                }
                (Operation::Write, ..) => {
                    for &replica in replicas {
                        loads.tree(client, &[replica], share, number);
                    }
                }
                (Operation::Read, _, ReadBy::AllReplicas) if several_ends => {
                    let share = share / replicas.len() as f64;
                    for &replica in replicas {
                        loads.tree(replica, &[client], share, number);
                    }
                }
                (Operation::Read, ..) => loads.tree(block.read_from, &[client], share, number),
            }
        }
    }
    let hosts = traffic::storage_hosts(loads.topology, spec, config.seed)?;
    loads.can_use_all_between(&hosts);
    Ok(())
}

/// Sums of the traffic on the links of a network.
struct LinkLoads<'a> {
    topology: &'a Topology,
    path: Option<u16>,
    /// Bytes per second, by link.
    bytes: Vec<f64>,
    /// For each link, whether traffic can use it. Empty: traffic uses exactly the links that have `bytes`.
    usable: Vec<bool>,
}

impl<'a> LinkLoads<'a> {
    fn over(topology: &'a Topology, path: Option<u16>) -> Self {
        Self {
            topology,
            path,
            bytes: vec![0.0; topology.links.len()],
            usable: Vec::new(),
        }
    }

    fn uses(&self) -> Vec<bool> {
        match self.usable.is_empty() {
            true => self.bytes.iter().map(|bytes| *bytes > 0.0).collect(),
            false => self.usable.clone(),
        }
    }

    fn can_use_all_between(&mut self, hosts: &[HostId]) {
        let is_there = |node: Node| match node {
            Node::Host(host) => hosts.contains(&host),
            Node::Switch(_) => true,
        };
        let links = self.topology.links.iter();
        self.usable = links
            .map(|link| is_there(link.from) && is_there(link.to))
            .collect();
    }

    /// Spreads `bytes` per second over the sources of a matrix, by weight.
    /// Returns the rate at which each host receives.
    fn matrix(&mut self, matrix: &Matrix, bytes: f64) -> Vec<f64> {
        let sources = matrix.sources().iter().enumerate();
        self.carry(sources.flat_map(|(index, &source)| {
            let shares = matrix.shares(index);
            let each = matrix.part_of_source(index, bytes);
            shares.map(move |(destination, share)| (source, destination, each * share))
        }))
    }

    /// Adds the load of the additional senders of fan-ins.
    /// Each host receives `times` times its present rate in addition.
    /// The additional bytes come from hosts that are drawn uniformly from the sources of the matrix.
    fn fan_in(&mut self, matrix: &Matrix, received: &[f64], times: f64) {
        let mut senders = matrix.sources().to_vec();
        senders.sort_unstable();
        senders.dedup();
        let to_hosts = (0u32..).map(HostId).zip(received);
        self.carry(to_hosts.flat_map(|(destination, received)| {
            let others = senders.iter().filter(move |sender| **sender != destination);
            let each = received * times / others.clone().count().max(1) as f64;
            others.map(move |&sender| (sender, destination, each))
        }));
    }

    /// Adds traffic between pairs of hosts, in bytes per second. Returns the rate at which each host receives.
    fn carry(&mut self, pairs: impl Iterator<Item = (HostId, HostId, f64)>) -> Vec<f64> {
        let topology = self.topology;
        let (group_of, mut groups) = groups(topology);
        let mut to_host = vec![0.0; topology.hosts() as usize];
        for (source, destination, bytes) in pairs {
            let uplinks = topology.uplinks_of(source);
            let share = bytes / uplinks.len() as f64;
            let destination = destination.0 as usize;
            to_host[destination] += bytes;
            for link in uplinks {
                self.bytes[link as usize] += share;
                if let Node::Switch(first) = topology.links[link as usize].to {
                    groups[group_of[destination]].at[first as usize] += share;
                }
            }
        }
        for group in groups {
            self.towards(group, &to_host);
        }
        to_host
    }

    /// Forwards the traffic of a group hop by hop, from the switches that it has reached to the hosts.
    /// Each host receives its share.
    fn towards(&mut self, group: Group, to_host: &[f64]) {
        let topology = self.topology;
        let Some(&any) = group.hosts.first() else {
            return;
        };
        let all: f64 = group.hosts.iter().map(|h| to_host[h.0 as usize]).sum();
        let mut at = group.at;
        while at.iter().any(|bytes| *bytes > 0.0) {
            let mut next = vec![0.0; at.len()];
            for (switch, bytes) in (0u32..).zip(at) {
                if bytes == 0.0 {
                    continue;
                }
                if group.switches.contains(&switch) {
                    for &host in &group.hosts {
                        let ports = topology.ports_towards(switch, host, self.path);
                        let share = bytes * to_host[host.0 as usize] / all / ports.len() as f64;
                        for port in ports {
                            self.bytes[port as usize] += share;
                        }
                    }
                    continue;
                }
                let ports = topology.ports_towards(switch, any, self.path);
                let share = bytes / ports.len() as f64;
                for port in ports {
                    self.bytes[port as usize] += share;
                    if let Node::Switch(to) = topology.links[port as usize].to {
                        next[to as usize] += share;
                    }
                }
            }
            at = next;
        }
    }

    /// Adds `bytes` per second from one host to several hosts. Each link of a tree carries the bytes once.
    /// `drawn` is a random number that selects among equal-cost links.
    fn tree(&mut self, from: HostId, to: &[HostId], bytes: f64, drawn: u32) {
        let uplinks = self.topology.uplinks_of(from);
        let link = uplinks.start + drawn % uplinks.len() as u32;
        self.branch(link, to, bytes, drawn);
    }

    fn branch(&mut self, link: u32, to: &[HostId], bytes: f64, drawn: u32) {
        self.bytes[link as usize] += bytes;
        let Node::Switch(switch) = self.topology.links[link as usize].to else {
            return;
        };
        let mut branches: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
        for &host in to {
            let ports = self.topology.ports_towards(switch, host, None);
            if !ports.is_empty() {
                let port = ports[drawn as usize % ports.len()];
                branches.entry(port).or_default().push(host);
            }
        }
        for (port, hosts) in branches {
            self.branch(port, &hosts, bytes, drawn);
        }
    }
}

/// Hosts that connect to the same switches. Paths to hosts of one group differ only in the last link.
struct Group {
    switches: Vec<u32>,
    hosts: Vec<HostId>,
    /// Bytes per second to the hosts of a group, by the switch that the bytes have reached.
    at: Vec<f64>,
}

/// Returns the group number of each host, and the groups. The groups have no traffic yet.
fn groups(topology: &Topology) -> (Vec<usize>, Vec<Group>) {
    let mut switches: Vec<Vec<u32>> = vec![Vec::new(); topology.hosts() as usize];
    for link in &topology.links {
        if let (Node::Switch(switch), Node::Host(host)) = (link.from, link.to) {
            switches[host.0 as usize].push(switch);
        }
    }
    let mut numbers: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let of_hosts = (0u32..).zip(switches).map(|(host, switches)| {
        let number = *numbers.entry(switches).or_insert_with_key(|switches| {
            groups.push(Group {
                switches: switches.clone(),
                hosts: Vec::new(),
                at: vec![0.0; topology.switches.len()],
            });
            groups.len() - 1
        });
        groups[number].hosts.push(HostId(host));
        number
    });
    (of_hosts.collect(), groups)
}

/// Returns the load of every tier.
/// Parts of the workload start and end at different times, so the highest load over time is used.
fn tiers(topology: &Topology, part_loads: &[PartLoad]) -> Vec<TierLoad> {
    let tier_of = |node: Node| match node {
        Node::Host(_) => 0,
        Node::Switch(switch) => topology.switches[switch as usize].tier + 1,
    };
    let mut links: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (number, link) in topology.links.iter().enumerate() {
        let tier = (tier_of(link.from), tier_of(link.to));
        if part_loads.iter().any(|part_load| part_load.uses[number]) {
            links.entry(tier).or_default().push(number);
        }
    }
    let mut tiers: Vec<((u8, u8), Vec<usize>)> = links.into_iter().collect();
    // Tiers are sorted upwards from the hosts, and after that downwards to the hosts.
    tiers.sort_by_key(|&((from, to), _)| match from <= to {
        true => (0, from),
        false => (1, u8::MAX - from),
    });
    let loads = tiers.into_iter().filter_map(|((from, to), links)| {
        let at = instants(part_loads);
        let loads = at.map(|at| load_at(topology, part_loads, &links, at));
        let (load, in_proportion) = loads.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(TierLoad {
            tier: tier_name(topology, from, to),
            load,
            in_proportion,
        })
    });
    loads.collect()
}

/// Returns the start times of all parts. The load can only increase at start times.
fn instants(part_loads: &[PartLoad]) -> impl Iterator<Item = Duration> + '_ {
    part_loads.iter().map(|part_load| part_load.from)
}

/// Returns the load that is offered to links at an instant, as a share of their capacity.
/// The second value is the part that is proportional to the load of the run.
fn load_at(
    topology: &Topology,
    part_loads: &[PartLoad],
    links: &[usize],
    at: Duration,
) -> (f64, f64) {
    let rate = |link: &usize| topology.links[*link].config.rate.as_bps() as f64 / 8.0;
    let capacity: f64 = links.iter().map(rate).sum();
    let on = part_loads.iter().filter(|o| o.from <= at && at < o.until);
    let (mut all, mut in_proportion) = (0.0, 0.0);
    for part_load in on {
        let bytes: f64 = links.iter().map(|&link| part_load.bytes[link]).sum();
        all += bytes / capacity;
        if part_load.in_proportion {
            in_proportion += bytes / capacity;
        }
    }
    (all, in_proportion)
}

/// Returns the link with the highest load. Returns `None` if the loads of single links are not exact in every part.
fn busiest(topology: &Topology, part_loads: &[PartLoad]) -> Option<LinkLoad> {
    if part_loads.is_empty() || part_loads.iter().any(|part_load| !part_load.is_exact) {
        return None;
    }
    let of_link = |link: usize| {
        let loads = instants(part_loads).map(|at| load_at(topology, part_loads, &[link], at).0);
        loads.fold(0.0, f64::max)
    };
    let loads = (0..topology.links.len()).map(|link| (link, of_link(link)));
    // If several links have the same load, the first link is used.
    let busiest = loads.fold(None, |best: Option<(usize, f64)>, next| match best {
        Some(best) if best.1 * (1.0 + 1e-9) >= next.1 => Some(best),
        _ => Some(next),
    });
    busiest.map(|(link, load)| LinkLoad {
        link: topology.link_name(link as u32).unwrap_or_default(),
        load,
    })
}

/// Describes the links from one tier to another tier. Tier 0 contains the hosts.
fn tier_name(topology: &Topology, from: u8, to: u8) -> String {
    let name = |tier: u8| match tier {
        0 => "host".to_owned(),
        tier => match topology.tiers.get(usize::from(tier) - 1) {
            Some(called) => called.name.to_owned(),
            None => format!("switch (tier {tier})"),
        },
    };
    match (from, to) {
        (from, 0) if from > 0 => "host downlinks".to_owned(),
        (from, to) if from < to => format!("{} uplinks", name(from)),
        (from, to) if from > to => format!("{} downlinks", name(from)),
        (from, _) => format!("links between switches of tier {from}"),
    }
}
