//! Replicas of a client, and its counters.

use std::time::Duration;

/// Whether a replica stops its work on a request that the client cancels.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purges {
    /// Unknown at first. An answer shows whether a guard is in front of the replica (`via: 1.1 tailcut-guard`).
    /// A replica with a guard stops the work.
    #[default]
    Learn,
    /// The replica stops the work, like HTTP/2 servers that drop the work on streams that are reset.
    Yes,
    /// The replica does not stop the work.
    No,
}

impl Purges {
    /// Returns whether the replica purges. Returns `None` if this is unknown before its first answer.
    pub(super) const fn known(self) -> Option<bool> {
        match self {
            Self::Learn => None,
            Self::Yes => Some(true),
            Self::No => Some(false),
        }
    }
}

/// One of several servers that give the same answers.
#[derive(Clone, Debug)]
pub struct Replica<S> {
    /// Connection for primaries.
    pub primary: S,
    /// Connection for copies. With HTTP/2 it is a separate connection.
    /// On a shared connection, the answer to a copy would delay the answers behind it.
    pub copy: S,
    /// Whether the replica stops work on a purged request.
    pub purges: Purges,
}

/// Present state of a replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaState {
    /// Copies that the replica still has to answer, primaries included.
    pub in_flight: u32,
    /// Average latency. `None`: the replica has not answered yet.
    pub latency: Option<Duration>,
    /// Whether the replica accepts requests.
    pub is_open: bool,
    /// Whether the replica purges. `None`: unknown.
    pub purges: Option<bool>,
}

/// Counters of a client.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ClientCounts {
    /// Requests of the application.
    pub requests: u64,
    /// Copies in addition to the primaries.
    pub copies: u64,
    /// Requests whose first good answer came from a copy.
    pub won_by_copy: u64,
    /// Primaries and copies that were dropped before their end.
    pub purged: u64,
    /// Copies that ran to their end because the budget of resets was used up. Their answers were dropped.
    pub spared: u64,
    /// Primaries and copies that failed, or whose answer was not acceptable.
    pub failed: u64,
}
