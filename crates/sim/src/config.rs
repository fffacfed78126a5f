//! What one run is: a design on a topology under a workload, with every parameter.

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
use tailcut_workload::{Arrivals, Class, HostWeights, SizeDistribution, Trace};

/// Everything that decides a run's result. Cheap to clone: large parts are shared.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The design.
    pub stack: Stack,
    /// What records call the design where that is not its own name: one with settings of its own.
    pub called: Option<String>,
    /// What a study sweeps, with this run's values, for its records; the keys that they set are in the
    /// other fields.
    pub parameters: Vec<Parameter>,
    /// The network.
    pub topology: TopologySpec,
    /// Links that are slow or down. Loads refer to the network without them.
    pub faults: Vec<LinkFault>,
    /// What it is loaded with.
    pub workload: WorkloadSpec,
    /// The parameters of designs, hosts and NICs.
    pub settings: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// How often queues and links are sampled; `None`: never.
    pub sample_every: Option<Duration>,
    /// What is measured packet by packet.
    pub measures: Measures,
    /// How long after the last arrival the run waits for flows to finish.
    pub drain: Duration,
    /// The event queue; results do not depend on it.
    pub engine: EngineKind,
    /// Events a packet at FIFO ports; results do not depend on it.
    pub port_events: PortEvents,
    /// The clock that it runs under.
    pub clock: RunClock,
}

/// The clock that a run is under.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum RunClock {
    /// Virtual time: the simulator's.
    #[default]
    Simulated,
    /// The clock on the wall, with real hosts around the network: not the simulator's business.
    Wall {
        /// How many times slower than the wall's the network's clock goes.
        slowdown: NonZeroU32,
    },
}

impl RunConfig {
    /// A run with seed 1 and, for everything else, the defaults of the parts: Ethernet's framing, RFC
    /// 8257's DCTCP, nothing sampled or measured, 20 s for flows to finish after the last arrival.
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
            engine: EngineKind::Calendar,
            port_events: PortEvents::OneWherePossible,
            clock: RunClock::Simulated,
        }
    }

    /// What its hosts carry.
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

    /// What its design asks of the network.
    pub fn switch_plan(&self) -> SwitchPlan {
        SwitchPlan::new(self.stack, &self.settings, self.traffic())
    }

    /// What runs on the hosts of its network.
    ///
    /// # Errors
    /// A parameter outside its range.
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

    /// What names the run.
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

/// A named topology.
#[derive(Clone, Debug)]
pub struct TopologySpec {
    /// Its name in records.
    pub name: String,
    /// The network.
    pub shape: Shape,
}

/// A network's shape and parameters.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Hosts on one switch.
    SingleSwitch(SingleSwitch),
    /// Two tiers.
    LeafSpine(LeafSpine),
    /// A k-ary fat-tree.
    FatTree(FatTree),
    /// Nodes and links from a scenario.
    Custom(Arc<CustomTopology>),
}

impl Shape {
    /// The network.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        match self {
            Self::SingleSwitch(shape) => shape.build(),
            Self::LeafSpine(shape) => shape.build(),
            Self::FatTree(shape) => shape.build(),
            Self::Custom(shape) => shape.build(),
        }
    }
}

/// A named workload: parts that run side by side.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Its name in records.
    pub name: String,
    /// The load that records carry, where the workload has one: the foreground's.
    pub load: Option<f64>,
    /// The parts.
    pub parts: Vec<WorkloadPart>,
    /// Hosts that send or receive more than others, in parts that draw who sends to whom: open loops take
    /// both weights, closed loops and bursts those of destinations.
    pub weights: Arc<HostWeights>,
}

/// One source of flows.
#[derive(Clone, Debug)]
pub struct WorkloadPart {
    /// What the flows are to the experiment.
    pub class: Class,
    /// The equal-cost path that the flows and their ACKs are pinned to; `None` leaves it to the
    /// network. A trace says it for each of its flows instead.
    pub path: Option<u16>,
    /// The flows.
    pub flows: FlowsSpec,
}

