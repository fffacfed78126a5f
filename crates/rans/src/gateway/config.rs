//! What a gateway is told to do.

use crate::client::{Methods, Purges};
use crate::ranges::Verify;
use crate::ways::Protocol;
use std::time::Duration;
use tailcut_proxy::Endpoint;
use tailcut_proxy::http::Limits as FrontLimits;
use tailcut_proxy::tls::Identity;

/// When requests are sent a second time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// Together with the first time, low.
    AtOnce,
    /// After the gateway's own percentile of latency, low.
    AfterPercentile,
    /// Only where the first one fails.
    Off,
}

/// What a listener says of the client to replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Forwarded {
    /// Nothing.
    #[default]
    Off,
    /// `X-Forwarded-For` and `X-Forwarded-Proto`.
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Standard,
}

/// TLS of a listener, as its files were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerTls {
    /// Its certificate and key.
    pub identity: Identity,
    /// Authorities of clients' certificates, in PEM; `None`: clients show none.
    pub client_ca: Option<Vec<u8>>,
}

/// TLS to replicas, as its files were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplicaTls {
    /// Authorities of replicas' certificates, in PEM; `None`: the system's.
    pub ca: Option<Vec<u8>>,
    /// The name that replicas have to show; `None`: the host of each.
    pub server_name: Option<String>,
    /// What is shown to them.
    pub identity: Option<Identity>,
}

/// A replica, or several where its name has several addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplicaConfig {
    /// Whether it is spoken to with TLS.
    pub is_https: bool,
    /// Where it is.
    pub to: Endpoint,
}

/// Times of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// In which a replica has to accept a connection, TLS included.
    pub connect: Duration,
    /// In which a replica has to begin its answer, and in which each further part of it has to come.
    pub answer: Duration,
    /// After which an idle connection to a replica is closed. Node's servers close theirs after 5 s.
    pub idle: Duration,
    /// HTTP/1.1: for how long a loser may go on whose answer is small, so that its connection can be kept
    /// ([`WayConfig::linger`](crate::ways::WayConfig::linger)).
    pub linger: Duration,
    /// How often names are resolved again.
    pub resolve: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(60),
            idle: Duration::from_secs(4),
            linger: Duration::from_millis(1),
            resolve: Duration::from_secs(30),
        }
    }
}

/// What a route bears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Of its listener.
    pub front: FrontLimits,
    /// Bytes of a request's body.
    pub body: u64,
    /// Requests at once; those beyond get 503.
    pub pending: u32,
    /// Bytes of a request's body that are kept, so that it can be sent again.
    pub replay: u64,
    /// Bytes of an answer that is taken whole before it counts as one.
    pub whole: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            front: FrontLimits::default(),
            body: 1 << 40,
            pending: 1_024,
            replay: 64 << 10,
            whole: 64 << 10,
        }
    }
}

/// How replicas are asked whether they are well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The path of a GET that a replica answers with 200 to 399 when it is well.
    pub path: String,
    /// How often.
    pub every: Duration,
    /// In which it has to answer.
    pub time: Duration,
    /// Failures in a row after which it is not asked any more.
    pub fall: u32,
    /// Successes in a row after which it is asked again.
    pub rise: u32,
}

/// A listener and the replicas behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// Unique; a label in the metrics.
    pub name: String,
    /// Where requests are accepted.
    pub listen: Endpoint,
    /// TLS there.
    pub tls: Option<ServerTls>,
    /// At least one.
    pub replicas: Vec<ReplicaConfig>,
    /// What replicas speak.
    pub protocol: Protocol,
    /// TLS to replicas whose address begins with `https`.
    pub replica_tls: ReplicaTls,
    /// Whether replicas drop the work of clients that leave.
    pub purges: Purges,
    /// What is done where both replicas are known to purge.
    pub duplicates: Duplicates,
    /// What is done elsewhere.
    pub elsewhere: Duplicates,
    /// The percentile of [`Duplicates::AfterPercentile`], in thousandths.
    pub percentile: u16,
    /// Elsewhere: copies in a thousand requests at most.
    pub budget: u32,
    /// Which requests may be sent twice.
    pub methods: Methods,
    /// Objects of more bytes than this come from two replicas at once, in ranges of so many bytes. `None`: each
    /// answer comes from one.
    pub ranges: Option<u64>,
    /// Whether digests of such objects are checked.
    pub verify: Verify,
    /// Times.
    pub times: Times,
    /// Limits.
    pub limits: Limits,
    /// Active checks.
    pub check: Option<Check>,
    /// What replicas are told of the client.
    pub forwarded: Forwarded,
    /// Whether requests say `Via: ... tailcut-gateway`.
    pub via: bool,
    /// Whether requests say which copy they are.
    pub tells_copies: bool,
}

/// The whole.
#[derive(Clone, PartialEq, Debug)]
pub struct GatewayConfig {
    /// At least one.
    pub routes: Vec<RouteConfig>,
    /// Where health and metrics are served, if anywhere.
    pub admin: Option<Endpoint>,
    /// How long open requests may go on after a signal to stop.
    pub drain: Duration,
    /// The files that certificates and keys were read from.
    pub files: Vec<std::path::PathBuf>,
}
