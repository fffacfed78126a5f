//! The network between two NICs: links, ports, switches, topologies. Sans-I/O: packets go in with
//! the time, come out with theirs, and the fabric says when it wants to be called next. It has no
//! clock: its caller decides how time passes.
//!
//! What this crate does *not* do: it knows no transport. It sees what [`Packet`] says (addresses, size,
//! flow hash, priority, rank, ECN field, and a few marks) and carries an opaque body.
#![no_std]

extern crate alloc;

mod books;
mod choosing;
pub mod engine;
mod fabric;
mod faults;
mod fifo;
mod forwarding;
mod general;
pub mod load_balancer;
mod multicast;
mod packet;
mod port;
mod purge;
pub mod queue;
mod shared_buffer;
pub mod topology;
mod uplinks;

pub use books::{Count, DropCounts, PortReport, Wait};
pub use fabric::{Delivery, Fabric, FabricConfig};
pub use forwarding::{Clos, Forwarding, Table};
pub use multicast::{GroupError, MAX_MEMBERS};
pub use packet::{Ecn, Handshake, Packet, PacketId, Packets};
pub use port::{LinkConfig, PortEvents, PortId};
pub use shared_buffer::SharedBuffer;
pub use uplinks::Bonding;
