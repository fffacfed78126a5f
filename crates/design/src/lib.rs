//! Designs, and the two plans of a run: one for its switches and one for its hosts.
//!
//! A [`Design`] is one value in one file. The value contains the design's name, source and hosts.
//! A [`Design`] also contains the queues of its switch ports, and the kernel settings for real hosts.
//! Built-in designs and custom designs are registered with the same call.
//! A [`Stack`] combines a replication, a design and a load balancer.
//!
//! A [`SwitchPlan`] sets up the network and uses only types of the fabric.
//! A [`HostPlan`] sets up the hosts and uses only types of the transports.
//! A driver executes the plans, with any clock. A simulator uses both plans.
//! A lab of real hosts uses the switch plan, and a program over real sockets uses the host plan.
//!
//! ```
//! use tailcut_design::fabric::queue::{DropTail, Limit, QueueConfig};
//! use tailcut_design::fabric::topology::{SingleSwitch, Wire};
//! use tailcut_design::{Stack, HostPlan, Settings, SwitchPlan, Traffic};
//! use tailcut_units::{Duration, HostId, Rate};
//!
//! let design: Stack = "dctcp@spray".parse()?;
//! let settings = Settings::default();
//!
//! let mut network = SingleSwitch {
//!     hosts: 4,
//!     host_wire: Wire {
//!         rate: Rate::from_gbps(10),
//!         delay: Duration::from_us(1),
//!     },
//!     queue: QueueConfig::DropTail(DropTail {
//!         limit: Limit::Packets(100),
//!         mark_above: Some(Limit::Packets(65)),
//!     }),
//!     shared_buffer: None,
//! }
//! .build()?;
//! SwitchPlan::new(design, &settings, Traffic::Transfers).install(&mut network)?;
//!
//! let hosts = HostPlan::new(design, &settings, Traffic::Transfers, 1, || Duration::from_us(50))?;
//! let seat = hosts.seat(HostId(0), network.hosts(), network.host_rate(HostId(0)), network.paths);
//! let host = hosts.boxed(&seat)?;
//! assert_eq!(host.next_timeout(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod design;
mod designs;
mod host_plan;
mod hosts;
mod kernel;
mod parameters;
mod ports;
mod queues;
pub mod register;
mod replication;
mod room;
mod run;
mod settings;
mod stack;
mod switches;

pub use design::{Design, section_of};
pub use host_plan::{HostPlan, KeyedTimer, Timeouts, UseHosts};
pub use hosts::{Controller, HostSeat, Hosts, Nic};
pub use kernel::{Kernel, KernelControl};
pub use parameters::{
    DecodeCores, DesignParameters, EcmpHash, HullParameters, NdpParameters, NicParameters,
    PFabricParameters, PhantomParameters, PiasParameters, QosParameters, RepNetParameters,
    RequestParameters, ScdpParameters, ScdpPlainParameters,
};
pub use ports::Ports;
pub use register::{NameError, Registered};
pub use replication::{Duplicates, NamedReplication, REPLICATIONS, Replication};
pub use run::Run;
pub use settings::{Settings, Traffic};
pub use stack::{Stack, UnknownDesign};
pub use switches::{PortPlan, PortSetup, SwitchPlan};
pub use tailcut_fabric::load_balancer::{Choice, NamedBalancer};
pub use tailcut_fabric::queue::{NamedQueue, PortBuffer};
pub use tailcut_units::parameter::{Parameter, ParameterKind, ParameterValue, Values};
// The crates are re-exported, because plans use their types.
pub use {tailcut_fabric as fabric, tailcut_requests as requests, tailcut_transport as transport};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
