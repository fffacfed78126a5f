//! Configuration of one run: a design on a topology with a workload, and all parameters.

use crate::application::OwnApplication;
use crate::error::RunError;
use crate::ideal;
use crate::measures::Measures;
use crate::sessions::{ReadBy, WriteBy};
use std::num::NonZeroU32;
use std::sync::Arc;
use tailcut_design::{HostPlan, Settings, Stack, SwitchPlan, Traffic};
use tailcut_fabric::PortEvents;
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::topology::{
    CustomTopology, FatTree, LeafSpine, LinkFault, SingleSwitch, Topology, TopologyError,
};
use tailcut_record::{Parameter, RunKey};
use tailcut_units::{Bytes, Duration, Rate, Time};
use tailcut_workload::{
    Arrivals, Class, CoflowTrace, HostWeights, SizeDistribution, ThinkTime, Trace,
};

/// Inputs that determine the result of a run. Clones are cheap, because large parts are shared.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Design of the run, with its replication and load balancer.
    pub stack: Stack,
    /// Name of the design in records, if it differs from the name of the stack.
    /// A design with its own settings has a name that differs from the name of its stack.
    pub called: Option<String>,
    /// Swept keys of the study with this run's values, for its records. All fields already contain the values.
    pub parameters: Vec<Parameter>,
    /// Network of the run, without faults.
    pub topology: TopologySpec,
    /// Links that are slow, lossy or down. Loads refer to the network without faults.
    pub faults: Vec<LinkFault>,
    /// Workload of the run.
    pub workload: WorkloadSpec,
    /// Parameters of designs, hosts and NICs.
    pub settings: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Interval between two samples of queues and links. `None`: no samples.
    pub sample_every: Option<Duration>,
    /// Measurements of single packets.
    pub measures: Measures,
    /// Longest time that the run continues after the last arrival, so that flows can finish.
    pub drain: Duration,
    /// Whether flows keep arriving until the last recorded flow has ended.
    /// The further flows have no rows in the record. All parts of the workload must be open loops.
    pub continues_load: bool,
    /// Kind of the event queue. The kind does not change the results.
    pub engine: EngineKind,
    /// Number of events per packet at FIFO ports. The number does not change the results.
    pub port_events: PortEvents,
    /// Clock of the run.
    pub clock: RunClock,
}

/// Clock of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum RunClock {
    /// Virtual time of the simulator.
    #[default]
    Simulated,
    /// Wall clock, with real hosts around the network. The simulator does not execute runs on the wall clock.
    Wall {
        /// Ratio of wall clock to network clock: 2 means that the network runs at half speed.
        slowdown: NonZeroU32,
    },
}

impl RunConfig {
    /// Creates a run with seed 1, without samples or measurements.
    /// All other fields have the defaults of their parts, such as Ethernet framing and DCTCP of RFC 8257.
    /// Flows have 20 s to finish after the last arrival.
    pub fn new(stack: Stack, topology: TopologySpec, workload: WorkloadSpec) -> Self {
        Self {
            stack,
            called: None,
            parameters: Vec::new(),
            topology,
            faults: Vec::new(),
            workload,
            settings: Settings::default(),
            seed: 1,
            sample_every: None,
            measures: Measures::default(),
            drain: Duration::from_ms(20_000),
            continues_load: false,
            engine: EngineKind::Calendar,
            port_events: PortEvents::OneWherePossible,
            clock: RunClock::Simulated,
        }
    }

    /// Returns the kind of traffic that the hosts carry.
    pub fn traffic(&self) -> Traffic {
        let has = |kind: fn(&FlowsSpec) -> bool| {
            let mut parts = self.workload.parts.iter();
            parts.any(|part| kind(&part.flows))
        };
        if has(|flows| matches!(flows, FlowsSpec::Requests(_))) {
            Traffic::Requests
        } else if has(|flows| matches!(flows, FlowsSpec::Application(_))) {
            Traffic::Steered
        } else {
            Traffic::Transfers
        }
    }

