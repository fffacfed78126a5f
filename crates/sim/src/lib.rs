//! The driver under virtual time: transports over the fabric, fed by a workload, written to
//! records. It owns the clock, which jumps from event to event, and nothing of a protocol.

mod application;
mod capacity;
mod config;
mod design;
mod error;
mod extent;
mod hosts;
mod hull;
mod ideal;
mod measures;
mod offered;
mod packing;
mod parameters;
mod parts;
mod paths;
mod priorities;
mod queues;
mod receiver_driven;
mod recorder;
mod register;
mod requests;
mod run;
mod sessions;
mod simulation;
mod timers;
mod topology_record;
mod traffic;

pub use application::{Application, ApplicationSeat, Desk, Outcome, OwnApplication};
pub use config::{
    ApplicationPart, BurstPart, ClosedSpec, FanInSpec, FlowsSpec, LoadReference, MatrixSpec,
    OfferedRate, OpenSpec, RepNetParameters, RequestRate, RequestsPart, RunConfig, Shape,
    StoragePart, TopologySpec, WorkloadPart, WorkloadSpec,
};
pub use design::{
    Design, Duplicates, HostSeat, OwnBalancer, OwnTransport, Part, PortSeat, REPLICATIONS,
    ROUTINGS, Replication, Routing, TRANSPORTS, TransportKind, UnknownDesign,
};
pub use error::RunError;
pub use measures::{Measures, PortWaits, Watch, Watchers};
pub use packing::carried;
pub use parameters::{
    DecodeCores, DesignParameters, EcmpHash, HullParameters, NdpParameters, NicParameters,
    PFabricParameters, PacerParameters, PathParameters, PhantomParameters, PiasParameters,
    QosParameters, RequestParameters, ScdpParameters,
};
pub use parts::RunParts;
pub use register::NameError;
pub use run::{RunControl, Unattended, run, run_watched};
pub use sessions::{ReadBy, WriteBy};
pub use traffic::expected_arrivals;
// A configuration is written in the terms of these crates.
pub use {tailcut_fabric as fabric, tailcut_transport as transport, tailcut_workload as workload};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
