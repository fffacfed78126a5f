//! The driver under virtual time: transports over the fabric, fed by a workload, written to
//! records. It owns the clock, which jumps from event to event, and nothing of a protocol.

mod application;
mod capacity;
mod config;
mod demand;
mod error;
mod extent;
mod ideal;
mod measures;
mod offered;
mod packing;
mod parts;
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
    MatrixSpec, OfferedRate, OpenSpec, RequestRate, RequestsPart, RunClock, RunConfig, Shape,
    StoragePart, TopologySpec, WorkloadPart, WorkloadSpec,
};
pub use demand::{Demand, demand};
pub use error::RunError;
pub use measures::{Measures, PortWaits, Watch, Watchers};
pub use packing::carried;
pub use parts::RunParts;
pub use run::{RunControl, Unattended, run, run_packed, run_watched};
pub use sessions::{ReadBy, WriteBy};
pub use tailcut_design::register::NameError;
pub use tailcut_design::{
    DecodeCores, DesignParameters, Duplicates, EcmpHash, HostPlan, HostSeat, HullParameters,
    NdpParameters, NicParameters, OwnBalancer, OwnTransport, PFabricParameters, PacerParameters,
    Part, PathParameters, PhantomParameters, PiasParameters, PortSeat, QosParameters, REPLICATIONS,
    ROUTINGS, RepNetParameters, Replication, RequestParameters, Routing, ScdpParameters, Settings,
    Stack, SwitchPlan, TRANSPORTS, Traffic, TransportKind, UnknownDesign, UseHosts,
};
pub use totals::network_totals;
pub use traffic::expected_arrivals;
// A configuration is written in the terms of these crates.
pub use {
    tailcut_fabric as fabric, tailcut_requests as requests, tailcut_transport as transport,
    tailcut_workload as workload,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
