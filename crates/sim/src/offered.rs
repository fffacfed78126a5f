//! What a workload offers every tier of links, from its traffic matrix and the topology.
//!
//! Each part's bytes, data packets with headers, preamble and gap, go over all shortest paths evenly, as
//! ECMP does in the mean, or over the path that the part is pinned to. A multicast packet takes each
//! link of its tree once. The placements of storage are drawn: their tiers are known to within a few
//! parts in a hundred, their single links are not.

use crate::config::{FlowsSpec, OfferedRate, OpenSpec, RequestRate, RunConfig, StoragePart};
use crate::request_traffic::{self, network::link_of_servers};
use crate::sessions::{ReadBy, WriteBy};
use crate::traffic;
use std::collections::BTreeMap;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_record::{LinkLoad, OfferedLoad, TierLoad};
use tailcut_units::{Duration, HostId};
use tailcut_workload::{Class, Error, FanIn, Matrix, Operation, Session};

/// Storage sessions that are drawn.
const SESSIONS: u32 = 4_000;

/// What is offered while a part's arrivals last.
struct Offer {
    from: Duration,
    until: Duration,
    /// Whether it is in proportion to the run's load.
    in_proportion: bool,
    /// Bytes a second of line time, by link.
    bytes: Vec<f64>,
    /// Links that the traffic may take.
    takes: Vec<bool>,
    /// Whether the figures of single links are exact.
    is_exact: bool,
}

/// What the run's workload offers the network as it is without faults.
///
/// # Errors
/// A workload that cannot be drawn.
pub(crate) fn offered(config: &RunConfig, topology: &Topology) -> Result<OfferedLoad, Error> {
    let mut offers = Vec::new();
    let mut exempt: Vec<String> = Vec::new();
    let mut stations = None;
    for (part, label) in config.workload.parts.iter().zip(0u64..) {
        let mut spread = Spread::over(topology, part.path);
        let (span, in_proportion, is_exact) = match &part.flows {
            FlowsSpec::Trace(_)
            | FlowsSpec::Closed(_)
            | FlowsSpec::Burst(_)
            | FlowsSpec::Application(_) => {
                exempt.push(kind_of(&part.flows).to_owned());
                continue;
            }
            FlowsSpec::Open(spec) => {
                open(config, spec, &mut spread)?;
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
                spread.matrix(&Matrix::anywhere(&servers, &clients)?, bytes);
                ((spec.from, spec.until), of_run, true)
            }
            FlowsSpec::Storage(spec) => {
                storage(config, spec, (part.class, label), &mut spread)?;
                ((spec.from, spec.until), false, false)
            }
        };
        offers.push(Offer {
            from: span.0,
            until: span.1,
            in_proportion,
            takes: spread.takes(),
            bytes: spread.bytes,
            is_exact,
        });
    }
    exempt.sort_unstable();
    exempt.dedup();
    let mut tiers = tiers(topology, &offers);
    tiers.extend(stations);
    Ok(OfferedLoad {
        tiers,
        busiest: busiest(topology, &offers),
        exempt,
    })
}

/// The name of a kind of workload that offers no load of its own.
const fn kind_of(flows: &FlowsSpec) -> &'static str {
    match flows {
        FlowsSpec::Closed(_) => "closed",
        FlowsSpec::Burst(_) => "burst",
        FlowsSpec::Application(_) => "application",
        _ => "trace",
    }
}

/// What requests offer servers where there are no packets.
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

fn open(config: &RunConfig, spec: &OpenSpec, spread: &mut Spread<'_>) -> Result<(), Error> {
    let matrix = traffic::weighted(config, &spec.matrix, spread.topology)?;
    let flows = traffic::flows_per_second(config, spread.topology, spec, &matrix)?;
    let received = spread.matrix(
        &matrix,
        flows * config.settings.framing.mean_wire_bytes(&spec.sizes),
    );
    if let Some(fan_in) = spec.fan_in {
        let (degree, below) = (fan_in.senders, fan_in.below.0);
        let added = FanIn { degree, below }.load_factor(&spec.sizes) - 1.0;
        spread.fan_in(&matrix, &received, added);
    }
    Ok(())
}

fn storage(
    config: &RunConfig,
    spec: &StoragePart,
    of: (Class, u64),
    spread: &mut Spread<'_>,
) -> Result<(), Error> {
    let mut storage = traffic::storage(config, spread.topology, spec, of)?;
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
                    spread.tree(client, replicas, share, number);
                }
                (Operation::Write, WriteBy::DaisyChain(_), _) => {
                    let senders = std::iter::once(&client).chain(replicas);
                    for (&from, &to) in senders.zip(replicas) {
                        spread.tree(from, &[to], share, number);
                    }
                }
                (Operation::Write, ..) => {
                    for &replica in replicas {
                        spread.tree(client, &[replica], share, number);
                    }
                }
                (Operation::Read, _, ReadBy::AllReplicas) if several_ends => {
                    let share = share / replicas.len() as f64;
                    for &replica in replicas {
                        spread.tree(replica, &[client], share, number);
                    }
                }
                (Operation::Read, ..) => spread.tree(block.read_from, &[client], share, number),
            }
        }
    }
    let hosts = traffic::storage_hosts(spread.topology, spec, config.seed)?;
    spread.may_take_all_between(&hosts);
    Ok(())
}

