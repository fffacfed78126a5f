//! Tests of properties that all transports have, and tests of the smaller transports.

#[path = "../hub/mod.rs"]
mod hub;
mod incoming;
mod ndp_host;
#[path = "../ndp_parts/mod.rs"]
mod ndp_parts;
mod ndp_timeouts;
#[path = "../operations/mod.rs"]
mod operations;
#[path = "../pair/mod.rs"]
mod pair;
#[path = "../passing/mod.rs"]
mod passing;
mod pfabric_host;
mod pias_tagged;
mod ports;
mod pull_rate;
mod qos_classified;
mod receiver_driven_garbage;
mod transport_operations;
#[path = "../watched/mod.rs"]
mod watched;
