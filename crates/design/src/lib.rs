//! What a design is: its name, its parameters, and two plans that follow from them.
//!
//! A [`SwitchPlan`] says what a design asks of the network and speaks of the fabric only. A [`HostPlan`]
//! says what runs on hosts and speaks of transports only. A driver carries both out, under whatever
//! clock: a simulator uses both, a lab of real hosts the first, a program over real sockets the second.
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
//! SwitchPlan::new(design, &settings, Traffic::Transfers).install(&mut network);
//!
//! let hosts = HostPlan::new(design, &settings, Traffic::Transfers, 1, || Duration::from_us(50))?;
//! let seat = hosts.seat(HostId(0), network.hosts(), network.host_rate(HostId(0)), network.paths);
//! let host = hosts.boxed(&seat)?;
//! assert_eq!(host.next_timeout(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// First, for its macro.
#[macro_use]
pub mod register;

mod hosts;
mod kinds;
mod own;
mod parameters;
mod parts;
mod settings;
mod stack;
mod switches;

pub use hosts::{HostPlan, UseHosts};
pub use kinds::{Duplicates, Replication, Routing, TransportKind};
pub use own::{HostSeat, OwnBalancer, OwnTransport, PortSeat};
pub use parameters::{
    DecodeCores, DesignParameters, EcmpHash, HullParameters, NdpParameters, NicParameters,
    PFabricParameters, PacerParameters, PathParameters, PhantomParameters, PiasParameters,
    QosParameters, RepNetParameters, RequestParameters, ScdpParameters, ScdpPlainParameters,
};
pub use parts::{Part, REPLICATIONS, ROUTINGS, TRANSPORTS};
pub use settings::{Settings, Traffic};
pub use stack::{Stack, UnknownDesign};
pub use switches::{PortPlan, PortSetup, SwitchPlan};
// Plans are written in the terms of these crates.
pub use {tailcut_fabric as fabric, tailcut_requests as requests, tailcut_transport as transport};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