/// Bytes on their way over a network.
struct Spread<'a> {
    topology: &'a Topology,
    path: Option<u16>,
    /// Bytes a second by link.
    bytes: Vec<f64>,
    /// Links that may be taken though they are not; empty where those are taken that may be.
    may_take: Vec<bool>,
}

impl<'a> Spread<'a> {
    fn over(topology: &'a Topology, path: Option<u16>) -> Self {
        Self {
            topology,
            path,
            bytes: vec![0.0; topology.links.len()],
            may_take: Vec::new(),
        }
    }

    fn takes(&self) -> Vec<bool> {
        match self.may_take.is_empty() {
            true => self.bytes.iter().map(|bytes| *bytes > 0.0).collect(),
            false => self.may_take.clone(),
        }
    }

    fn may_take_all_between(&mut self, hosts: &[HostId]) {
        let is_there = |node: Node| match node {
            Node::Host(host) => hosts.contains(&host),
            Node::Switch(_) => true,
        };
        let links = self.topology.links.iter();
        self.may_take = links
            .map(|link| is_there(link.from) && is_there(link.to))
            .collect();
    }

    /// Spreads `bytes` a second among the matrix' sources by their weights; gives what each host receives.
    fn matrix(&mut self, matrix: &Matrix, bytes: f64) -> Vec<f64> {
        let sources = matrix.sources().iter().enumerate();
        self.carry(sources.flat_map(|(index, &source)| {
            let shares = matrix.shares(index);
            let each = matrix.part_of_source(index, bytes);
            shares.map(move |(destination, share)| (source, destination, each * share))
        }))
    }

    /// The other members of fan-ins: to each host so many times what it receives otherwise, from hosts
    /// that are drawn evenly among the matrix' sources.
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

    /// Carries bytes a second between pairs of hosts; gives what each host receives of them.
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

    /// Carries what is at switches hop by hop to a group of hosts, of which each gets its part.
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

    /// Sends `bytes` a second from one host to several, over each link of a tree once; `drawn` decides
    /// where equal-cost links lead to them.
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

/// Hosts on the same switches, which are reached in the same way but for the last link.
struct Group {
    switches: Vec<u32>,
    hosts: Vec<HostId>,
    /// Bytes a second for them, by the switch that they have got to.
    at: Vec<f64>,
}

/// Each host's group, and the groups, with nothing on its way.
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

/// The load of every tier, the highest while parts of the workload come and go.
fn tiers(topology: &Topology, offers: &[Offer]) -> Vec<TierLoad> {
    let tier_of = |node: Node| match node {
        Node::Host(_) => 0,
        Node::Switch(switch) => topology.switches[switch as usize].tier + 1,
    };
    let mut links: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (number, link) in topology.links.iter().enumerate() {
        let tier = (tier_of(link.from), tier_of(link.to));
        if offers.iter().any(|offer| offer.takes[number]) {
            links.entry(tier).or_default().push(number);
        }
    }
    let mut tiers: Vec<((u8, u8), Vec<usize>)> = links.into_iter().collect();
    // Up from the hosts, then down to them.
    tiers.sort_by_key(|&((from, to), _)| match from <= to {
        true => (0, from),
        false => (1, u8::MAX - from),
    });
    let loads = tiers.into_iter().filter_map(|((from, to), links)| {
        let at = instants(offers);
        let loads = at.map(|at| load_at(topology, offers, &links, at));
        let (load, in_proportion) = loads.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(TierLoad {
            tier: tier_name(topology, from, to),
            load,
            in_proportion,
        })
    });
    loads.collect()
}

/// When parts begin.
fn instants(offers: &[Offer]) -> impl Iterator<Item = Duration> + '_ {
    offers.iter().map(|offer| offer.from)
}

/// What is offered to links at an instant over what they can carry, and what of that is in proportion to
/// the run's load.
fn load_at(topology: &Topology, offers: &[Offer], links: &[usize], at: Duration) -> (f64, f64) {
    let rate = |link: &usize| topology.links[*link].config.rate.as_bps() as f64 / 8.0;
    let capacity: f64 = links.iter().map(rate).sum();
    let on = offers.iter().filter(|o| o.from <= at && at < o.until);
    let (mut all, mut in_proportion) = (0.0, 0.0);
    for offer in on {
        let bytes: f64 = links.iter().map(|&link| offer.bytes[link]).sum();
        all += bytes / capacity;
        if offer.in_proportion {
            in_proportion += bytes / capacity;
        }
    }
    (all, in_proportion)
}

/// The link that is offered the most, where every part's single links are known.
fn busiest(topology: &Topology, offers: &[Offer]) -> Option<LinkLoad> {
    if offers.is_empty() || offers.iter().any(|offer| !offer.is_exact) {
        return None;
    }
    let of_link = |link: usize| {
        let loads = instants(offers).map(|at| load_at(topology, offers, &[link], at).0);
        loads.fold(0.0, f64::max)
    };
    let loads = (0..topology.links.len()).map(|link| (link, of_link(link)));
    // Of equal ones the first.
    let busiest = loads.fold(None, |best: Option<(usize, f64)>, next| match best {
        Some(best) if best.1 * (1.0 + 1e-9) >= next.1 => Some(best),
        _ => Some(next),
    });
    busiest.map(|(link, load)| LinkLoad {
        link: topology.link_name(link as u32).unwrap_or_default(),
        load,
    })
}

/// The links from one tier to another in words; 0 are the hosts.
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
