//! One run, from its configuration to its record.

use crate::application::{Feed, Replicating, mixed};
use crate::capacity::{self, Capacity};
use crate::config::RunConfig;
use crate::error::RunError;
use crate::extent::Extent;
use crate::ideal::Ideal;
use crate::measures::{Arrivals, Bursts, PortWaits, Watch, Watchers};
use crate::offered;
use crate::packing::{Packing, PurgeKeys};
use crate::recorder::Recorder;
use crate::request_traffic;
use crate::simulation::{Horizon, Parts, Remains, Simulation};
use crate::timers;
use crate::topology_record;
use crate::totals::network_totals;
use crate::traffic;
use cpu_time::ThreadTime;
use std::sync::Arc;
use std::time::Instant;
use tailcut_design::{HostPlan, HostSeat, Replication, Traffic, UseHosts};
use tailcut_fabric::topology::Topology;
use tailcut_fabric::{Fabric, FabricConfig, FaultPlan, Observer, PortId};
use tailcut_record::{
    FlowLog, LinkFailure, OfferedLoad, PackedRun, PortTotals, RunCost, RunRecord, RunTotals,
};
use tailcut_transport::ConfigError;
use tailcut_transport::{Segment, Transport, copies};
use tailcut_units::{Bytes, FlowId, HostId, Time};
use tailcut_workload::Class;

/// What the caller of a run wants to see and say while it goes. Called from the run's thread.
pub trait RunControl: Sync {
    /// About this share of the run is over, 0 to 1, as far as it can tell in advance.
    fn progress(&self, share: f64);
    /// Whether the run should stop now.
    fn stop(&self) -> bool;
}

/// Runs to the end without a word.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unattended;

impl RunControl for Unattended {
    fn progress(&self, _share: f64) {}
    fn stop(&self) -> bool {
        false
    }
}

/// Runs one configuration to its end.
///
/// # Errors
/// [`RunError`] where the configuration cannot be run, or when it was stopped.
pub fn run(config: &RunConfig, control: &dyn RunControl) -> Result<RunRecord, RunError> {
    run_watched(config, control, &mut ())
}

/// Like [`run`], with somebody who looks on at single packets. A run without packets shows none.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    config: &RunConfig,
    control: &dyn RunControl,
    observer: &mut dyn Observer<Segment>,
) -> Result<RunRecord, RunError> {
    let run = run_packed(config, control, observer)?;
    Ok(run.with_flows(Vec::from))
}

/// Like [`run_watched`], for runs of millions of flows: a flow that has ended is packed, and takes a third
/// of the memory.
///
/// # Errors
/// As [`run`].
pub fn run_packed(
    config: &RunConfig,
    control: &dyn RunControl,
    observer: &mut dyn Observer<Segment>,
) -> Result<PackedRun, RunError> {
    if !config.stack.design.has_packets() {
        return run_stations(config, control);
    }
    let topology = topology(config)?;
    let plan = config.host_plan(&topology)?;
    plan.build(Stage {
        config,
        plan: &plan,
        topology: &topology,
        control,
        observer,
    })
}

/// A run without packets.
fn run_stations(config: &RunConfig, control: &dyn RunControl) -> Result<PackedRun, RunError> {
    let wall = Instant::now();
    let cpu = ThreadTime::try_now().ok();
    let mut record = RunRecord::of(config.key(), FlowLog::new());
    (record.requests, record.totals) = request_traffic::stations::run(config, control)?;
    record.offered = offered::offered_to_stations(config);
    record.timers.chunk = timers::coarse_chunk(config, &record.requests);
    record.cost = cost(wall, cpu);
    Ok(record)
}

/// The network, empty, with what looks on at it.
pub(crate) fn fabric<'a, B: Clone>(
    config: &RunConfig,
    topology: &Topology,
    other: Option<&'a mut dyn Observer<B>>,
) -> Fabric<B, Watch<'a, B>> {
    let watchers = Watchers {
        waits: config.measures.waits.then(|| PortWaits::new(topology)),
        other,
    };
    let plan = config.switch_plan();
    Fabric::observed(
        topology,
        &FabricConfig {
            load_balancer: plan.load_balancer,
            engine: config.engine,
            port_events: config.port_events,
            seed: config.seed,
            bonding: plan.bonding,
        },
        watchers.is_on().then(|| Box::new(watchers)),
    )
}

