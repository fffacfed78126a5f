//! Execution of one run, from its configuration to its record.

use crate::application::{ApplicationRunner, Replicating, mixed, transfer_flow};
use crate::capacity::{self, Capacity};
use crate::config::RunConfig;
use crate::error::RunError;
use crate::ideal::Ideal;
use crate::measures::{Arrivals, Bursts, PortWaits, Watch, Watchers};
use crate::offered;
use crate::packing::{Packing, PurgeKeys};
use crate::progress::ProgressEstimate;
use crate::recorder::Recorder;
use crate::request_traffic;
use crate::simulation::{FinishedRun, Horizon, Parts, Simulation};
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
    FlowLog, FlowRecord, LinkFailure, OfferedLoad, PackedRun, PortTotals, RunCost, RunRecord,
    RunTotals,
};
use tailcut_transport::ConfigError;
use tailcut_transport::{Segment, Transport, copies};
use tailcut_units::{Bytes, FlowId, HostId, Time};
use tailcut_workload::Class;

/// Receiver of a run's progress. The receiver can also stop the run.
/// The thread that executes the run calls the methods.
pub trait RunControl: Sync {
    /// Reports the estimated share of the run that is complete, from 0 to 1.
    fn progress(&self, share: f64);
    /// Returns whether the run must stop now.
    fn stop(&self) -> bool;
}

/// Control that ignores progress and never stops a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unattended;

impl RunControl for Unattended {
    fn progress(&self, _share: f64) {}
    fn stop(&self) -> bool {
        false
    }
}

/// Executes one configuration to its end.
///
/// # Errors
/// The configuration cannot be executed, or the run was stopped: [`RunError::Stopped`].
pub fn run(config: &RunConfig, control: &dyn RunControl) -> Result<RunRecord, RunError> {
    run_watched(config, control, &mut ())
}

/// Executes a run like [`run`], with an observer of single packets. A run without packets does not call the observer.
///
/// # Errors
/// The errors of [`run`].
pub fn run_watched(
    config: &RunConfig,
    control: &dyn RunControl,
    observer: &mut dyn Observer<Segment>,
) -> Result<RunRecord, RunError> {
    let run = run_packed(config, control, observer)?;
    Ok(run.with_flows(Vec::from))
}

/// Executes a run like [`run_watched`], for runs with millions of flows.
/// Flows that have ended are packed. Packed flows use a third of the memory.
///
/// # Errors
/// The errors of [`run`].
pub fn run_packed(
    config: &RunConfig,
    control: &dyn RunControl,
    observer: &mut dyn Observer<Segment>,
) -> Result<PackedRun, RunError> {
    if !config.stack.design.has_packets() {
        return run_stations(config, control);
    }
    let topology = Arc::new(config.network()?);
    let faulty = config.with_faults(&topology)?;
    let plan = config.host_plan(&faulty)?;
    plan.build(RunSetup {
        config,
        plan: &plan,
        topology: &topology,
        faulty: &faulty,
        control,
        observer,
    })
}

/// Executes a run without packets.
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

/// Creates the network without packets, with its observers.
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

/// Returns the rules by which a run converts segments to packets.
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

/// Inputs of a run over the fabric.
struct RunSetup<'a> {
    config: &'a RunConfig,
    plan: &'a HostPlan,
    topology: &'a Arc<Topology>,
    /// Network of the run, with its faults.
    faulty: &'a Arc<Topology>,
    control: &'a dyn RunControl,
    observer: &'a mut dyn Observer<Segment>,
}

/// Returns the data of one host that the host's transport needs.
pub(crate) fn seat<'a>(plan: &'a HostPlan, topology: &Topology, host: u32) -> HostSeat<'a> {
    let host = HostId(host);
    plan.seat(
        host,
        topology.hosts(),
        topology.host_rate(host),
        topology.paths,
    )
}

