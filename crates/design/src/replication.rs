//! Replication of mice and of requests: the part of a stack's name before `+`.

/// Replication of mice or of requests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Replication {
    /// No replication.
    #[default]
    None,
    /// Mice are sent on two connections (RepFlow).
    RepFlow,
    /// Only the handshakes of mice are sent twice (RepSYN).
    RepSyn,
    /// Each mouse has a random replication: none, RepFlow or RepSYN. All mice share one network.
    Mixed,
    /// Requests have duplicates, according to this rule.
    Duplicates(Duplicates),
}

impl Replication {
    /// Returns the design that a stack uses if its name contains none.
    pub(crate) const fn usual_design(self) -> &'static str {
        match self {
            Self::Duplicates(_) => "stations",
            _ => "tcp",
        }
    }
}

/// Rule for the copies of a request: the time of each copy, and whether the first answer cancels all others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Duplicates {
    /// All copies are sent at the same time, in the same class. No copy is cancelled.
    All,
    /// Same as `All`, but the first answer purges all other copies.
    Purged,
    /// Copies above the quorum get the low class. No copy is cancelled.
    Low,
    /// Duplicate-aware scheduling: same as `Low`, but the first answer purges all other copies.
    Das,
    /// RANS: same as `Das`, but the client combines the bytes of all copies.
    Rans,
    /// A copy is sent if no answer arrives within a percentile of the response time.
    /// The client ignores the later answer, and servers complete both copies.
    Hedge,
    /// Same as `Hedge`, but the first answer purges the second copy at the servers.
    HedgePurged,
    /// Same as `Hedge`, but a budget limits the number of copies.
    HedgeBudget,
}

/// Replication with its name, as in `tailcut list designs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedReplication {
    /// Name of the replication.
    pub name: &'static str,
    /// One-line description, with the source.
    pub summary: &'static str,
    /// Replication with this name.
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

/// All replications with which a stack's name can start.
pub const REPLICATIONS: [NamedReplication; 11] = [
    named(
        "repflow",
        "mice below the size limit are sent over both of two connections (RepFlow, INFOCOM 2014)",
        Replication::RepFlow,
    ),
    named(
        "repsyn",
        "mice open two connections and send over the first connection that answers (RepNet)",
        Replication::RepSyn,
    ),
    named(
        "mixed",
        "each mouse draws tcp, repflow or repsyn: all three in one network, for comparison only",
        Replication::Mixed,
    ),
    duplicates(
        "duplicate",
        "requests go to two servers at the same time; no copy is cancelled",
        Duplicates::All,
    ),
    duplicates(
        "duplicate-purge",
        "like duplicate, but the first answer purges the other copy",
        Duplicates::Purged,
    ),
    duplicates(
        "duplicate-low",
        "like duplicate, but the second copy has low priority",
        Duplicates::Low,
    ),
    duplicates(
        "das",
        "like duplicate-low, but the first answer purges the other copy: duplicate-aware scheduling (HotNets 2014)",
        Duplicates::Das,
    ),
    duplicates(
        "rans",
        "like das, but the client combines the bytes of both answers (RANS, HotNets 2014)",
        Duplicates::Rans,
    ),
    duplicates(
        "hedge",
        "requests go to another server if the first answer is late; the client ignores the later answer",
        Duplicates::Hedge,
    ),
    duplicates(
        "hedge-purge",
        "like hedge, but the first answer purges the other copy",
        Duplicates::HedgePurged,
    ),
    duplicates(
        "hedge-budget",
        "like hedge, but a budget limits the number of copies",
        Duplicates::HedgeBudget,
    ),
];

/// Returns the replication with this name.
pub(crate) fn replication(name: &str) -> Option<Replication> {
    let found = REPLICATIONS.iter().find(|one| one.name == name);
    found.map(|one| one.value)
}