fn cost(wall: Instant, cpu: Option<ThreadTime>) -> RunCost {
    RunCost {
        cpu_seconds: cpu.map(|cpu| cpu.elapsed().as_secs_f64()),
        wall_seconds: Some(wall.elapsed().as_secs_f64()),
        peak_rss_bytes: peak_rss_bytes(),
    }
}

/// How the run's segments become packets.
pub(crate) fn packing(config: &RunConfig) -> Packing {
    Packing {
        framing: config.settings.framing,
        group_header: config.settings.designs.scdp.group_header.0 as u32,
        hash: config.settings.designs.ecmp_hash,
        purge_keys: (config.traffic() == Traffic::Requests).then_some(PurgeKeys {
            of: copies::purge_key,
            purged_by: copies::purges,
        }),
    }
}

/// The network of a run, with its queues and without its faults.
pub(crate) fn topology(config: &RunConfig) -> Result<Arc<Topology>, RunError> {
    let mut topology = config.topology.shape.build().map_err(RunError::Topology)?;
    let plan = config.switch_plan();
    plan.install(&mut topology).map_err(RunError::Transport)?;
    Ok(Arc::new(topology))
}

/// What every run over the fabric begins with.
struct Stage<'a> {
    config: &'a RunConfig,
    plan: &'a HostPlan,
    topology: &'a Arc<Topology>,
    control: &'a dyn RunControl,
    observer: &'a mut dyn Observer<Segment>,
}

/// The seat of a host in a network.
pub(crate) fn seat<'a>(plan: &'a HostPlan, topology: &Topology, host: u32) -> HostSeat<'a> {
    let host = HostId(host);
    plan.seat(
        host,
        topology.hosts(),
        topology.host_rate(host),
        topology.paths,
    )
}

impl UseHosts for Stage<'_> {
    type Output = Result<PackedRun, RunError>;

    /// Runs them.
    fn with<T: Transport>(
        self,
        make: impl Fn(&HostSeat<'_>) -> Result<T, ConfigError>,
    ) -> Self::Output {
        let Self {
            config,
            plan,
            control,
            observer,
            ..
        } = self;
        let wall = Instant::now();
        let cpu = ThreadTime::try_now().ok();
        let applications = traffic::applications(config, self.topology)?;
        let told = Told::new(config, self.topology)?;
        let topology = &in_trouble(config, self.topology)?;
        let recorder = recorder(config, self.topology, topology, &told.failures);
        let feed = Feed::new(applications, topology.hosts(), recorder);
        let hosts = 0..topology.hosts();
        let transports = hosts.map(|host| make(&seat(plan, self.topology, host)));
        let mut simulation = Simulation::new(Parts {
            fabric: fabric(config, topology, observer.is_on().then_some(observer)),
            faults: FaultPlan::of(topology),
            transports: transports
                .collect::<Result<Vec<T>, ConfigError>>()
                .map_err(RunError::Transport)?,
            feed,
            packing: packing(config),
            engine: config.engine,
        });
        let extent = Extent::new(&config.workload, config.drain);
        let whole = simulation.run(Horizon {
            end: Time::MAX,
            drain: config.drain,
            sample_every: config.sample_every,
            go_on: &mut |now, so_far| {
                control.progress(extent.share(now, so_far));
                !control.stop()
            },
        });
        if !whole {
            return Err(RunError::Stopped);
        }
        let mut record = record(config, self.topology, told, simulation.finish());
        record.cost = cost(wall, cpu);
        Ok(record)
    }
}

/// What notes the flows of a run on `faulty`, which is its network with its faults, and what else it measures.
pub(crate) fn recorder(
    config: &RunConfig,
    topology: &Topology,
    faulty: &Arc<Topology>,
    failures: &[LinkFailure],
) -> Recorder {
    let capacity = Capacity::new(topology, failures);
    let ideal = Ideal::new(Arc::clone(faulty), config.settings.framing, config.stack);
    let mut recorder = Recorder::new(ideal, capacity);
    let hosts = topology.hosts();
    recorder.bursts = config.measures.bursts.then(|| Bursts::new(hosts));
    let until = Time::ZERO + config.workload.span();
    recorder.arrivals = config.measures.goodput.then(|| Arrivals::until(until));
    recorder
}

/// What a record says of a run that is known before it begins.
pub(crate) struct Told {
    pub failures: Vec<LinkFailure>,
    pub offered: OfferedLoad,
}

