//! What a design consists of: how mice or requests are replicated, what carries the bytes, and how
//! switches choose among equal-cost paths.

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
    /// SCDP over switches that drop: receivers adapt a window.
    ScdpPlain,
    /// No packets: requests at stations of servers, with delays between.
    Stations,
}

impl TransportKind {
    /// Whether flows begin with a round trip before any data.
    pub const fn has_handshake(self) -> bool {
        match self {
            Self::Tcp | Self::Cubic | Self::Dctcp | Self::Pias | Self::Qos | Self::Hull => true,
            Self::PFabric
            | Self::Ndp
            | Self::NdpPlus
            | Self::Scdp
            | Self::ScdpPlain
            | Self::Stations => false,
        }
    }

    /// Whether one transfer of it may have several receivers or several senders.
    pub const fn has_several_ends(self) -> bool {
        matches!(self, Self::Scdp | Self::ScdpPlain)
    }

    /// Whether it sends packets over a network: stations of servers alone do not.
    pub const fn has_packets(self) -> bool {
        !matches!(self, Self::Stations)
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
            | Self::Hull
            | Self::ScdpPlain => Routing::Ecmp,
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

/// What is done about slow answers: the duplicates of a design.
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
