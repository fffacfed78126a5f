//! The names that designs are put together from.

use crate::kinds::{Duplicates, Replication, Routing, TransportKind};

/// A part of a design's name, as `tailcut list designs` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<T> {
    /// The name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What it stands for.
    pub value: T,
}

const fn part<T>(name: &'static str, about: &'static str, value: T) -> Part<T> {
    Part { name, about, value }
}

/// Every replication that a name can start with.
pub const REPLICATIONS: [Part<Replication>; 11] = [
    part(
        "repflow",
        "mice under the size limit are sent whole over two connections (RepFlow, INFOCOM 2014)",
        Replication::RepFlow,
    ),
    part(
        "repsyn",
        "mice open two connections and send over the one that answers first (RepNet)",
        Replication::RepSyn,
    ),
    part(
        "mixed",
        "each mouse draws tcp, repflow or repsyn: one network under all three, not a deployment",
        Replication::Mixed,
    ),
    part(
        "duplicate",
        "requests go to two servers at once; nothing is cancelled",
        Replication::Duplicates(Duplicates::All),
    ),
    part(
        "duplicate-purge",
        "the same, and the first answer purges the rest",
        Replication::Duplicates(Duplicates::Purged),
    ),
    part(
        "duplicate-low",
        "requests go to two servers at once, the second time at low priority; nothing is cancelled",
        Replication::Duplicates(Duplicates::Low),
    ),
    part(
        "das",
        "the same, and the first answer purges the rest: duplicate-aware scheduling (HotNets 2014)",
        Replication::Duplicates(Duplicates::Das),
    ),
    part(
        "rans",
        "the same, and bytes of both answers count (RANS, HotNets 2014)",
        Replication::Duplicates(Duplicates::Rans),
    ),
    part(
        "hedge",
        "requests go to another server after a percentile; the late answer is only ignored",
        Replication::Duplicates(Duplicates::Hedge),
    ),
    part(
        "hedge-purge",
        "the same, and the first answer purges the rest",
        Replication::Duplicates(Duplicates::HedgePurged),
    ),
    part(
        "hedge-budget",
        "hedge within a budget of copies; the late answer is only ignored",
        Replication::Duplicates(Duplicates::HedgeBudget),
    ),
];

/// Every transport.
pub const TRANSPORTS: [Part<TransportKind>; 12] = [
    part("tcp", "TCP NewReno (RFC 6582)", TransportKind::Tcp),
    part("cubic", "TCP CUBIC (RFC 9438)", TransportKind::Cubic),
    part(
        "dctcp",
        "DCTCP (RFC 8257) over switches that mark at a threshold",
        TransportKind::Dctcp,
    ),
    part(
        "pfabric",
        "pFabric: switches drop and schedule by remaining size (SIGCOMM 2013)",
        TransportKind::PFabric,
    ),
    part(
        "pias",
        "PIAS: DCTCP over strict priorities by bytes sent (NSDI 2015)",
        TransportKind::Pias,
    ),
    part(
        "qos",
        "TCP NewReno over two strict priorities, small flows first: an ideal that knows sizes",
        TransportKind::Qos,
    ),
    part(
        "hull",
        "HULL: DCTCP, phantom queues that mark early, and pacers (NSDI 2012)",
        TransportKind::Hull,
    ),
    part(
        "ndp",
        "NDP: pulled by receivers over switches that trim (SIGCOMM 2017)",
        TransportKind::Ndp,
    ),
    part(
        "ndp-plus",
        "NDP+, also ndp+: NDP with priorities by bytes sent (SCDP paper)",
        TransportKind::NdpPlus,
    ),
    part(
        "scdp",
        "SCDP: RaptorQ symbols, pulled by receivers over switches that trim and have priorities",
        TransportKind::Scdp,
    ),
    part(
        "scdp-plain",
        "SCDP over plain switches that drop: receivers adapt a window to delay, losses and marks",
        TransportKind::ScdpPlain,
    ),
    part(
        "stations",
        "no packets: requests at stations of servers (queueing model), with delays between",
        TransportKind::Stations,
    ),
];

/// Every routing.
pub const ROUTINGS: [Part<Routing>; 8] = [
    part(
        "ecmp",
        "one path a flow, by a hash of its five-tuple",
        Routing::Ecmp,
    ),
    part(
        "spray",
        "one path a packet, drawn at random",
        Routing::Spray,
    ),
    part(
        "permute",
        "one path a packet, each once in an order that the sender draws: ndp, ndp-plus",
        Routing::Permute,
    ),
    part(
        "letflow",
        "one path a flowlet, drawn at random: LetFlow (NSDI 2017)",
        Routing::LetFlow,
    ),
    part(
        "conga",
        "one path a flowlet, by what leaves tell each other of congestion: CONGA (SIGCOMM 2014)",
        Routing::Conga,
    ),
    part(
        "expeditus",
        "one path a flow, chosen by switches in two stages on its handshake: Expeditus (SoCC 2016)",
        Routing::Expeditus,
    ),
    part(
        "expeditus-deck",
        "Expeditus as first shown: queues told to the switch below, paths fixed at the source",
        Routing::ExpeditusDeck,
    ),
    part(
        "omniscient",
        "one path a flow, the least congested of all when it begins: a bound, not a design",
        Routing::Omniscient,
    ),
];

/// What a name stands for.
pub(crate) fn find<T: Copy>(parts: &[Part<T>], name: &str) -> Option<T> {
    parts.iter().find(|part| part.name == name).map(|p| p.value)
}

/// The name of a value.
pub(crate) fn name_of<T: PartialEq>(parts: &[Part<T>], value: &T) -> Option<&'static str> {
    parts.iter().find(|p| p.value == *value).map(|p| p.name)
}

/// All names.
pub(crate) fn names<T>(parts: &[Part<T>]) -> impl Iterator<Item = &'static str> {
    parts.iter().map(|part| part.name)
}