impl UseHosts for RunSetup<'_> {
    type Output = Result<PackedRun, RunError>;

    /// Executes the run with the given transports.
    fn with<T: Transport>(
        self,
        make: impl Fn(&HostSeat<'_>) -> Result<T, ConfigError>,
    ) -> Self::Output {
        let Self {
            config,
            plan,
            faulty: topology,
            control,
            observer,
            ..
        } = self;
        let wall = Instant::now();
        let cpu = ThreadTime::try_now().ok();
        let applications = traffic::applications(config, self.topology)?;
        let planned = PlannedRecord::new(config, self.topology)?;
        let recorder = recorder(config, self.topology, topology, &planned.failures);
        let runner = ApplicationRunner::new(applications, topology.hosts(), recorder);
        let hosts = 0..topology.hosts();
        let transports = hosts.map(|host| make(&seat(plan, topology, host)));
        let mut simulation = Simulation::new(Parts {
            fabric: fabric(config, topology, observer.is_on().then_some(observer)),
            faults: FaultPlan::of(topology),
            transports: transports
                .collect::<Result<Vec<T>, ConfigError>>()
                .map_err(RunError::Transport)?,
            runner,
            packing: packing(config),
            engine: config.engine,
            seed: config.seed,
        });
        let estimate = ProgressEstimate::new(&config.workload, config.drain);
        let whole = simulation.run(Horizon {
            end: Time::MAX,
            drain: config.drain,
            sample_every: config.sample_every,
            keep_running: &mut |now, so_far| {
                control.progress(estimate.share(now, so_far));
                !control.stop()
            },
        });
        if !whole {
            return Err(RunError::Stopped);
        }
        let networks = [self.topology, topology];
        let mut record = record(config, networks, planned, simulation.finish());
        record.cost = cost(wall, cpu);
        Ok(record)
    }
}

/// Creates the recorder of a run and its measurements. `faulty` is the network of the run with its faults.
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

/// Parts of a record that are known before the run starts.
pub(crate) struct PlannedRecord {
    pub failures: Vec<LinkFailure>,
    pub offered: OfferedLoad,
}

impl PlannedRecord {
    pub fn new(config: &RunConfig, topology: &Arc<Topology>) -> Result<Self, RunError> {
        Ok(Self {
            failures: capacity::failures(topology, &config.faults),
            offered: offered::offered(config, topology).map_err(RunError::Workload)?,
        })
    }
}

/// Creates the record of a run, without its cost. The network is given without and with its faults.
pub(crate) fn record<B: Clone>(
    config: &RunConfig,
    [topology, faulty]: [&Arc<Topology>; 2],
    planned: PlannedRecord,
    finished: FinishedRun<'_, B>,
) -> PackedRun {
    let FinishedRun {
        mut fabric,
        runner,
        host_events,
        end,
    } = finished;
    let mut record = RunRecord::of(config.key(), FlowLog::new());
    let (outcome, mut recorder) = runner.finish(end, &mut fabric);
    (record.sessions, record.requests) = (outcome.sessions, outcome.requests);
    record.coflows = outcome.coflows;
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
    recorder.finish(&mut record);
    if config.stack.replication == Replication::Mixed {
        name_mixed(&mut record, config);
    }
    record.failures = planned.failures;
    record.offered = Some(planned.offered);
    record.timers = timers::timers(config, faulty);
    record.timers.chunk = timers::coarse_chunk(config, &record.requests);
    record
}

/// Assigns new classes to the small flows of a run with mixed replication.
/// The name of a class with mixed replication includes the drawn method, such as `foreground/repflow`.
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
    let name = |row: &mut FlowRecord, number: FlowId| {
        if let Some(drawn) = replicating.drawn(number, row.bytes.0) {
            row.class = (classes + usize::from(row.class) * mixed::OUTCOMES.len() + drawn) as u8;
        }
    };
    let after = record.flows.numbers();
    for flow in (0..after).map(FlowId) {
        record.flows.change(flow, |row| name(row, flow));
    }
    // During the run, flows that only carry load have the numbers of applications' transfers.
    let load_only = (after..record.load_only.numbers()).map(FlowId);
    for (flow, transfer) in load_only.zip((0..).map(transfer_flow)) {
        record.load_only.change(flow, |row| name(row, transfer));
    }
}

/// Stores the totals of the network in the record.
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
        // A hop is counted when its transmission begins.
        // Ports with one event per packet also contain transmissions that begin after the end of the run.
        packet_hops: record.ports.iter().map(|port| port.packets).sum(),
        events: fabric.events() + host_events,
        marks: record.ports.iter().map(|port| port.marked).sum(),
        simulated: end.since(Time::ZERO),
        ..network_totals(fabric)
    };
}

/// Returns the largest resident memory of the process so far, if the system reports it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
