//! The network between two NICs: links, ports, switches and topologies.
//! The crate does no I/O: packets enter and leave with a time, and the fabric returns the time of the next call.
//! The crate has no clock. The caller decides how time passes.
//!
//! This crate contains no transport.
//! It only reads these fields of [`Packet`]: addresses, size, flow hash, priority, rank, ECN field, and a few flags.
//! The crate never reads the body of a packet.
#![no_std]

extern crate alloc;

mod books;
mod edge;
pub mod engine;
mod fabric;
mod fault_plan;
mod fifo;
mod forwarding;
mod general;
mod links;
pub mod load_balancer;
mod members;
mod multicast;
mod network;
mod observer;
mod output;
mod packet;
mod port;
mod purge_keys;
pub mod queue;
mod shared_buffer;
pub mod topology;
mod uplinks;

pub use books::{Count, DropCounts, PortReport};
pub use fabric::{Fabric, FabricConfig, PrefetchHosts};
pub use fault_plan::FaultPlan;
pub use forwarding::{Clos, Forwarding, Table};
pub use links::{LinkError, LinkState, LossRate};
pub use multicast::{GroupError, MAX_MEMBERS};
pub use observer::{ObservedPacket, Observer};
pub use output::{Delivery, Dropped, Hints, Injected, Lateness, Output};
pub use packet::{Ecn, Handshake, Packet, PacketId, Packets};
pub use port::{LinkConfig, PortEvents, PortId};
pub use shared_buffer::SharedBuffer;
pub use uplinks::Bonding;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
