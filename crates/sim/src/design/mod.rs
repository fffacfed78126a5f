//! The names of designs: `[replication+]transport[@routing]`.

use crate::requests::Duplicates;
use std::fmt;
use std::str::FromStr;

/// A combination of replication, transport and routing, written
/// `[replication+]transport[@routing]`, such as `tcp`, `repflow+dctcp` or `dctcp@spray`.
///
/// What is left out has a default: no replication, TCP NewReno (so `repsyn` is RepSYN over TCP), the
/// transport's usual routing. `ndp+` is another name of `ndp-plus`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Design {
    /// How mice are replicated.
    pub replication: Replication,
    /// What carries the bytes.
    pub transport: TransportKind,
    /// How switches choose among equal-cost paths.
    pub routing: Routing,
}

/// How mice, or requests, are replicated.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Replication {
    /// Not at all.
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
    /// Whether it is a layer over a transport. RepNet is one over connections. Duplicates of requests
    /// go over whatever leaves priorities to them.
    pub const fn works_over(self, transport: TransportKind) -> bool {
        match self {
            Self::None => true,
            Self::RepFlow | Self::RepSyn | Self::Mixed => transport.has_handshake(),
            Self::Duplicates(_) => transport.carries_requests(),
        }
    }

    /// What carries the bytes where the name does not say.
    pub const fn usual_transport(self) -> TransportKind {
        match self {
            Self::Duplicates(_) => TransportKind::Stations,
            _ => TransportKind::Tcp,
        }
    }
}

/// What carries the bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum TransportKind {
    /// TCP NewReno.
    #[default]
    Tcp,
    /// TCP CUBIC.
    Cubic,
    /// DCTCP.
    Dctcp,
    /// pFabric.
    PFabric,
    /// PIAS.
    Pias,
    /// TCP with small flows before large ones.
    Qos,
    /// HULL.
    Hull,
    /// NDP.
    Ndp,
    /// NDP with classes by bytes sent.
    NdpPlus,
    /// SCDP.
    Scdp,
    /// No packets: requests at stations of servers, with delays between.
    Stations,
}

impl TransportKind {
    /// Whether flows begin with a round trip before any data.
    pub const fn has_handshake(self) -> bool {
        match self {
            Self::Tcp | Self::Cubic | Self::Dctcp | Self::Pias | Self::Qos | Self::Hull => true,
            Self::PFabric | Self::Ndp | Self::NdpPlus | Self::Scdp | Self::Stations => false,
        }
    }

    /// Whether clients can ask servers over it: as the model without packets, or with a class for duplicates
    /// below all that it has itself. pFabric has no classes, and those of `qos` and the pacers of `hull`
    /// belong to hosts' layers, which requests do not pass.
    pub const fn carries_requests(self) -> bool {
        !matches!(self, Self::PFabric | Self::Qos | Self::Hull)
    }

    /// How switches choose where the name does not say.
    pub const fn usual_routing(self) -> Routing {
        match self {
            Self::Tcp
            | Self::Cubic
            | Self::Dctcp
            | Self::PFabric
            | Self::Pias
            | Self::Qos
            | Self::Hull => Routing::Ecmp,
            Self::Ndp | Self::NdpPlus => Routing::Permute,
            Self::Scdp => Routing::Spray,
            Self::Stations => Routing::Ecmp,
        }
    }

    /// Whether it works over a routing: only some senders choose paths themselves, and only some
    /// send a handshake on which switches could choose.
    pub const fn works_over(self, routing: Routing) -> bool {
        self.obstacle(routing).is_none()
    }

    /// Why it does not work over a routing; `None` where it does.
    pub const fn obstacle(self, routing: Routing) -> Option<&'static str> {
        match routing {
            Routing::Ecmp => None,
            _ if matches!(self, Self::Stations) => Some("there is no network between stations"),
            Routing::Spray | Routing::LetFlow | Routing::Conga | Routing::Omniscient => None,
            Routing::Permute => match self {
                Self::Ndp | Self::NdpPlus => None,
                _ => Some("only the senders of ndp and ndp-plus choose paths"),
            },
            Routing::Expeditus | Routing::ExpeditusDeck => {
                if self.has_handshake() {
                    None
                } else {
                    Some(
                        "it chooses a flow's path on its handshake; without one every flow would stay \
                         on ECMP",
                    )
                }
            }
        }
    }
}

/// How switches choose among equal-cost paths.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Routing {
    /// A hash of the five-tuple.
    #[default]
    Ecmp,
    /// Every packet at random.
    Spray,
    /// The sender takes its paths one packet each in a random order, and then in another.
    Permute,
    /// Every flowlet at random.
    LetFlow,
    /// Every flowlet on the path that its leaf has heard to be the least congested.
    Conga,
    /// Every flow on a path that switches choose on its handshake.
    Expeditus,
    /// The same in its first form.
    ExpeditusDeck,
    /// Every flow on the least congested path: a bound.
    Omniscient,
}

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
pub const TRANSPORTS: [Part<TransportKind>; 11] = [
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

/// A name that is no design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDesign {
    /// The whole name.
    pub name: String,
    /// The part of it that is not known.
    pub part: String,
    /// What may stand there.
    pub allowed: Vec<&'static str>,
    /// Why a part that is known cannot stand there.
    pub why: Option<&'static str>,
}

impl fmt::Display for UnknownDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "design '{}': found '{}'; allowed here: {}",
            self.name,
            self.part,
            self.allowed.join(", ")
        )?;
        self.why.map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

impl std::error::Error for UnknownDesign {}

fn find<T: Copy>(parts: &[Part<T>], name: &str) -> Option<T> {
    parts.iter().find(|part| part.name == name).map(|p| p.value)
}