/// How a part's flows come about.
#[derive(Clone, Debug)]
pub enum FlowsSpec {
    /// Exactly the flows of a file.
    Trace(Arc<Trace>),
    /// Flows that arrive whether or not earlier ones have finished.
    Open(OpenSpec),
    /// A number of flows outstanding a source; the next starts when one finishes.
    Closed(ClosedSpec),
    /// One flow a source, all at once.
    Burst(BurstPart),
    /// Requests of clients to servers.
    Requests(RequestsPart),
    /// Requests for replicated blocks; a workload has one such part at most.
    Storage(StoragePart),
    /// An application of one's own, in place of storage.
    Application(ApplicationPart),
}

/// When the arrivals of a part begin and end, and how many there are at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// When they begin.
    pub from: Duration,
    /// When they end, at the latest.
    pub until: Duration,
    /// How many there are at most.
    pub at_most: Option<u64>,
}

impl Limits {
    /// How long they go on, at the longest.
    pub fn span(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

impl FlowsSpec {
    /// The limits of its arrivals; `None` where they are given one by one, or all at once.
    pub const fn limits(&self) -> Option<Limits> {
        let (from, until, at_most) = match self {
            Self::Trace(_) | Self::Burst(_) => return None,
            Self::Open(spec) => (spec.from, spec.until, spec.max_flows),
            Self::Closed(spec) => (spec.from, spec.until, spec.max_flows),
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

    /// Sets the limits of its arrivals, where it has some.
    pub const fn set_limits(&mut self, limits: Limits) {
        let (from, until, at_most) = match self {
            Self::Trace(_) | Self::Burst(_) => return,
            Self::Open(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_flows),
            Self::Closed(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_flows),
            Self::Requests(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_requests),
            Self::Storage(spec) => (&mut spec.from, &mut spec.until, &mut spec.max_sessions),
            Self::Application(spec) => (&mut spec.from, &mut spec.until, &mut spec.at_most),
        };
        (*from, *until, *at_most) = (limits.from, limits.until, limits.at_most);
    }

    /// Sets how many hosts a permutation of some of them takes, or a matrix beside it leaves out.
    pub fn set_permuted_hosts(&mut self, count: u32) {
        let matrix = match self {
            Self::Trace(_) | Self::Requests(_) | Self::Application(_) => return,
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

/// An open loop.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// The arrival process of each source.
    pub arrivals: Arrivals,
    /// Who sends to whom.
    pub matrix: MatrixSpec,
    /// How much.
    pub rate: OfferedRate,
    /// When arrivals begin.
    pub from: Duration,
    /// When they end, at the latest.
    pub until: Duration,
    /// How many there are at most.
    pub max_flows: Option<u64>,
    /// Whenever a flow under `below` is drawn, `senders - 1` more of the same size start at the same
    /// instant from other hosts to the same destination.
    pub fan_in: Option<FanInSpec>,
}

/// The paper's incast beside background traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FanInSpec {
    /// Senders in all, 2 or more (11 in the RepNet paper).
    pub senders: u32,
    /// Flows under this size fan in.
    pub below: Bytes,
}

/// How many flows a second are offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OfferedRate {
    /// A fraction of a capacity.
    Load {
        /// The fraction, above zero.
        fraction: f64,
        /// The capacity.
        of: LoadReference,
        /// Whether headers, preamble and gap count.
        wire_bytes: bool,
    },
    /// Flows a second of all sources together.
    FlowsPerSecond(f64),
}

/// The capacity that a load is a fraction of.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum LoadReference {
    /// The links of the sending hosts.
    #[default]
    HostLinks,
    /// The uplinks of the racks, counting the share of the bytes that leaves a rack; the hosts'
    /// links where there is only one rack.
    RackUplinks,
    /// Another rate.
    Rate(Rate),
}

/// A closed loop.
#[derive(Clone, Debug)]
pub struct ClosedSpec {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Who sends to whom.
    pub matrix: MatrixSpec,
    /// Flows outstanding a source, at least one.
    pub outstanding: u32,
    /// The pause between a flow's end and the next one's start.
    pub think: Duration,
    /// When the loop begins.
    pub from: Duration,
    /// When no more flows start.
    pub until: Duration,
    /// How many there are at most.
    pub max_flows: Option<u64>,
}

/// One flow a source.
#[derive(Clone, Debug)]
pub struct BurstPart {
    /// Flow sizes.
    pub sizes: Arc<SizeDistribution>,
    /// Who sends to whom.
    pub matrix: MatrixSpec,
    /// When.
    pub at: Duration,
    /// Starts are spread evenly over this span.
    pub jitter: Duration,
}

/// Requests of clients to servers, each asked of servers that are drawn evenly.
#[derive(Clone, Debug)]
pub struct RequestsPart {
    /// Bytes of the answers.
    pub sizes: Arc<SizeDistribution>,
    /// Clients.
    pub clients: u32,
    /// Servers.
    pub servers: u32,
    /// The arrival process of each client.
    pub arrivals: Arrivals,
    /// How much.
    pub rate: RequestRate,
    /// When arrivals begin.
    pub from: Duration,
    /// When they end, at the latest.
    pub until: Duration,
    /// How many there are at most.
    pub max_requests: Option<u64>,
}

/// How many requests a second are offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RequestRate {
    /// A fraction of what the busiest stations of all servers can do, copies beyond the quorum not
    /// counted.
    Load(f64),
    /// Requests a second of all clients together.
    PerSecond(f64),
}

/// Clients that write and read replicated blocks (SCDP paper, section V-A).
#[derive(Clone, Debug)]
pub struct StoragePart {
    /// The bytes of a session.
    pub sizes: Arc<SizeDistribution>,
    /// Hosts that take no part: those of a permutation of so many. `None`: all do.
    pub left_out: Option<u32>,
    /// Replicas of a block, at least 1.
    pub replicas: u32,
    /// The share of sessions that read, 0 to 1.
    pub reads: f64,
    /// Blocks that a read gets at once, at least 1.
    pub blocks: u32,
    /// The arrival process of each client.
    pub arrivals: Arrivals,
    /// Sessions a second of all clients together.
    pub per_second: f64,
    /// When arrivals begin.
    pub from: Duration,
    /// When they end, at the latest.
    pub until: Duration,
    /// How many sessions there are at most.
    pub max_sessions: Option<u64>,
    /// How a write reaches its servers.
    pub write: WriteBy,
    /// How a read gets its blocks.
    pub read: ReadBy,
}

/// An application of one's own, and what it is told.
#[derive(Clone, Debug)]
pub struct ApplicationPart {
    /// Which one.
    pub application: &'static OwnApplication,
    /// Sizes, for whatever it makes of them.
    pub sizes: Arc<SizeDistribution>,
    /// When it begins.
    pub from: Duration,
    /// When it begins nothing more.
    pub until: Duration,
    /// How many things it begins at most.
    pub at_most: Option<u64>,
}

/// Who sends to whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatrixSpec {
    /// A destination drawn evenly from all others.
    Anywhere,
    /// As `Anywhere`, among the hosts that take no part in a permutation of so many.
    AnywhereBeside {
        /// Hosts that are left out; at least 2 stay.
        left_out: u32,
    },
    /// A destination drawn evenly from those in other racks.
    BetweenRacks,
    /// A derangement drawn once.
    Permutation {
        /// Whether flows may stay within a rack.
        within_racks: bool,
    },
    /// A derangement of so many hosts, both drawn once.
    PermutationOf {
        /// Hosts that take part, at least 2.
        hosts: u32,
        /// Whether flows may stay within a rack.
        within_racks: bool,
    },
    /// Many hosts to one; the senders are the first other hosts, those of other racks first.
    Incast {
        /// How many.
        senders: u32,
        /// To whom.
        receiver: u32,
    },
    /// These pairs of source and destination.
    Pairs(Vec<(u32, u32)>),
}

impl WorkloadSpec {
    /// When the last flow starts at the latest, as far as the description says.
    pub fn span(&self) -> Duration {
        let spans = self.parts.iter().map(|part| match &part.flows {
            FlowsSpec::Trace(trace) => {
                let last = trace.flows().last();
                last.map_or(Duration::ZERO, |flow| flow.start.since(Time::ZERO))
            }
            FlowsSpec::Burst(spec) => spec.at + spec.jitter,
            other => other.limits().map_or(Duration::ZERO, |limits| limits.until),
        });
        spans.max().unwrap_or(Duration::ZERO)
    }
}
