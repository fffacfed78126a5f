//! Parts that several designs share.
//! NDP, SCDP and pFabric share sessions, and the table that finds a session by its five-tuple.
//! An entry of the session table remains for some time after the end of its session.
//! NDP and SCDP also share a queue of pulls per host, and messages that the application extends.
//! NDP+, SCDP and PIAS share demotion by bytes sent.

mod demotion;
mod directory;
mod pull_queue;
mod sessions;
mod streams;
mod table;

pub use demotion::{Demotion, MAX_THRESHOLDS};
pub(crate) use directory::{Directory, Side};
pub(crate) use pull_queue::PullQueue;
pub(crate) use sessions::{SessionKey, Sessions};
pub(crate) use streams::Register;
pub use streams::Streams;
pub(crate) use table::{Receiving, Sending, SessionTable, arm};