    /// Returns the setup that the design needs on the switches.
    pub fn switch_plan(&self) -> SwitchPlan {
        SwitchPlan::new(self.stack, &self.settings, self.traffic())
    }

    /// Builds the network of the run, with its queues and the clocks of its hosts, and without its faults.
    ///
    /// # Errors
    /// The topology, or a parameter of the design's queues, is outside its range.
    pub fn network(&self) -> Result<Topology, RunError> {
        let mut topology = self.topology.shape.build().map_err(RunError::Topology)?;
        let plan = self.switch_plan();
        plan.install(&mut topology).map_err(RunError::Transport)?;
        if let Some(ppm) = self.settings.nic.drift {
            topology.drift_hosts(ppm, self.seed);
        }
        Ok(topology)
    }

    /// Returns the network with the faults of the run. Workload and queues use the network without faults.
    /// In this network, a link that is slow during the whole run has its lower rate.
    /// Hosts use this network, as if it had been built with the lower rates.
    ///
    /// # Errors
    /// The network cannot have one of the faults.
    pub fn with_faults(&self, topology: &Arc<Topology>) -> Result<Arc<Topology>, RunError> {
        if self.faults.is_empty() {
            return Ok(Arc::clone(topology));
        }
        let mut topology = Topology::clone(topology);
        topology
            .add_faults(&self.faults)
            .map_err(RunError::Topology)?;
        Ok(Arc::new(topology))
    }

    /// Returns the plan of the transports on the hosts of a network with its faults.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn host_plan(&self, topology: &Arc<Topology>) -> Result<HostPlan, RunError> {
        let longest = || ideal::longest_round_trip(topology, &self.settings, self.stack);
        let plan = HostPlan::new(
            self.stack,
            &self.settings,
            self.traffic(),
            self.seed,
            longest,
        );
        plan.map_err(RunError::Transport)
    }

    /// Returns the identification of the run.
    pub fn key(&self) -> RunKey {
        RunKey {
            design: self
                .called
                .clone()
                .unwrap_or_else(|| self.stack.to_string()),
            topology: self.topology.name.clone(),
            workload: self.workload.name.clone(),
            load: self.workload.load,
            seed: self.seed,
            parameters: self.parameters.clone(),
        }
    }
}

/// Network with its name.
#[derive(Clone, Debug)]
pub struct TopologySpec {
    /// Name of the network in records.
    pub name: String,
    /// Kind and parameters of the network.
    pub shape: Shape,
}

/// Kind and parameters of a network.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Hosts on one switch.
    SingleSwitch(SingleSwitch),
    /// Network of leaf and spine switches.
    LeafSpine(LeafSpine),
    /// k-ary fat-tree.
    FatTree(FatTree),
    /// Nodes and links from a scenario.
    Custom(Arc<CustomTopology>),
}

impl Shape {
    /// Builds the network.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        match self {
            Self::SingleSwitch(shape) => shape.build(),
            Self::LeafSpine(shape) => shape.build(),
            Self::FatTree(shape) => shape.build(),
            Self::Custom(shape) => shape.build(),
        }
    }
}

/// Workload with a name. Its parts run at the same time.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Name of the workload in records.
    pub name: String,
    /// Load of the foreground, for records. `None` if the workload has no load.
    pub load: Option<f64>,
    /// Parts of the workload.
    pub parts: Vec<WorkloadPart>,
    /// Weights of hosts that send or receive more than others.
    /// The weights apply to parts with random sources or destinations.
    /// Open loops use the weights of sources and destinations.
    /// Closed loops and bursts use only the weights of destinations.
    pub weights: Arc<HostWeights>,
}

/// One source of flows.
#[derive(Clone, Debug)]
pub struct WorkloadPart {
    /// Role of the flows in the experiment.
    pub class: Class,
    /// Number of the equal-cost path of the flows and their ACKs. `None`: the network selects the path.
    /// A trace ignores the path of the part, because the trace contains a path for each flow.
    pub path: Option<u16>,
    /// Flows of the part, by their origin.
    pub flows: FlowsSpec,
}

