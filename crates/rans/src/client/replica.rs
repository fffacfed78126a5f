//! The servers of a client, and its counters.

use std::time::Duration;

/// Whether a replica stops working on a request whose client leaves.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purges {
    /// It does when its answers say that a guard is before it (`via: 1.1 tailcut-guard`).
    #[default]
    Learn,
    /// It does, as HTTP/2 servers do that drop what is reset.
    Yes,
    /// It does not.
    No,
}

impl Purges {
    /// What is known before the first answer.
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
    /// The way to it for primaries.
    pub primary: S,
    /// The way for copies. With HTTP/2 this is a separate connection, because on one connection a copy's
    /// answer delays the answers behind it.
    pub copy: S,
    /// Whether the replica stops work on a purged request.
    pub purges: Purges,
}

/// What a client knows of a replica now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaState {
    /// Copies, primaries included, that it has to answer.
    pub in_flight: u32,
    /// Its average latency; `None`: it has not answered yet.
    pub latency: Option<Duration>,
    /// Whether the replica accepts requests.
    pub is_open: bool,
    /// Whether it purges; `None`: not known yet.
    pub purges: Option<bool>,
}

/// Counters of a client.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ClientCounts {
    /// Requests.
    pub requests: u64,
    /// Copies beyond the primaries.
    pub copies: u64,
    /// Requests that a copy answered.
    pub won_by_copy: u64,
    /// Copies, primaries included, that were dropped before their end.
    pub purged: u64,
    /// Copies that ran to their end unseen, since the budget of resets was spent.
    pub spared: u64,
    /// Copies that failed, or whose answer was not acceptable.
    pub failed: u64,
}
