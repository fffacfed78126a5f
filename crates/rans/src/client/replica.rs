//! Replicas of a client, and its counters.

use std::time::Duration;

/// Whether a replica stops the work on a request whose client has left.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purges {
    /// Yes if its answers show that a guard is before it (`via: 1.1 tailcut-guard`).
    #[default]
    Learn,
    /// Yes, as HTTP/2 servers that drop the work on streams that are reset.
    Yes,
    /// The replica does not stop the work.
    No,
}

impl Purges {
    /// Returns whether the replica purges, if this is known before its first answer.
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
    /// Connection for copies. With HTTP/2 this is a separate connection, because on one connection a copy's answer
    /// delays the answers behind it.
    pub copy: S,
    /// Whether the replica stops work on a purged request.
    pub purges: Purges,
}

/// Present state of a replica, as the client sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaState {
    /// Copies that the replica has to answer, primaries included.
    pub in_flight: u32,
    /// Average latency; `None`: the replica has not answered yet.
    pub latency: Option<Duration>,
    /// Whether the replica accepts requests.
    pub is_open: bool,
    /// Whether the replica purges; `None`: unknown.
    pub purges: Option<bool>,
}

/// Counters of a client.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ClientCounts {
    /// Requests of the application.
    pub requests: u64,
    /// Copies beyond the primaries.
    pub copies: u64,
    /// Requests that a copy answered.
    pub won_by_copy: u64,
    /// Copies, primaries included, that were dropped before their end.
    pub purged: u64,
    /// Copies that ran to their end because the budget of resets was used up. Their answers were dropped.
    pub spared: u64,
    /// Copies that failed, or whose answer was not acceptable.
    pub failed: u64,
}
