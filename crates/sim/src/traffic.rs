//! Conversion of the description of a workload to flows.

use crate::application::{
    Application, ApplicationSeat, ApplicationSet, Flows, Kind, LoadOnly, Replicating,
};
use crate::config::{
    BurstPart, ClosedSpec, FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec,
    QueriesPart, RunConfig, StoragePart, WorkloadPart,
};
use crate::error::RunError;
use crate::request_traffic;
use crate::sessions::{Sessions, TransferMethods};
use std::sync::Arc;
use tailcut_fabric::topology::Topology;
use tailcut_units::{Duration, HostId, Rate, Time, stream_seed};
use tailcut_workload::{
    Burst, BurstSpec, Class, ClosedLoop, ClosedLoopSpec, CoflowSource, Error, FanIn, Generated,
    GeneratedSpec, Load, LoadUnit, Matrix, Merge, Queries, QueriesSpec, Racks, ReferenceCapacity,
    Source, Storage, StorageSpec, TraceSource,
};

/// Returns the flows of a run. If the workload has one part, flows keep the numbers of this part.
/// The numbers of a trace are the rows of the file.
/// Flows of several parts are numbered together, in the order of their starts.
pub(crate) fn source(config: &RunConfig, topology: &Topology) -> Result<Box<dyn Source>, Error> {
    let mut sources = Vec::with_capacity(config.workload.parts.len());
    for (label, part) in config.workload.parts.iter().enumerate() {
        sources.extend(part_source(config, topology, part, label as u64)?);
    }
    Ok(match sources.pop() {
        Some(only) if sources.is_empty() => only,
        Some(last) => {
            sources.push(last);
            Box::new(Merge::new(sources))
        }
        None => Box::new(Merge::new(sources)),
    })
}

/// Returns the flows of one part, or `None` for a part of requests, storage or an application.
pub(crate) fn part_source(
    config: &RunConfig,
    topology: &Topology,
    part: &WorkloadPart,
    label: u64,
) -> Result<Option<Box<dyn Source>>, Error> {
    Ok(Some(match &part.flows {
        FlowsSpec::Trace(trace) => Box::new(TraceSource::new(Arc::clone(trace))),
        FlowsSpec::Coflows(trace) => Box::new(CoflowSource::new(Arc::clone(trace), part.class)),
        FlowsSpec::Open(spec) => Box::new(open(config, topology, part, spec, label)?),
        FlowsSpec::Closed(spec) => Box::new(closed(config, topology, part, spec, label)?),
        FlowsSpec::Burst(spec) => Box::new(burst(config, topology, part, spec, label)?),
        FlowsSpec::Queries(spec) => Box::new(queries(config, topology, part, spec, label)?),
        // Requests, storage and custom applications start their flows themselves.
        FlowsSpec::Requests(_) | FlowsSpec::Storage(_) | FlowsSpec::Application(_) => {
            return Ok(None);
        }
    }))
}

/// Returns all applications that start transfers in a run.
///
/// # Errors
/// More than one storage workload or application, or a workload that cannot be generated.
pub(crate) fn applications(
    config: &RunConfig,
    topology: &Topology,
) -> Result<ApplicationSet, RunError> {
    let mut all = ApplicationSet::default();
    if let Some(service) = service(config, topology)? {
        all.add(Kind::Transfer, service.records_events, service.application);
    }
    if let Some((label, part)) = request_traffic::part_of(config) {
        let network = request_traffic::network::Network::new(config, topology, part, label)?;
        all.add(Kind::Copy, false, Box::new(network));
    }
    let source = source(config, topology).map_err(RunError::Workload)?;
    let flows = Flows::new(source, Replicating::new(config));
    all.add(Kind::Flow, false, Box::new(flows));
    if config.continues_load {
        let source = continued(config, topology).map_err(RunError::Workload)?;
        let load_only = LoadOnly::new(source, Replicating::new(config));
        all.add(Kind::Transfer, false, Box::new(load_only));
        all.has_load_only = true;
    }
    Ok(all)
}