fn name_of<T: PartialEq>(parts: &[Part<T>], value: &T) -> Option<&'static str> {
    parts.iter().find(|p| p.value == *value).map(|p| p.name)
}

fn names<T>(parts: &[Part<T>]) -> impl Iterator<Item = &'static str> {
    parts.iter().map(|part| part.name)
}

/// The transports that a replication is a layer over.
fn replicable(replication: Replication) -> Vec<&'static str> {
    let parts = TRANSPORTS
        .iter()
        .filter(|p| replication.works_over(p.value));
    parts.map(|part| part.name).collect()
}

/// The routings that a transport works over.
fn routings_of(transport: TransportKind) -> Vec<&'static str> {
    let parts = ROUTINGS.iter().filter(|p| transport.works_over(p.value));
    parts.map(|part| part.name).collect()
}

impl FromStr for Design {
    type Err = UnknownDesign;

    fn from_str(name: &str) -> Result<Self, UnknownDesign> {
        let unknown = |part: &str, allowed: Vec<&'static str>| UnknownDesign {
            name: name.to_owned(),
            part: part.to_owned(),
            allowed,
            why: None,
        };
        let (stack, routing) = match name.split_once('@') {
            None => (name, None),
            Some((stack, routing)) => (stack, Some(routing)),
        };
        let stack = if stack == "ndp+" { "ndp-plus" } else { stack };
        let (replication, transport) = match stack.split_once('+') {
            Some((replication, transport)) => {
                let replication = find(&REPLICATIONS, replication)
                    .ok_or_else(|| unknown(replication, names(&REPLICATIONS).collect()))?;
                let transport = find(&TRANSPORTS, transport)
                    .filter(|transport| replication.works_over(*transport))
                    .ok_or_else(|| unknown(transport, replicable(replication)))?;
                (replication, transport)
            }
            None => match (find(&REPLICATIONS, stack), find(&TRANSPORTS, stack)) {
                (Some(replication), _) => (replication, replication.usual_transport()),
                (None, Some(transport)) => (Replication::None, transport),
                (None, None) => {
                    let allowed = names(&REPLICATIONS).chain(names(&TRANSPORTS)).collect();
                    return Err(unknown(stack, allowed));
                }
            },
        };
        let routing = match routing {
            None => transport.usual_routing(),
            Some(name) => {
                let routing = find(&ROUTINGS, name);
                let why = routing.and_then(|routing| transport.obstacle(routing));
                routing
                    .filter(|_| why.is_none())
                    .ok_or_else(|| UnknownDesign {
                        why,
                        ..unknown(name, routings_of(transport))
                    })?
            }
        };
        Ok(Self {
            replication,
            transport,
            routing,
        })
    }
}

impl fmt::Display for Design {
    /// The shortest name that means this design.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let replication = name_of(&REPLICATIONS, &self.replication);
        let transport = name_of(&TRANSPORTS, &self.transport).unwrap_or_default();
        match replication {
            None => f.write_str(transport)?,
            Some(name) if self.transport == self.replication.usual_transport() => {
                f.write_str(name)?;
            }
            Some(replication) => write!(f, "{replication}+{transport}")?,
        }
        match name_of(&ROUTINGS, &self.routing) {
            Some(routing) if self.routing != self.transport.usual_routing() => {
                write!(f, "@{routing}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_parts_out_is_completed_and_printed_short_again() {
        for (given, printed) in [
            ("tcp", "tcp"),
            ("repsyn", "repsyn"),
            ("repsyn+tcp", "repsyn"),
            ("repflow+dctcp", "repflow+dctcp"),
            ("dctcp@spray", "dctcp@spray"),
            ("repflow@ecmp", "repflow"),
            ("cubic@ecmp", "cubic"),
            ("pfabric@spray", "pfabric@spray"),
            ("repflow+pias", "repflow+pias"),
            ("ndp", "ndp"),
            ("ndp@permute", "ndp"),
            ("ndp@spray", "ndp@spray"),
            ("ndp+", "ndp-plus"),
            ("scdp", "scdp"),
            ("stations", "stations"),
            ("rans", "rans"),
            ("rans+stations", "rans"),
            ("scdp@spray", "scdp"),
            ("scdp@ecmp", "scdp@ecmp"),
            ("ndp+@ecmp", "ndp-plus@ecmp"),
            ("repflow+dctcp@letflow", "repflow+dctcp@letflow"),
            ("hull@expeditus-deck", "hull@expeditus-deck"),
        ] {
            let design: Design = given.parse().expect(given);
            assert_eq!(design.to_string(), printed);
        }
    }

    #[test]
    fn a_wrong_part_is_named_with_what_may_stand_there() {
        let error = "repflow+dtcp".parse::<Design>().expect_err("no dtcp");
        assert_eq!(
            error.to_string(),
            "design 'repflow+dtcp': found 'dtcp'; allowed here: tcp, cubic, dctcp, pias, qos, hull"
        );
        assert!("".parse::<Design>().is_err());
        assert!("tcp@".parse::<Design>().is_err());
        assert!("tcp+repflow".parse::<Design>().is_err());
        let error = "repflow+ndp".parse::<Design>().expect_err("no connections");
        assert_eq!(
            error.allowed,
            ["tcp", "cubic", "dctcp", "pias", "qos", "hull"]
        );
        let error = "tcp@permute"
            .parse::<Design>()
            .expect_err("no choice of paths");
        assert!(!error.allowed.contains(&"permute"));
        let error = "ndp@expeditus".parse::<Design>().expect_err("no handshake");
        assert_eq!(
            error.to_string(),
            "design 'ndp@expeditus': found 'expeditus'; allowed here: ecmp, spray, permute, letflow, \
             conga, omniscient (it chooses a flow's path on its handshake; without one every flow \
             would stay on ECMP)"
        );
    }
}
