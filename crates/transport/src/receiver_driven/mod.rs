//! What several hosts share. NDP, SCDP and pFabric: sessions and the table that finds one by its
//! five-tuple, which stays taken for a while after the session has ended. NDP and SCDP: one queue of
//! pulls for each host, and messages that grow. NDP+, SCDP and PIAS: demotion by bytes sent.

mod demotion;
mod directory;
mod pull_queue;
mod sessions;
mod streams;

pub use demotion::{Demotion, MAX_THRESHOLDS};
pub(crate) use directory::{Directory, Side};
pub(crate) use pull_queue::PullQueue;
pub(crate) use sessions::{SessionKey, Sessions};
pub(crate) use streams::Register;
pub use streams::Streams;