/// Returns the flows that arrive after the recorded flows, with the same arrival processes.
fn continued(config: &RunConfig, topology: &Topology) -> Result<Box<dyn Source>, Error> {
    let mut open_parts = Vec::new();
    for part in &config.workload.parts {
        let FlowsSpec::Open(spec) = &part.flows else {
            return Err(Error::Matrix {
                found: "load that continues after a part that is not an open loop".to_owned(),
                allowed: "only with parts whose flows arrive at random",
            });
        };
        open_parts.push((part, spec));
    }
    let last_end = open_parts.iter().map(|(_, spec)| spec.until).max();
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for (label, (part, spec)) in (0..).zip(open_parts) {
        let endless = OpenSpec {
            // Only parts that last until the end of the workload continue. A part that ends earlier ends on purpose.
            until: match Some(spec.until) == last_end {
                true => Duration::MAX,
                false => spec.until,
            },
            max_flows: None,
            ..spec.clone()
        };
        let mut recorded = open(config, topology, part, spec, label)?;
        let mut all = open(config, topology, part, &endless, label)?;
        while recorded.next().is_some() {
            all.next();
        }
        sources.push(Box::new(all));
    }
    Ok(Box::new(Merge::new(sources)))
}

/// Storage service or custom application.
struct Service {
    /// Whether the service's flows have rows in the record.
    records_events: bool,
    application: Box<dyn Application>,
}

fn service(config: &RunConfig, topology: &Topology) -> Result<Option<Service>, RunError> {
    let mut found: Option<Service> = None;
    for (part, label) in config.workload.parts.iter().zip(0u64..) {
        let next = match &part.flows {
            FlowsSpec::Storage(spec) => {
                let sessions = sessions(config, topology, spec, (part.class, label));
                Service {
                    records_events: false,
                    application: Box::new(sessions.map_err(RunError::Workload)?),
                }
            }
            FlowsSpec::Application(spec) => {
                let rates = (0..topology.hosts()).map(|host| topology.host_rate(HostId(host)));
                let made = spec.application.make(&ApplicationSeat {
                    hosts: topology.hosts(),
                    racks: &topology.racks,
                    host_rate: rates.min().unwrap_or(Rate::from_gbps(1)),
                    sizes: &spec.sizes,
                    from: Time::ZERO + spec.from,
                    until: Time::ZERO + spec.until,
                    at_most: spec.at_most,
                    seed: stream_seed(config.seed, APPLICATION_DRAWS, label),
                });
                Service {
                    records_events: true,
                    application: made,
                }
            }
            _ => continue,
        };
        if found.replace(next).is_some() {
            return Err(RunError::Workload(Error::Matrix {
                found: "two storage workloads or applications in one run".to_owned(),
                allowed: "one; the share of reads of a storage workload can have any value",
            }));
        }
    }
    Ok(found)
}

/// Domain of the random streams of applications, for [`stream_seed`]. The value is ASCII for "app".
const APPLICATION_DRAWS: u64 = 0x0061_7070;

/// Returns the storage sessions of a part with this class and number, with the methods of the design.
fn sessions(
    config: &RunConfig,
    topology: &Topology,
    spec: &StoragePart,
    label: (Class, u64),
) -> Result<Sessions, Error> {
    let storage = storage(config, topology, spec, label)?;
    let methods = TransferMethods {
        write: spec.write,
        read: spec.read,
        several_ends: config.stack.design.several_ends,
        stragglers: config.settings.designs.scdp.stragglers,
    };
    Ok(Sessions::new(storage, methods))
}

/// Returns the hosts that take part in a storage workload.
pub(crate) fn storage_hosts(
    topology: &Topology,
    spec: &StoragePart,
    seed: u64,
) -> Result<Vec<HostId>, Error> {
    let hosts = (0..topology.hosts()).map(HostId).collect();
    match spec.left_out {
        Some(left_out) => beside(hosts, left_out, seed),
        None => Ok(hosts),
    }
}

