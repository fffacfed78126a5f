//! What NDP and SCDP share: sessions that are told apart by address and outlived by their tuples, a
//! queue of pulls for the whole interface, demotion by bytes sent, and messages that grow.

mod demotion;
mod directory;
mod pull_queue;
mod sessions;
mod streams;

pub use demotion::{Demotion, MAX_THRESHOLDS};
pub(crate) use directory::{Directory, SERVICE_PORT, Side};
pub(crate) use pull_queue::PullQueue;
pub(crate) use sessions::{SessionKey, Sessions};
pub(crate) use streams::Register;
pub use streams::Streams;
