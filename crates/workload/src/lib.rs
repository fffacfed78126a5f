//! Workloads of a network: flow sizes, arrivals, traffic matrices and traces.
//!
//! A workload is a [`Source`]: it returns the start time of its next flow, and the flow itself.
//! A source draws a flow only when the flow is needed, and does not store the flow.
//! A run of millions of flows only needs a few words of memory per host.
//!
//! - [`Generated`] draws an open loop (arrivals that do not wait).
//! - [`ClosedLoop`] keeps a number of flows outstanding.
//! - [`Burst`] starts one flow per source at the same time.
//! - [`TraceSource`] replays a file.
//! - [`Merge`] combines several sources.
//! - [`Storage`] draws requests for replicated blocks. A driver converts each request to the transfers of its design.
//!
//! Every host has its own random streams, identified by seed, purpose and host.
//! An additional host therefore does not change the arrivals and sizes of other hosts.
//! The crate reads no clock and does not depend on a topology.
//! The caller passes the required data of the topology: racks, link rates, and the number of paths.
#![no_std]
extern crate alloc;

mod arrivals;
mod coflow;
mod error;
mod flow;
mod load;
mod matrix;
mod number;
mod random;
mod records;
mod requests;
pub mod sizes;
pub mod source;
pub mod storage;
pub mod trace;
mod weights;

pub use arrivals::Arrivals;
pub use coflow::{Coflow, CoflowKind};
pub use error::{Error, TextError};
pub use flow::{Class, Flow};
pub use load::{Framing, Load, LoadUnit, ReferenceCapacity};
pub use matrix::{Matrix, Racks};
pub use random::Stream;
pub use requests::{Request, Requests, RequestsSpec, WorkSpec, WorkTimes};
pub use sizes::SizeDistribution;
pub use source::{
    Burst, BurstSpec, ClosedLoop, ClosedLoopSpec, CoflowSource, CoflowTrace, FanIn, Generated,
    GeneratedSpec, Merge, Queries, QueriesSpec, Source, ThinkTime, TraceSource,
};
pub use storage::{Operation, Placement, Session, Storage, StorageSpec};
pub use trace::{Limits, Trace};
pub use weights::HostWeights;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
