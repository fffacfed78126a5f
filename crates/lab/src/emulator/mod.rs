//! The emulator: hosts as network namespaces, their network cards, and the fabric between them under the wall clock.

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
pub mod status;
pub mod taps;
pub mod tracker;
pub mod world;
