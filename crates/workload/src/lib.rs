//! What a network is loaded with: flow sizes, arrivals, traffic matrices and traces.
//!
//! A workload is a [`Source`]: it says when its next flow starts and hands that flow over. Flows
//! are drawn lazily, so a run of millions of flows holds a few words a host, not the flows.
//! [`Generated`] draws an open loop (arrivals that do not wait), [`ClosedLoop`] keeps a number of
//! flows outstanding, [`Burst`] starts one flow a source at once, [`TraceSource`] replays a file
//! and [`Merge`] puts several together. [`Storage`] draws requests for replicated blocks, each of which a
//! driver turns into the transfers that its design has for it.
//!
//! Every host draws from random streams of its own, named by seed, purpose and host: adding a host
//! changes the arrivals and sizes of no other. The crate knows no clock and no network: what it
//! needs of a topology (racks, link rates, the number of paths) the caller passes in.
#![no_std]
extern crate alloc;

mod arrivals;
mod error;
mod flow;
mod load;
mod matrix;
mod random;
mod requests;
pub mod sizes;
pub mod source;
pub mod storage;
pub mod trace;
mod weights;

pub use arrivals::Arrivals;
pub use error::{Error, TextError};
pub use flow::{Class, Flow};
pub use load::{Counted, Framing, Load, Reference};
pub use matrix::{Matrix, Racks};
pub use random::Stream;
pub use requests::{Request, Requests, RequestsSpec, WorkSpec, WorkTimes};
pub use sizes::SizeDistribution;
pub use source::{
    Burst, BurstSpec, ClosedLoop, ClosedLoopSpec, FanIn, Generated, GeneratedSpec, Merge, Source,
    Think, TraceSource,
};
pub use storage::{Operation, Placement, Session, Storage, StorageSpec};
pub use trace::{Limits, Trace};
pub use weights::HostWeights;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
