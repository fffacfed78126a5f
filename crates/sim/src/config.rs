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

/// All inputs that determine the result of a run. Clones are cheap, because large parts are shared.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Design.
    pub stack: Stack,
    /// Name of the design in records, if it differs from the name of the stack. Designs with their own settings have
    /// one.
    pub called: Option<String>,
    /// Swept keys of the study with this run's values, for its records. The other fields already contain these values.
    pub parameters: Vec<Parameter>,
    /// Network.
    pub topology: TopologySpec,
    /// Links that are slow, lossy or down. Loads refer to the network without these faults.
    pub faults: Vec<LinkFault>,
    /// Workload.
    pub workload: WorkloadSpec,
    /// Parameters of designs, hosts and NICs.
    pub settings: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// Interval between two samples of queues and links. `None`: no samples.
    pub sample_every: Option<Duration>,
    /// Measurements of single packets.
    pub measures: Measures,
    /// Time that the run waits for flows to finish after the last arrival.
    pub drain: Duration,
    /// Whether flows keep arriving until the last recorded flow has ended. The further flows have no rows in the
    /// record. All parts of the workload must be open.
    pub continues_load: bool,
    /// Event queue. Results do not depend on it.
    pub engine: EngineKind,
    /// Events per packet at FIFO ports. Results do not depend on it.
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
    /// Wall clock, with real hosts around the network. The simulator does not execute such runs.
    Wall {
        /// Ratio of wall clock to network clock: 2 means that the network runs at half speed.
        slowdown: NonZeroU32,
    },
}

impl RunConfig {
    /// Creates a run with seed 1. Everything else has the default of its part: Ethernet framing, DCTCP of RFC 8257, no
    /// samples or measurements, and 20 s for flows to finish after the last arrival.
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

    /// Returns the requirements of the design on the switches.
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

    /// Returns the network with the faults of the run. A link that is slow during the whole run has its lower rate
    /// there. Hosts use this network, as if it had been built with these rates. Workload and queues use the network
    /// without faults.
    ///
    /// # Errors
    /// A fault that the network cannot have.
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

/// Topology with a name.
#[derive(Clone, Debug)]
pub struct TopologySpec {
    /// Name in records.
    pub name: String,
    /// Network.
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
    /// Name in records.
    pub name: String,
    /// Load in records, which is the load of the foreground. `None` if the workload has no load.
    pub load: Option<f64>,
    /// Parts of the workload.
    pub parts: Vec<WorkloadPart>,
    /// Weights of hosts that send or receive more than others, in parts that draw source and destination. Open loops
    /// use both weights. Closed loops and bursts use the weights of destinations.
    pub weights: Arc<HostWeights>,
}

/// One source of flows.
#[derive(Clone, Debug)]
pub struct WorkloadPart {
    /// Role of the flows in the experiment.
    pub class: Class,
    /// Equal-cost path of the flows and their ACKs. `None`: the network selects the path. A trace has a path for each
    /// flow instead.
    pub path: Option<u16>,
    /// Flows.
    pub flows: FlowsSpec,
}

/// Origin of the flows of a part.
#[derive(Clone, Debug)]
pub enum FlowsSpec {
    /// Flows of a file.
    Trace(Arc<Trace>),
    /// Coflows of a file.
    Coflows(Arc<CoflowTrace>),
    /// Open loop: flows arrive even if earlier ones have not finished.
    Open(OpenSpec),
    /// Closed loop: each source keeps a number of flows outstanding, and starts the next one when one finishes.
    Closed(ClosedSpec),
    /// One flow per source, all at the same time.
    Burst(BurstPart),
    /// Queries in a closed loop: several workers answer each, and the next one starts after the last answer.
    Queries(QueriesPart),
    /// Requests of clients to servers.
    Requests(RequestsPart),
    /// Requests for replicated blocks. A workload can have at most one such part.
    Storage(StoragePart),
    /// Custom application. It takes the place of a storage part.
    Application(ApplicationPart),
}

/// Limits of the arrivals of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Start of the arrivals.
    pub from: Duration,
    /// Latest time of an arrival.
    pub until: Duration,
    /// Largest number of arrivals.
    pub at_most: Option<u64>,
}

impl Limits {
    /// Returns the longest duration of the arrivals.
    pub fn span(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

impl FlowsSpec {
    /// Returns the limits of the arrivals. Returns `None` for a trace, coflows of a file and a burst,
    /// which have none.
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

    /// Sets the number of hosts in a partial permutation, or the number of hosts that a matrix leaves out.
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

/// Open loop.
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
    /// Fan-in: for each flow below `below`, `senders - 1` other hosts send a flow of the same size to the same
    /// destination at the same instant.
    pub fan_in: Option<FanInSpec>,
}

/// Incast of the RepNet paper, in addition to background traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FanInSpec {
    /// Total number of senders, at least 2 (11 in the RepNet paper).
    pub senders: u32,
    /// Flows below this size fan in.
    pub below: Bytes,
}

/// Offered rate of flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfferedRate {
    /// Fraction of a capacity.
    Load {
        /// Fraction, above zero.
        fraction: f64,
        /// Capacity.
        of: LoadReference,
        /// Whether headers, preamble and gap count.
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
    /// Uplinks of the racks, counting only the bytes that leave a rack. With one rack: the links of the hosts.
    RackUplinks,
    /// Another rate.
    Rate(Rate),
}

/// Closed loop.
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
    /// Number of hosts that ask, drawn by the seed. `None`: all hosts.
    pub aggregators: Option<u32>,
    /// Workers of a query, at least 1: different hosts, drawn evenly from all hosts but the aggregator.
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

/// Requests of clients. Each request draws its servers uniformly at random.
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
    /// Fraction of the capacity of the busiest stations of all servers. Copies beyond the quorum do not count.
    Load(f64),
    /// Requests per second, of all clients together.
    PerSecond(f64),
}

/// Storage workload: clients write and read replicated blocks (SCDP paper, section V-A).
#[derive(Clone, Debug)]
pub struct StoragePart {
    /// Sizes of sessions, in bytes.
    pub sizes: Arc<SizeDistribution>,
    /// Number of hosts that take no part: the hosts of a permutation of this size. `None`: all hosts take part.
    pub left_out: Option<u32>,
    /// Replicas of a block, at least 1.
    pub replicas: u32,
    /// Share of sessions that read, from 0 to 1.
    pub reads: f64,
    /// Blocks that a session reads at the same time, at least 1.
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
    /// Application.
    pub application: &'static OwnApplication,
    /// Size distribution. The application determines its use.
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
    /// Destination drawn uniformly from all other hosts.
    Anywhere,
    /// Like `Anywhere`, but only among the hosts that do not belong to a permutation with this number of hosts.
    AnywhereBeside {
        /// Number of hosts that are left out. At least 2 hosts remain.
        left_out: u32,
    },
    /// Destination drawn uniformly from the hosts of other racks.
    BetweenRacks,
    /// Random derangement of all hosts, drawn once.
    Permutation {
        /// Whether flows can stay within a rack.
        within_racks: bool,
    },
    /// Random derangement of a random subset of the hosts, both drawn once.
    PermutationOf {
        /// Number of hosts that take part, at least 2.
        hosts: u32,
        /// Whether flows can stay within a rack.
        within_racks: bool,
    },
    /// Many hosts send to one. The senders are the first other hosts, with the hosts of other racks first.
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
    /// Returns the latest possible start of a flow, as far as the specification determines it.
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
