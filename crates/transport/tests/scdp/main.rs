//! Tests of SCDP.

#[path = "../bottleneck/mod.rs"]
mod bottleneck;
#[path = "../../examples/scdp_bottleneck/hosts.rs"]
mod bottleneck_hosts;
mod bottlenecks;
mod credits;
mod decoding;
mod host;
#[path = "../hub/mod.rs"]
mod hub;
mod limits;
#[path = "../pair/mod.rs"]
mod pair;
#[path = "../passing/mod.rs"]
mod passing;
mod reading;
mod receiver;
#[path = "../scdp_parts/mod.rs"]
mod scdp_parts;
mod several_ends;
mod shared_operations;
mod stragglers;
