//! Emulator of a network in wall-clock time. Hosts are network namespaces, and a fabric connects their network cards.

pub mod addresses;
pub mod clock;
pub mod control;
pub mod driver;
pub mod frames;
pub mod groups;
pub mod host;
pub mod lateness;
pub mod network;
pub mod nic;
pub mod pins;
pub mod plan;
pub mod poller;
pub mod routers;
pub mod sandbox;
pub mod status;
pub mod taps;
pub mod tracker;