impl Told {
    pub fn new(config: &RunConfig, topology: &Arc<Topology>) -> Result<Self, RunError> {
        Ok(Self {
            failures: capacity::failures(topology, &config.faults),
            offered: offered::offered(config, topology).map_err(RunError::Workload)?,
        })
    }
}

/// The record of a run: all but what it cost.
pub(crate) fn record<B: Clone>(
    config: &RunConfig,
    topology: &Arc<Topology>,
    told: Told,
    remains: Remains<'_, B>,
) -> PackedRun {
    let Remains {
        mut fabric,
        feed,
        host_events,
        end,
    } = remains;
    let mut record = RunRecord::of(config.key(), FlowLog::new());
    let (outcome, mut recorder) = feed.finish(end, &mut fabric);
    (record.sessions, record.requests) = (outcome.sessions, outcome.requests);
    record.classes = Class::ALL.iter().map(|c| c.name().to_owned()).collect();
    fill(&mut record, topology, &fabric, host_events, end);
    if let Some(waits) = fabric.into_observer().and_then(|watchers| watchers.waits) {
        let carried: Vec<u64> = record.ports.iter().map(|port| port.bytes.0).collect();
        record.switch_waits = Some(waits.summary(topology, &carried));
    }
    record.arrived = recorder.arrivals.take().map(Arrivals::summary);
    record.host_bursts = recorder.bursts.take().map(Bursts::summary);
    record.nodes = topology_record::nodes(topology);
    record.topology = topology_record::links(topology);
    record.sampling = config.sample_every.map(|every| recorder.sampling(every));
    (record.flows, record.queues, record.links) = recorder.finish();
    if config.stack.replication == Replication::Mixed {
        name_mixed(&mut record, config);
    }
    record.failures = told.failures;
    record.offered = Some(told.offered);
    record.timers = timers::timers(config, topology);
    record.timers.chunk = timers::coarse_chunk(config, &record.requests);
    record
}

/// The network with the run's faults, which hosts and workload know nothing of.
pub(crate) fn in_trouble(
    config: &RunConfig,
    topology: &Arc<Topology>,
) -> Result<Arc<Topology>, RunError> {
    if config.faults.is_empty() {
        return Ok(Arc::clone(topology));
    }
    let mut topology = Topology::clone(topology);
    topology
        .add_faults(&config.faults)
        .map_err(RunError::Topology)?;
    Ok(Arc::new(topology))
}

/// Gives each mouse of a mixed run a class that says what it drew too, such as `foreground/repflow`.
fn name_mixed(record: &mut PackedRun, config: &RunConfig) {
    let classes = record.classes.len();
    for class in 0..classes {
        let names = mixed::OUTCOMES
            .iter()
            .map(|(drawn, _)| format!("{}/{drawn}", record.classes[class]));
        let names: Vec<String> = names.collect();
        record.classes.extend(names);
    }
    let replicating = Replicating::new(config);
    for flow in (0..record.flows.numbers()).map(FlowId) {
        record.flows.change(flow, |row| {
            if let Some(drawn) = replicating.drawn(flow, row.bytes.0) {
                row.class =
                    (classes + usize::from(row.class) * mixed::OUTCOMES.len() + drawn) as u8;
            }
        });
    }
}

/// The network's totals.
fn fill<B: Clone>(
    record: &mut PackedRun,
    topology: &Topology,
    fabric: &Fabric<B, Watch<'_, B>>,
    host_events: u64,
    end: Time,
) {
    for port in 0..fabric.port_count() {
        let report = fabric.port_report(end, PortId(port));
        record.ports.push(PortTotals {
            port,
            name: topology.port_name(port).unwrap_or_default(),
            packets: report.sent_packets,
            bytes: Bytes(report.carried_bytes),
            dropped: report.dropped,
            marked: report.marked,
            max_backlog: Bytes(report.longest_backlog_bytes),
        });
    }
    record.totals = RunTotals {
        // By what has begun: one-event ports know of transmissions that a run may end before.
        packet_hops: record.ports.iter().map(|port| port.packets).sum(),
        events: fabric.events() + host_events,
        marks: record.ports.iter().map(|port| port.marked).sum(),
        simulated: end.since(Time::ZERO),
        ..network_totals(fabric)
    };
}

/// The process's largest resident memory so far, where the system says.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