/// Origin of the flows of a part.
#[derive(Clone, Debug)]
pub enum FlowsSpec {
    /// Flows from a file.
    Trace(Arc<Trace>),
    /// Coflows from a file.
    Coflows(Arc<CoflowTrace>),
    /// Open loop: flows arrive even if earlier flows have not finished.
    Open(OpenSpec),
    /// Closed loop: each source keeps a number of flows outstanding.
    /// When a flow finishes, the source starts the next flow.
    Closed(ClosedSpec),
    /// One flow per source, all at the same time.
    Burst(BurstPart),
    /// Queries in a closed loop: several workers answer a query, and the next query starts after the last answer.
    Queries(QueriesPart),
    /// Requests of clients to servers.
    Requests(RequestsPart),
    /// Requests for replicated blocks. A workload can have at most one part with requests.
    Storage(StoragePart),
    /// Custom application. A workload can have one custom application or one storage part, not both.
    Application(ApplicationPart),
}

/// Limits of the arrivals of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Start of the arrivals, from the start of the run.
    pub from: Duration,
    /// Latest time of an arrival.
    pub until: Duration,
    /// Largest number of arrivals.
    pub at_most: Option<u64>,
}

impl Limits {
    /// Returns the time from the start of the arrivals to the latest arrival.
    pub fn span(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

impl FlowsSpec {
    /// Returns the limits of the arrivals.
    /// Returns `None` for a trace, coflows from a file, and a burst, because their arrivals have no limits.
    pub const fn limits(&self) -> Option<Limits> {
        let (from, until, at_most) = match self {
            Self::Trace(_) | Self::Coflows(_) | Self::Burst(_) => return None,
            Self::Open(spec) => (spec.from, spec.until, spec.max_flows),
            Self::Closed(spec) => (spec.from, spec.until, spec.max_flows),
            Self::Queries(spec) => (spec.from, spec.until, spec.max_queries),
            Self::Requests(spec) => (spec.from, spec.until, spec.max_requests),
            Self::Storage(spec) => (spec.from, spec.until, spec.max_sessions),
            Self::Application(spec) => (spec.from, spec.until, spec.at_most),
        };
        Some(Limits {
            from,
            until,
            at_most,
        })
    }

    /// Sets the limits of the arrivals, if the part has limits.
    pub const fn set_limits(&mut self, limits: Limits) {
        let (from, until, at_most) = match self {
            Self::Trace(_) | Self::Coflows(_) | Self::Burst(_) => return,
            Self::Open(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_flows),
            Self::Closed(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_flows),
            Self::Queries(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_queries),
            Self::Requests(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_requests),
            Self::Storage(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_sessions),
            Self::Application(spec) => (&mut spec.from, &mut spec.until, &mut spec.at_most),
        };
        (*from, *until, *at_most) = (limits.from, limits.until, limits.at_most);
    }

    /// Sets the number of hosts of a partial permutation, or the number of hosts that a matrix leaves out.
    pub fn set_permuted_hosts(&mut self, count: u32) {
        let matrix = match self {
            Self::Trace(_)
            | Self::Coflows(_)
            | Self::Requests(_)
            | Self::Application(_)
            | Self::Queries(_) => return,
            Self::Storage(part) => {
                if let Some(left_out) = &mut part.left_out {
                    *left_out = count;
                }
                return;
            }
            Self::Open(spec) => &mut spec.matrix,
            Self::Closed(spec) => &mut spec.matrix,
            Self::Burst(spec) => &mut spec.matrix,
        };
        if let MatrixSpec::PermutationOf { hosts, .. }
        | MatrixSpec::AnywhereBeside { left_out: hosts } = matrix
        {
            *hosts = count;
        }
    }
}

/// Open loop: flows arrive independently of the ends of earlier flows.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Arrival process of each source.
    pub arrivals: Arrivals,
    /// Traffic matrix.
    pub matrix: MatrixSpec,
    /// Offered rate of flows.
    pub rate: OfferedRate,
    /// Start of the arrivals.
    pub from: Duration,
    /// Latest time of an arrival.
    pub until: Duration,
    /// Largest number of flows.
    pub max_flows: Option<u64>,
    /// Fan-in of small flows. A flow is small if it has fewer than `below` bytes.
    /// At the start of a small flow, `senders - 1` further hosts send a flow of the same size to its destination.
    pub fan_in: Option<FanInSpec>,
}

/// Fan-in of small flows: the incast of the RepNet paper, in addition to background traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FanInSpec {
    /// Total number of senders, at least 2 (11 in the RepNet paper).
    pub senders: u32,
    /// Size limit in bytes. Smaller flows have a fan-in.
    pub below: Bytes,
}

