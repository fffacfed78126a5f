//! Which flows a figure is over.

use crate::run::{Flow, Run};

/// What of a run a group is picked from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pool {
    Flows,
    Requests,
    Sessions,
    Writes,
    Reads,
}

/// A range of flow sizes with a name, all flows of one part of the workload, or what applications wait
/// for in the place of flows: requests, and storage sessions.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The name in tables.
    pub name: String,
    /// The name on a plot's axis.
    pub short: String,
    /// Sizes from this many bytes ...
    from: u64,
    /// ... to under this many.
    to: u64,
    class: Option<u8>,
    pool: Pool,
}

impl Group {
    /// All flows.
    pub fn all() -> Self {
        Self::sizes("all flows", "all", 0, u64::MAX)
    }

    /// All requests.
    pub fn requests() -> Self {
        Self::whole("requests", Pool::Requests)
    }

    /// All sessions of storage clients, where some write and some read.
    pub fn sessions() -> Self {
        Self::whole("sessions", Pool::Sessions)
    }

    /// The sessions of storage clients by what they do.
    pub fn kinds_of_sessions() -> [Self; 2] {
        [
            Self::whole("writes", Pool::Writes),
            Self::whole("reads", Pool::Reads),
        ]
    }

    /// What applications wait for in the place of flows: requests, and the sessions of storage clients.
    pub fn of_applications() -> [Self; 4] {
        let [writes, reads] = Self::kinds_of_sessions();
        [Self::requests(), Self::sessions(), writes, reads]
    }

    fn whole(name: &str, pool: Pool) -> Self {
        Self {
            pool,
            ..Self::sizes(name, name, 0, u64::MAX)
        }
    }

    /// Mice (< 100 KB), medium flows, elephants (≥ 1 MB).
    pub fn main() -> [Self; 3] {
        [
            Self::sizes("mice (< 100 KB)", "mice", 0, 100_000),
            Self::sizes("medium (100 KB to 1 MB)", "medium", 100_000, 1_000_000),
            Self::sizes("elephants (≥ 1 MB)", "elephants", 1_000_000, u64::MAX),
        ]
    }

    /// Mice, under 100 KB.
    pub fn mice() -> Self {
        let [mice, ..] = Self::main();
        mice
    }

    /// Elephants, from 1 MB.
    pub fn elephants() -> Self {
        let [.., elephants] = Self::main();
        elephants
    }

    /// The main groups cut finer.
    pub fn fine() -> [Self; 6] {
        [
            Self::sizes("< 10 KB", "<10K", 0, 10_000),
            Self::sizes("10 to 30 KB", "10–30K", 10_000, 30_000),
            Self::sizes("30 to 100 KB", "30–100K", 30_000, 100_000),
            Self::sizes("100 KB to 1 MB", "0.1–1M", 100_000, 1_000_000),
            Self::sizes("1 to 10 MB", "1–10M", 1_000_000, 10_000_000),
            Self::sizes("≥ 10 MB", "≥10M", 10_000_000, u64::MAX),
        ]
    }

    /// The flows of the workload's part `index`, called `name`.
    pub fn class(index: u8, name: &str) -> Self {
        Self {
            class: Some(index),
            ..Self::sizes(name, name, 0, u64::MAX)
        }
    }

    fn sizes(name: &str, short: &str, from: u64, to: u64) -> Self {
        Self {
            name: name.to_owned(),
            short: short.to_owned(),
            from,
            to,
            class: None,
            pool: Pool::Flows,
        }
    }

    /// Whether it is picked from flows.
    pub fn is_of_flows(&self) -> bool {
        self.pool == Pool::Flows
    }

    /// Whether it is picked from sessions of storage clients.
    pub fn is_of_sessions(&self) -> bool {
        matches!(self.pool, Pool::Sessions | Pool::Writes | Pool::Reads)
    }

    /// What it is a group of, as text has it.
    pub const fn things(&self) -> &'static str {
        match self.pool {
            Pool::Flows => "flows",
            Pool::Requests => "requests",
            Pool::Sessions => "sessions",
            Pool::Writes => "writes",
            Pool::Reads => "reads",
        }
    }

    /// What the time that these take is called.
    pub const fn time(&self) -> &'static str {
        match self.pool {
            Pool::Requests => "latency",
            Pool::Flows | Pool::Sessions | Pool::Writes | Pool::Reads => "completion time",
        }
    }

    /// Whether the group is one of [`Group::fine`].
    pub fn is_fine(&self) -> bool {
        Self::fine().contains(self)
    }

    /// What of a run the group is picked from.
    pub fn pool<'a>(&self, run: &'a Run) -> &'a [Flow] {
        match self.pool {
            Pool::Flows => &run.flows,
            Pool::Requests => &run.requests,
            Pool::Sessions => &run.sessions,
            Pool::Writes => &run.writes,
            Pool::Reads => &run.reads,
        }
    }

    /// Whether `flow` belongs to the group.
    pub fn has(&self, flow: &Flow) -> bool {
        (self.from..self.to).contains(&flow.bytes)
            && self.class.is_none_or(|class| class == flow.class)
    }
}