/// Returns the storage sessions of a part with this class and number.
pub(crate) fn storage(
    config: &RunConfig,
    topology: &Topology,
    spec: &StoragePart,
    (class, label): (Class, u64),
) -> Result<Storage, Error> {
    Storage::new(StorageSpec {
        seed: config.seed,
        label,
        hosts: storage_hosts(topology, spec, config.seed)?,
        racks: Racks::from_ids(topology.racks.clone()),
        sizes: (*spec.sizes).clone(),
        replicas: spec.replicas,
        reads: spec.reads,
        blocks: spec.blocks,
        arrivals: spec.arrivals,
        per_second: spec.per_second,
        start: Time::ZERO + spec.from,
        until: Time::ZERO + spec.until,
        at_most: spec.max_sessions,
        class,
    })
}

/// Returns the hosts that do not belong to a permutation of `left_out` hosts.
fn beside(hosts: Vec<HostId>, left_out: u32, seed: u64) -> Result<Vec<HostId>, Error> {
    let taken = Matrix::sample(&hosts, left_out as usize, seed)?;
    let rest = hosts.into_iter().filter(|host| !taken.contains(host));
    Ok(rest.collect())
}

fn open(
    config: &RunConfig,
    topology: &Topology,
    part: &WorkloadPart,
    spec: &OpenSpec,
    label: u64,
) -> Result<Generated, Error> {
    let matrix = weighted(config, &spec.matrix, topology)?;
    let flows_per_second = flows_per_second(config, topology, spec, &matrix)?;
    Generated::new(GeneratedSpec {
        seed: config.seed,
        label,
        matrix,
        sizes: (*spec.sizes).clone(),
        arrivals: spec.arrivals,
        flows_per_second,
        start: Time::ZERO + spec.from,
        until: Time::ZERO + spec.until,
        arrivals_at_most: spec.max_flows,
        fan_in: spec.fan_in.map(|fan_in| FanIn {
            degree: fan_in.senders,
            below: fan_in.below.0,
        }),
        class: part.class,
        path: part.path,
    })
}

/// Returns the number of flows per second of an open loop, over all its sources.
pub(crate) fn flows_per_second(
    config: &RunConfig,
    topology: &Topology,
    spec: &OpenSpec,
    matrix: &Matrix,
) -> Result<f64, Error> {
    let (fraction, of, wire_bytes) = match spec.rate {
        OfferedRate::FlowsPerSecond(rate) => return Ok(rate),
        OfferedRate::Load {
            fraction,
            of,
            wire_bytes,
        } => (fraction, of, wire_bytes),
    };
    let load = Load {
        fraction,
        of: reference(of, &spec.matrix, matrix, topology),
        unit: if wire_bytes {
            LoadUnit::Wire(config.settings.framing)
        } else {
            LoadUnit::Payload
        },
    };
    load.flows_per_second(&spec.sizes)
}

fn closed(
    config: &RunConfig,
    topology: &Topology,
    part: &WorkloadPart,
    spec: &ClosedSpec,
    label: u64,
) -> Result<ClosedLoop, Error> {
    ClosedLoop::new(ClosedLoopSpec {
        seed: config.seed,
        label,
        matrix: weighted(config, &spec.matrix, topology)?,
        sizes: (*spec.sizes).clone(),
        outstanding: spec.outstanding,
        think: spec.think,
        jitter: Duration::ZERO,
        start: Time::ZERO + spec.from,
        until: Time::ZERO + spec.until,
        flows_at_most: spec.max_flows,
        class: part.class,
        path: part.path,
    })
}

fn queries(
    config: &RunConfig,
    topology: &Topology,
    part: &WorkloadPart,
    spec: &QueriesPart,
    label: u64,
) -> Result<Queries, Error> {
    let hosts: Vec<HostId> = (0..topology.hosts()).map(HostId).collect();
    let aggregators = match spec.aggregators {
        Some(count) => Matrix::sample(&hosts, count as usize, config.seed)?,
        None => hosts.clone(),
    };
    Queries::new(QueriesSpec {
        seed: config.seed,
        label,
        aggregators,
        workers: hosts,
        fan_out: spec.fan_out,
        sizes: (*spec.sizes).clone(),
        question: spec.question.map(|size| size.0),
        outstanding: spec.outstanding,
        think: spec.think,
        start: Time::ZERO + spec.from,
        until: Time::ZERO + spec.until,
        queries_at_most: spec.max_queries,
        class: part.class,
        path: part.path,
    })
}