/// Offered rate of flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfferedRate {
    /// Fraction of a capacity.
    Load {
        /// Load as a fraction of the capacity, above zero.
        fraction: f64,
        /// Capacity to which the fraction refers.
        of: LoadReference,
        /// Whether the load includes headers, preamble and inter-packet gap.
        wire_bytes: bool,
    },
    /// Flows per second, of all sources together.
    FlowsPerSecond(f64),
}

/// Capacity to which a load refers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum LoadReference {
    /// Links of the sending hosts.
    #[default]
    HostLinks,
    /// Uplinks of the racks. The load includes only bytes that leave a rack.
    /// In a network with one rack, the links of the hosts.
    RackUplinks,
    /// Rate that the scenario states.
    Rate(Rate),
}

/// Closed loop: each source keeps a number of flows outstanding.
#[derive(Clone, Debug)]
pub struct ClosedSpec {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Traffic matrix.
    pub matrix: MatrixSpec,
    /// Outstanding flows per source, at least one.
    pub outstanding: u32,
    /// Pause between the end of a flow and the start of the next one.
    pub think: ThinkTime,
    /// Start of the loop.
    pub from: Duration,
    /// Time after which no flow starts.
    pub until: Duration,
    /// Largest number of flows.
    pub max_flows: Option<u64>,
}

/// Queries of aggregators to workers.
#[derive(Clone, Debug)]
pub struct QueriesPart {
    /// Sizes of the answers, in bytes.
    pub sizes: Arc<SizeDistribution>,
    /// Number of aggregators. The seed determines which hosts they are. `None`: all hosts.
    pub aggregators: Option<u32>,
    /// Number of workers of a query, at least 1.
    /// Workers are different hosts, drawn uniformly from all hosts except the aggregator.
    pub fan_out: u32,
    /// Size of the question to each worker, in bytes. `None`: no question, and all answers start with the query.
    pub question: Option<Bytes>,
    /// Outstanding queries per aggregator, at least one.
    pub outstanding: u32,
    /// Pause between the last answer of a query and the next query.
    pub think: ThinkTime,
    /// Start of the first queries.
    pub from: Duration,
    /// Time after which no query starts.
    pub until: Duration,
    /// Largest number of queries.
    pub max_queries: Option<u64>,
}

/// Burst: one flow per source.
#[derive(Clone, Debug)]
pub struct BurstPart {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Traffic matrix.
    pub matrix: MatrixSpec,
    /// Start of the burst.
    pub at: Duration,
    /// Duration over which the starts of flows are spread evenly.
    pub jitter: Duration,
}

/// Requests of clients. The servers of each request are random, all with the same probability.
#[derive(Clone, Debug)]
pub struct RequestsPart {
    /// Sizes of the answers, in bytes.
    pub sizes: Arc<SizeDistribution>,
    /// Number of clients.
    pub clients: u32,
    /// Number of servers.
    pub servers: u32,
    /// Arrival process of each client.
    pub arrivals: Arrivals,
    /// Offered rate of requests.
    pub rate: RequestRate,
    /// Start of the arrivals.
    pub from: Duration,
    /// Latest time of an arrival.
    pub until: Duration,
    /// Largest number of requests.
    pub max_requests: Option<u64>,
}

