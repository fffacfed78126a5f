//! Groups of flows. Each figure is computed over one group.

use crate::run::{Flow, Run};

/// Kind of members: the table of a run from which a group takes its members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberKind {
    Flows,
    Requests,
    Sessions,
    Writes,
    Reads,
    Queries,
    Coflows,
}

/// Group of flows: all flows in a range of sizes, or all flows of one part of the workload.
/// A group may also contain requests or storage sessions instead of flows.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Name of the group in tables.
    pub name: String,
    /// Name of the group on the axis of a plot.
    pub short: String,
    /// Minimum size of a member in bytes.
    from: u64,
    /// Smallest size in bytes that is too large for the group.
    to: u64,
    class: Option<u8>,
    kind: MemberKind,
}

impl Group {
    /// Returns the group of all flows.
    pub fn all() -> Self {
        Self::sizes("all flows", "all", 0, u64::MAX)
    }

    /// Returns the group of all requests.
    pub fn requests() -> Self {
        Self::whole("requests", MemberKind::Requests)
    }

    /// Returns the group of all sessions of storage clients, for runs in which some sessions write and some read.
    pub fn sessions() -> Self {
        Self::whole("sessions", MemberKind::Sessions)
    }

    /// Returns two groups of storage sessions: sessions that write, and sessions that read.
    pub fn kinds_of_sessions() -> [Self; 2] {
        [
            Self::whole("writes", MemberKind::Writes),
            Self::whole("reads", MemberKind::Reads),
        ]
    }

    /// Returns the groups of operations that applications wait for.
    /// The operations are requests, queries, coflows, and the sessions of storage clients.
    pub fn of_applications() -> [Self; 6] {
        let [writes, reads] = Self::kinds_of_sessions();
        let [queries, coflows] = Self::kinds_of_coflows();
        [
            Self::requests(),
            queries,
            coflows,
            Self::sessions(),
            writes,
            reads,
        ]
    }

    /// Returns two groups: queries, and coflows from files.
    pub fn kinds_of_coflows() -> [Self; 2] {
        [
            Self::whole("queries", MemberKind::Queries),
            Self::whole("coflows", MemberKind::Coflows),
        ]
    }

    fn whole(name: &str, kind: MemberKind) -> Self {
        Self {
            kind,
            ..Self::sizes(name, name, 0, u64::MAX)
        }
    }

    /// Returns the main groups: mice (< 100 KB), medium flows, and elephants (≥ 1 MB).
    pub fn main() -> [Self; 3] {
        [
            Self::sizes("mice (< 100 KB)", "mice", 0, 100_000),
            Self::sizes("medium (100 KB to 1 MB)", "medium", 100_000, 1_000_000),
            Self::sizes("elephants (≥ 1 MB)", "elephants", 1_000_000, u64::MAX),
        ]
    }

    /// Returns the group of mice: flows below 100 KB.
    pub fn mice() -> Self {
        let [mice, ..] = Self::main();
        mice
    }

    /// Returns the group of elephants: flows of at least 1 MB.
    pub fn elephants() -> Self {
        let [.., elephants] = Self::main();
        elephants
    }

    /// Returns groups with smaller ranges of sizes than the main groups.
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

    /// Returns the group of the flows of the workload's part `index`. `name` is the name of the part.
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
            kind: MemberKind::Flows,
        }
    }

    /// Returns whether the members of the group are flows.
    pub fn is_of_flows(&self) -> bool {
        self.kind == MemberKind::Flows
    }

    /// Returns whether the members of the group are the flows of one part of the workload.
    pub fn is_class(&self) -> bool {
        self.class.is_some()
    }

    /// Returns whether the members of the group are sessions of storage clients.
    pub fn is_of_sessions(&self) -> bool {
        matches!(
            self.kind,
            MemberKind::Sessions | MemberKind::Writes | MemberKind::Reads
        )
    }

    /// Returns the noun for the members of the group, such as `flows`.
    pub const fn noun(&self) -> &'static str {
        match self.kind {
            MemberKind::Flows => "flows",
            MemberKind::Requests => "requests",
            MemberKind::Sessions => "sessions",
            MemberKind::Writes => "writes",
            MemberKind::Reads => "reads",
            MemberKind::Queries => "queries",
            MemberKind::Coflows => "coflows",
        }
    }

    /// Returns the noun for one member, as its table names it.
    pub const fn member_noun(&self) -> &'static str {
        match self.kind {
            MemberKind::Flows => "flow",
            MemberKind::Requests => "request",
            MemberKind::Sessions | MemberKind::Writes | MemberKind::Reads => "session",
            MemberKind::Queries | MemberKind::Coflows => "coflow",
        }
    }

    /// Returns the name of the time that a member of the group takes.
    pub const fn time(&self) -> &'static str {
        match self.kind {
            MemberKind::Requests => "latency",
            _ => "completion time",
        }
    }

    /// Returns whether the group is one of [`Group::fine`].
    pub fn is_fine(&self) -> bool {
        Self::fine().contains(self)
    }

    /// Returns the measured rows of a run that may be members: flows, requests or sessions, as the group has.
    pub fn members<'a>(&self, run: &'a Run) -> &'a [Flow] {
        let all: &[Flow] = match self.kind {
            MemberKind::Flows => &run.flows,
            MemberKind::Requests => &run.requests,
            MemberKind::Sessions => &run.sessions,
            MemberKind::Writes => &run.writes,
            MemberKind::Reads => &run.reads,
            MemberKind::Queries => &run.queries,
            MemberKind::Coflows => &run.coflows,
        };
        // The lists are sorted by start time, so the measured members are consecutive.
        let before = |end: f64| all.partition_point(|flow| flow.start_us < end);
        let (from, until) = (before(run.measured.start), before(run.measured.end));
        &all[from..until.max(from)]
    }

    /// Returns whether `flow` belongs to the group.
    pub fn has(&self, flow: &Flow) -> bool {
        (self.from..self.to).contains(&flow.bytes)
            && self.class.is_none_or(|class| class == flow.class)
    }
}
