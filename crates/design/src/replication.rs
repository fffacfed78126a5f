//! Replication of mice, and of requests: the part of a design's name before `+`.

/// Replication of mice, or of requests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Replication {
    /// No replication.
    #[default]
    None,
    /// Whole flows.
    RepFlow,
    /// Handshakes only.
    RepSyn,
    /// Each mouse draws one of no replication, RepFlow and RepSYN, all in one network.
    Mixed,
    /// Requests have duplicates.
    Duplicates(Duplicates),
}

impl Replication {
    /// Returns the design that carries the bytes if the name gives none.
    pub(crate) const fn usual_design(self) -> &'static str {
        match self {
            Self::Duplicates(_) => "stations",
            _ => "tcp",
        }
    }
}

/// Copies of a request, and the effect of the first answer on the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Duplicates {
    /// All copies at once in one class; nothing is cancelled.
    All,
    /// The same, purged by the first answer.
    Purged,
    /// Copies beyond the quorum in the low class; nothing is cancelled.
    Low,
    /// The same, purged by the first answer: duplicate-aware scheduling.
    Das,
    /// The same, and bytes of all copies count: RANS.
    Rans,
    /// A copy after a percentile; the client drops the late answer, servers go on.
    Hedge,
    /// A copy after a percentile, purged at servers.
    HedgePurged,
    /// A copy after a percentile, as a budget allows; servers go on.
    HedgeBudget,
}

/// A replication with its name, as `tailcut list designs` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedReplication {
    /// Name.
    pub name: &'static str,
    /// One line about it, with its source.
    pub summary: &'static str,
    /// The replication.
    pub value: Replication,
}

const fn named(name: &'static str, summary: &'static str, value: Replication) -> NamedReplication {
    NamedReplication {
        name,
        summary,
        value,
    }
}

const fn duplicates(
    name: &'static str,
    summary: &'static str,
    value: Duplicates,
) -> NamedReplication {
    named(name, summary, Replication::Duplicates(value))
}

/// Every replication that a name can start with.
pub const REPLICATIONS: [NamedReplication; 11] = [
    named(
        "repflow",
        "mice under the size limit are sent whole over two connections (RepFlow, INFOCOM 2014)",
        Replication::RepFlow,
    ),
    named(
        "repsyn",
        "mice open two connections and send over the one that answers first (RepNet)",
        Replication::RepSyn,
    ),
    named(
        "mixed",
        "each mouse draws tcp, repflow or repsyn: one network under all three, not a deployment",
        Replication::Mixed,
    ),
    duplicates(
        "duplicate",
        "requests go to two servers at once; nothing is cancelled",
        Duplicates::All,
    ),
    duplicates(
        "duplicate-purge",
        "the same, and the first answer purges the rest",
        Duplicates::Purged,
    ),
    duplicates(
        "duplicate-low",
        "requests go to two servers at once, the second time at low priority; nothing is cancelled",
        Duplicates::Low,
    ),
    duplicates(
        "das",
        "the same, and the first answer purges the rest: duplicate-aware scheduling (HotNets 2014)",
        Duplicates::Das,
    ),
    duplicates(
        "rans",
        "the same, and bytes of both answers count (RANS, HotNets 2014)",
        Duplicates::Rans,
    ),
    duplicates(
        "hedge",
        "requests go to another server after a percentile; the late answer is only ignored",
        Duplicates::Hedge,
    ),
    duplicates(
        "hedge-purge",
        "the same, and the first answer purges the rest",
        Duplicates::HedgePurged,
    ),
    duplicates(
        "hedge-budget",
        "hedge within a budget of copies; the late answer is only ignored",
        Duplicates::HedgeBudget,
    ),
];

/// Returns the replication of a name.
pub(crate) fn replication(name: &str) -> Option<Replication> {
    let found = REPLICATIONS.iter().find(|one| one.name == name);
    found.map(|one| one.value)
}