/// Offered rate of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RequestRate {
    /// Load of each server's busiest station, as a fraction of its capacity. Copies beyond the quorum are excluded.
    Load(f64),
    /// Requests per second, of all clients together.
    PerSecond(f64),
}

/// Storage workload: clients write and read replicated blocks (SCDP paper, section V-A).
#[derive(Clone, Debug)]
pub struct StoragePart {
    /// Sizes of sessions, in bytes.
    pub sizes: Arc<SizeDistribution>,
    /// Number of hosts that the storage workload leaves out: the hosts of a permutation of this size.
    /// `None`: all hosts take part.
    pub left_out: Option<u32>,
    /// Number of replicas of a block, at least 1.
    pub replicas: u32,
    /// Share of sessions that are reads, from 0 to 1.
    pub reads: f64,
    /// Number of blocks that a session reads at the same time, at least 1.
    pub blocks: u32,
    /// Arrival process of each client.
    pub arrivals: Arrivals,
    /// Sessions per second, of all clients together.
    pub per_second: f64,
    /// Start of the arrivals.
    pub from: Duration,
    /// Latest time of an arrival.
    pub until: Duration,
    /// Largest number of sessions.
    pub max_sessions: Option<u64>,
    /// Method of writing a block to its servers.
    pub write: WriteBy,
    /// Method of reading a block.
    pub read: ReadBy,
}

/// Custom application with its parameters.
#[derive(Clone, Debug)]
pub struct ApplicationPart {
    /// Custom application, as registered.
    pub application: &'static OwnApplication,
    /// Size distribution. Each application decides how it uses the sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Start of the application.
    pub from: Duration,
    /// Time after which the application starts nothing.
    pub until: Duration,
    /// Largest number of operations that the application starts.
    pub at_most: Option<u64>,
}

/// Traffic matrix: source and destination of flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatrixSpec {
    /// Random destination among all other hosts, all with the same probability.
    Anywhere,
    /// Like `Anywhere`, but only among the hosts that do not belong to a permutation with this number of hosts.
    AnywhereBeside {
        /// Number of hosts of the permutation, none of which is a destination. At least 2 hosts remain.
        left_out: u32,
    },
    /// Random destination among the hosts of other racks, all with the same probability.
    BetweenRacks,
    /// Random derangement of all hosts. It is the same for the whole run.
    Permutation {
        /// Whether flows can stay within a rack.
        within_racks: bool,
    },
    /// Random derangement of a random subset of the hosts. Both are the same for the whole run.
    PermutationOf {
        /// Number of hosts that take part, at least 2.
        hosts: u32,
        /// Whether flows can stay within a rack.
        within_racks: bool,
    },
    /// Many hosts send to one host. Hosts of other racks become senders before hosts of the receiver's rack.
    Incast {
        /// Number of senders.
        senders: u32,
        /// Receiver.
        receiver: u32,
    },
    /// List of pairs of source and destination.
    Pairs(Vec<(u32, u32)>),
}

impl WorkloadSpec {
    /// Returns the latest possible start of a flow, if the specification determines it.
    pub fn span(&self) -> Duration {
        let spans = self.parts.iter().map(|part| match &part.flows {
            FlowsSpec::Trace(trace) => {
                let last = trace.flows().last();
                last.map_or(Duration::ZERO, |flow| flow.start.since(Time::ZERO))
            }
            FlowsSpec::Coflows(trace) => trace.last_start().since(Time::ZERO),
            FlowsSpec::Burst(spec) => spec.at + spec.jitter,
            other => other.limits().map_or(Duration::ZERO, |limits| limits.until),
        });
        spans.max().unwrap_or(Duration::ZERO)
    }
}