fn burst(
    config: &RunConfig,
    topology: &Topology,
    part: &WorkloadPart,
    spec: &BurstPart,
    label: u64,
) -> Result<Burst, Error> {
    Burst::new(BurstSpec {
        seed: config.seed,
        label,
        matrix: weighted(config, &spec.matrix, topology)?,
        sizes: (*spec.sizes).clone(),
        start: Time::ZERO + spec.at,
        jitter: spec.jitter,
        rounds: 1,
        interval: spec.jitter,
        class: part.class,
        path: part.path,
    })
}

/// Returns the expected number of flows, requests and sessions of open loops.
/// Returns `None` if the workload has a part that is no open loop, because such a part always starts flows.
///
/// # Errors
/// The matrix does not fit the topology.
pub fn expected_arrivals(config: &RunConfig, topology: &Topology) -> Result<Option<f64>, Error> {
    let mut expected = 0.0;
    for part in &config.workload.parts {
        let rate = per_second(config, topology, &part.flows)?;
        let Some((per_second, limits)) = rate.zip(part.flows.limits()) else {
            return Ok(None);
        };
        expected += per_second * limits.span().as_secs_f64();
    }
    Ok(Some(expected))
}

/// Returns the expected number of flows, requests or sessions per second, between the limits of an open loop.
/// Returns `None` for other parts.
pub(crate) fn per_second(
    config: &RunConfig,
    topology: &Topology,
    flows: &FlowsSpec,
) -> Result<Option<f64>, Error> {
    Ok(match flows {
        FlowsSpec::Trace(_)
        | FlowsSpec::Coflows(_)
        | FlowsSpec::Closed(_)
        | FlowsSpec::Burst(_)
        | FlowsSpec::Queries(_)
        | FlowsSpec::Application(_) => None,
        FlowsSpec::Open(spec) => {
            let matrix = weighted(config, &spec.matrix, topology)?;
            Some(flows_per_second(config, topology, spec, &matrix)?)
        }
        FlowsSpec::Requests(spec) => {
            let link = match config.stack.design.has_packets() {
                true => request_traffic::network::link_of_servers(topology, spec),
                false => config.settings.designs.requests.link,
            };
            Some(request_traffic::rate_and_load(config, spec, link).0)
        }
        FlowsSpec::Storage(spec) => Some(spec.per_second),
    })
}

/// Returns the traffic matrix of a run, with weights.
pub(crate) fn weighted(
    config: &RunConfig,
    spec: &MatrixSpec,
    topology: &Topology,
) -> Result<Matrix, Error> {
    let matrix = matrix(spec, topology, config.seed)?;
    Ok(matrix.weighted(&config.workload.weights))
}

/// Returns the traffic matrix, without weights.
fn matrix(spec: &MatrixSpec, topology: &Topology, seed: u64) -> Result<Matrix, Error> {
    let hosts: Vec<HostId> = (0..topology.hosts()).map(HostId).collect();
    let racks = Racks::from_ids(topology.racks.clone());
    match spec {
        MatrixSpec::Anywhere => Matrix::anywhere(&hosts, &hosts),
        MatrixSpec::AnywhereBeside { left_out } => {
            let rest = beside(hosts, *left_out, seed)?;
            Matrix::anywhere(&rest, &rest)
        }
        MatrixSpec::BetweenRacks => Matrix::between_racks(&hosts, &hosts, &racks),
        MatrixSpec::Permutation { within_racks: true } => Matrix::permutation(&hosts, &hosts, seed),
        MatrixSpec::Permutation {
            within_racks: false,
        } => Matrix::permutation_between_racks(&hosts, &hosts, &racks, seed),
        MatrixSpec::PermutationOf {
            hosts: count,
            within_racks,
        } => {
            let part = Matrix::sample(&hosts, *count as usize, seed)?;
            if *within_racks {
                return Matrix::permutation(&part, &part, seed);
            }
            Matrix::permutation_between_racks(&part, &part, &racks, seed)
        }
        MatrixSpec::Incast { senders, receiver } => {
            let receiver = HostId(*receiver);
            exists(receiver, topology)?;
            let own = racks.of(receiver);
            let (far, near): (Vec<HostId>, Vec<HostId>) = hosts
                .into_iter()
                .filter(|&host| host != receiver)
                .partition(|&host| racks.of(host) != own);
            let senders = far.into_iter().chain(near).take(*senders as usize);
            Matrix::incast(&senders.collect::<Vec<_>>(), receiver)
        }
        MatrixSpec::Pairs(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|&(a, b)| (HostId(a), HostId(b))).collect();
            for &(src, dst) in &pairs {
                exists(src, topology)?;
                exists(dst, topology)?;
            }
            Matrix::pairs(&pairs)
        }
    }
}

