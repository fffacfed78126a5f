//! Simulator under virtual time. The clock advances from event to event. Other crates contain the protocols.
//! The simulator connects the transports of hosts to the network, generates a workload and writes a record.

mod application;
mod capacity;
mod config;
mod demand;
mod error;
mod flowlets;
mod ideal;
mod measures;
mod offered;
mod packing;
mod parts;
mod progress;
mod recorder;
mod request_traffic;
mod run;
mod sessions;
mod simulation;
mod timers;
mod topology_record;
mod totals;
mod traffic;

pub use application::{Application, ApplicationSeat, Desk, Outcome, OwnApplication};
pub use config::{
    ApplicationPart, BurstPart, ClosedSpec, FanInSpec, FlowsSpec, Limits, LoadReference,
    MatrixSpec, OfferedRate, OpenSpec, QueriesPart, RequestRate, RequestsPart, RunClock, RunConfig,
    Shape, StoragePart, TopologySpec, WorkloadPart, WorkloadSpec,
};
pub use demand::{Demand, demand};
pub use error::RunError;
pub use measures::{Measures, PortWaits, Watch, Watchers};
pub use packing::carried;
pub use parts::RunParts;
pub use run::{RunControl, Unattended, run, run_packed, run_watched};
pub use sessions::{ReadBy, WriteBy};
pub use tailcut_design::register::{Named, Registered, SECTIONS_OF_NO_PART, with_parameters};
pub use tailcut_design::{
    Choice, Controller, DecodeCores, Design, DesignParameters, Duplicates, EcmpHash, HostPlan,
    HostSeat, Hosts, HullParameters, Kernel, KernelControl, NameError, NamedBalancer, NamedQueue,
    NamedReplication, NdpParameters, Nic, NicParameters, PFabricParameters, Parameter,
    ParameterKind, ParameterValue, PhantomParameters, PiasParameters, PortBuffer, Ports,
    QosParameters, REPLICATIONS, RepNetParameters, Replication, RequestParameters, ScdpParameters,
    Settings, Stack, SwitchPlan, Traffic, UnknownDesign, UseHosts, Values, section_of,
};
pub use totals::network_totals;
pub use traffic::expected_arrivals;
// Types of the crates below appear in configurations.
pub use {
    tailcut_fabric as fabric, tailcut_requests as requests, tailcut_transport as transport,
    tailcut_workload as workload,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