fn exists(host: HostId, topology: &Topology) -> Result<(), Error> {
    if host.0 < topology.hosts() {
        return Ok(());
    }
    Err(Error::Matrix {
        found: format!("{host} in a network of {} hosts", topology.hosts()),
        allowed: "hosts of the topology, numbered from 0",
    })
}

/// Returns the capacity to which a load refers, for this matrix on this topology.
fn reference(
    of: LoadReference,
    spec: &MatrixSpec,
    matrix: &Matrix,
    topology: &Topology,
) -> ReferenceCapacity {
    let uplinks = Rate::from_bps(topology.rack_uplink_capacity_bps());
    let of_hosts = || {
        let senders = matrix.sources();
        let rate = senders
            .iter()
            .map(|host| topology.host_rate(*host).as_bps())
            .sum();
        ReferenceCapacity::Bottleneck {
            // A host's link has a rate above zero, and a matrix has a sender, so the fallback is never used.
            rate: Rate::from_bps(rate).unwrap_or(Rate::from_mbps(1)),
            crossing: 1.0,
        }
    };
    match (of, uplinks) {
        (LoadReference::Rate(rate), _) => ReferenceCapacity::Bottleneck {
            rate,
            crossing: 1.0,
        },
        (LoadReference::RackUplinks, Some(rate)) => ReferenceCapacity::Bottleneck {
            rate,
            crossing: crossing(spec, matrix, topology),
        },
        (LoadReference::RackUplinks, None) | (LoadReference::HostLinks, _) => of_hosts(),
    }
}

/// Returns the expected share of flows that leave their rack.
fn crossing(spec: &MatrixSpec, matrix: &Matrix, topology: &Topology) -> f64 {
    let racks = &topology.racks;
    if matrix.is_weighted() {
        return matrix.share_between_racks(&Racks::from_ids(racks.clone()));
    }
    let share = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
        let (mut all, mut leaving) = (0u64, 0u64);
        for (src, dst) in pairs {
            all += 1;
            leaving += u64::from(racks[src as usize] != racks[dst as usize]);
        }
        leaving as f64 / all.max(1) as f64
    };
    match spec {
        MatrixSpec::BetweenRacks
        | MatrixSpec::Permutation {
            within_racks: false,
        }
        | MatrixSpec::PermutationOf {
            within_racks: false,
            ..
        } => 1.0,
        MatrixSpec::Pairs(pairs) => share(&mut pairs.iter().copied()),
        MatrixSpec::Incast { receiver, .. } => {
            let hosts = 0..topology.hosts();
            share(&mut hosts.filter(|h| h != receiver).map(|h| (h, *receiver)))
        }
        MatrixSpec::Anywhere
        | MatrixSpec::AnywhereBeside { .. }
        | MatrixSpec::Permutation { within_racks: true }
        | MatrixSpec::PermutationOf {
            within_racks: true, ..
        } => {
            let mut sizes = std::collections::BTreeMap::new();
            for rack in racks {
                *sizes.entry(rack).or_insert(0u64) += 1;
            }
            let n = racks.len() as u64;
            let within: u64 = sizes.values().map(|size| size * (size - 1)).sum();
            1.0 - within as f64 / (n * (n - 1)).max(1) as f64
        }
    }
}
