//! The configuration of a gateway. Everything is checked, and every file read, before a socket is opened.

use crate::client::{Methods, Purges};
use crate::ranges::Verify;
use crate::ways::Protocol;
use anyhow::Result;
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use std::time::Duration;
use tailcut_proxy::config::{
    Common, Draft, Scalar, Table, count, name, scalar, size, time, unique, unique_addresses,
};
use tailcut_proxy::http::Limits as FrontLimits;
use tailcut_proxy::tls::{ClientTls, ServerTls};
use tailcut_proxy::{Endpoint, PORTS};
use tailcut_units::{Bytes, quantity};

/// Where health and metrics are served unless the configuration says otherwise.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9466";
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// When requests are sent a second time.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Together with the first time, low.
    AtOnce,
    /// After the gateway's own percentile of latency, low.
    AfterPercentile,
    /// Only where the first one fails.
    Off,
}

/// Fields about the client in requests to replicas.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarded {
    /// None.
    #[default]
    Off,
    /// `X-Forwarded-For` and `X-Forwarded-Proto`.
    XForwarded,
    /// `Forwarded` (RFC 7239).
    #[serde(rename = "forwarded")]
    Standard,
}

/// A replica, or several where its name has several addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplicaConfig {
    /// Whether it is spoken to with TLS.
    pub is_https: bool,
    /// Where it is.
    pub to: Endpoint,
}

impl ReplicaConfig {
    fn parse(text: &str) -> Option<Self> {
        let (is_https, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return None,
            None => (false, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // A host alone has the port of its scheme.
        let has_port = rest
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.contains(']'));
        let whole = match has_port || rest.parse::<u16>().is_ok() {
            true => rest.to_owned(),
            false => format!("{rest}:{}", if is_https { 443 } else { 80 }),
        };
        let to = Endpoint::parse(&whole, &PORTS)?;
        Some(Self { is_https, to })
    }
}

impl<'de> Deserialize<'de> for ReplicaConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let allowed =
            "http://HOST:PORT, https://HOST:PORT, HOST:PORT, or a port of 127.0.0.1; no path";
        scalar(from, allowed, |found| match found {
            Scalar::Text(text) => Self::parse(text),
            Scalar::Count(port) => Self::parse(&port.to_string()),
            _ => None,
        })
    }
}

/// Times of a route.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Times {
    /// Time for a replica to accept a connection, TLS included, 1 ms to 1 h.
    #[serde(rename = "connect_timeout", deserialize_with = "time::<1, HOUR, _>")]
    pub connect: Duration,
    /// Time for a replica to begin its answer, and for each further part of it, 1 ms to 24 h.
    #[serde(rename = "answer_timeout", deserialize_with = "time::<1, DAY, _>")]
    pub answer: Duration,
    /// Time after which an idle connection to a replica is closed, 1 ms to 1 h. Node's servers close theirs after 5 s.
    #[serde(rename = "idle_timeout", deserialize_with = "time::<1, HOUR, _>")]
    pub idle: Duration,
    /// HTTP/1.1: time that a loser with a small answer may go on, so that its connection can be kept
    /// ([`WayConfig::linger`](crate::ways::WayConfig::linger)), 0 to 1 h.
    #[serde(deserialize_with = "time::<0, HOUR, _>")]
    pub linger: Duration,
    /// Time between two resolutions of names, 10 ms to 24 h.
    #[serde(deserialize_with = "time::<10, DAY, _>")]
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

/// Limits of a route.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Limits {
    /// Limits of its listener.
    #[serde(skip)]
    pub front: FrontLimits,
    /// Bytes of a request's body, 0 to 1 PiB.
    #[serde(deserialize_with = "size::<0, { 1 << 50 }, _, _>")]
    pub body: u64,
    /// Requests at once, 1 to 1,000,000; those beyond get 503.
    #[serde(deserialize_with = "count::<1, 1_000_000, _, _>")]
    pub pending: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            front: FrontLimits::default(),
            body: 1 << 40,
            pending: 1_024,
        }
    }
}

/// Bytes that are kept of one request or answer.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Kept {
    /// Bytes of a request's body that are kept, so that it can be sent again, 0 to 64 MiB.
    #[serde(deserialize_with = "size::<0, { 64 << 20 }, _, _>")]
    pub replay: u64,
    /// Bytes of an answer that is taken whole before it counts as one, 0 to 64 MiB.
    #[serde(deserialize_with = "size::<0, { 64 << 20 }, _, _>")]
    pub whole: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            replay: 64 << 10,
            whole: 64 << 10,
        }
    }
}

/// Active checks of replicas.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Path of a GET that a healthy replica answers with 200 to 399.
    #[serde(deserialize_with = "path")]
    pub path: String,
    /// Time between two checks, 10 ms to 1 h.
    #[serde(default = "seconds::<5>", deserialize_with = "time::<10, HOUR, _>")]
    pub interval: Duration,
    /// Time for an answer, 10 ms to 1 h.
    #[serde(default = "seconds::<2>", deserialize_with = "time::<10, HOUR, _>")]
    pub timeout: Duration,
    /// Failures in a row after which a replica gets no more requests, 1 to 100.
    #[serde(default = "number::<3, _>", deserialize_with = "count::<1, 100, _, _>")]
    pub fall: u32,
    /// Successes in a row after which it gets requests again, 1 to 100.
    #[serde(default = "number::<2, _>", deserialize_with = "count::<1, 100, _, _>")]
    pub rise: u32,
}

const fn seconds<const DEFAULT: u64>() -> Duration {
    Duration::from_secs(DEFAULT)
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    scalar(from, "a path such as \"/healthz\"", |found| match found {
        Scalar::Text(path) if path.parse::<http::uri::PathAndQuery>().is_ok() => {
            path.starts_with('/').then(|| path.to_owned())
        }
        _ => None,
    })
}

/// A listener and the replicas behind it.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// Unique; a label in the metrics.
    #[serde(default = "unnamed", deserialize_with = "name")]
    pub name: String,
    /// Where requests are accepted.
    pub listen: Endpoint,
    /// At least one.
    pub replicas: Vec<ReplicaConfig>,
    /// Protocol of replicas.
    #[serde(default)]
    pub protocol: Protocol,
    /// Whether replicas drop the work of clients that leave.
    #[serde(default)]
    pub purges: Purges,
    /// Copies where both replicas are known to purge.
    #[serde(default = "at_once")]
    pub duplicates: Duplicates,
    /// Copies elsewhere.
    #[serde(default = "after_percentile")]
    pub elsewhere: Duplicates,
    /// The percentile of [`Duplicates::AfterPercentile`], in thousandths.
    #[serde(
        default = "number::<950, _>",
        deserialize_with = "thousandths::<1, 999, _, _>"
    )]
    pub percentile: u16,
    /// Elsewhere: copies in a thousand requests at most.
    #[serde(
        default = "number::<100, _>",
        deserialize_with = "thousandths::<0, 1_000, _, _>"
    )]
    pub budget: u32,
    /// Which requests may be sent twice.
    #[serde(default)]
    pub methods: Methods,
    /// Objects of more bytes than this come from two replicas at once, in ranges of this size, 64 KiB to 1 GiB.
    /// `None`: each answer comes from one.
    #[serde(default, deserialize_with = "ranges")]
    pub ranges: Option<u64>,
    /// Whether digests of such objects are checked.
    #[serde(default)]
    pub verify: Verify,
    /// Fields about the client in requests to replicas.
    #[serde(default)]
    pub forwarded: Forwarded,
    /// Whether requests say `Via: ... tailcut-gateway`.
    #[serde(default = "yes")]
    pub via: bool,
    /// Whether requests say which copy they are.
    #[serde(rename = "tell_copies", default = "yes")]
    pub tells_copies: bool,
    /// TLS of the listener.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// TLS to replicas whose address begins with `https`.
    #[serde(default)]
    pub replica_tls: ClientTls,
    /// Active checks.
    #[serde(default)]
    pub check: Option<Check>,
    /// Times.
    #[serde(skip)]
    pub times: Times,
    /// Limits.
    #[serde(skip)]
    pub limits: Limits,
    /// Bytes that are kept.
    #[serde(skip)]
    pub kept: Kept,
}

fn unnamed() -> String {
    "gateway".to_owned()
}

const fn yes() -> bool {
    true
}

const fn at_once() -> Duplicates {
    Duplicates::AtOnce
}

const fn after_percentile() -> Duplicates {
    Duplicates::AfterPercentile
}

fn number<const DEFAULT: u16, T: From<u16>>() -> T {
    DEFAULT.into()
}

/// Reads per cent, with a decimal at most.
fn thousandths<'de, const LEAST: u16, const MOST: u16, T, D>(from: D) -> Result<T, D::Error>
where
    T: From<u16>,
    D: Deserializer<'de>,
{
    let [least, most] = [LEAST, MOST].map(|end| f64::from(end) / 10.0);
    let allowed = format!("a number of per cent from {least} to {most}, in steps of 0.1");
    scalar(from, allowed, |found| {
        let scale = match found {
            Scalar::Text(text) if text.ends_with('%') => 1_000.0,
            _ => 10.0,
        };
        let thousandths = found.number()? * scale;
        let whole = thousandths.round();
        let is_allowed = (thousandths - whole).abs() < 1e-6
            && (f64::from(LEAST)..=f64::from(MOST)).contains(&whole);
        is_allowed.then(|| T::from(whole as u16))
    })
}

fn ranges<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let sizes = Bytes(64 << 10)..=Bytes(1 << 30);
    let allowed = format!("{}; or false", quantity::allowed(&sizes));
    scalar(from, allowed, |found| match found {
        Scalar::Flag(false) => Some(None),
        found => Some(Some(found.quantity(&sizes, Bytes)?.0)),
    })
}

impl RouteConfig {
    fn read(at: &Table<'_>) -> Result<Self> {
        let mut route: Self = at.read()?;
        route.times = at.read()?;
        route.kept = at.read()?;
        let limits = at.table("limits");
        route.limits = limits.read()?;
        route.limits.front = limits.read()?;
        let replicas = &route.replicas;
        for (index, replica) in replicas.iter().enumerate() {
            if replicas[..index].contains(replica) {
                return Err(at.refuse("replicas", "each replica once"));
            }
        }
        if replicas.is_empty() {
            return Err(at.refuse("replicas", "a list of at least one replica"));
        }
        if at.has("verify") && route.ranges.is_none() {
            return Err(at.refuse("verify", "nothing where ranges is off"));
        }
        if let Some(tls) = &route.tls {
            tls.check(at)?;
        }
        match replicas.iter().any(|replica| replica.is_https) {
            true => route.replica_tls.check(at)?,
            false if at.has("replica_tls") => {
                let allowed = "only with replicas that are https://...";
                return Err(at.refuse("replica_tls", allowed));
            }
            false => {}
        }
        Ok(route)
    }
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
}

impl GatewayConfig {
    /// Reads and checks a draft.
    ///
    /// # Errors
    /// The first key that is not allowed: its place, the value found, and the values allowed.
    pub fn read(draft: &Draft) -> Result<Self> {
        let top = draft.top();
        let common: Common = top.read()?;
        let tables = top.tables("routes", "route")?;
        let routes = tables.iter().map(RouteConfig::read);
        let config = Self {
            routes: routes.collect::<Result<_>>()?,
            admin: common.admin(DEFAULT_ADMIN),
            drain: common.drain_timeout,
        };
        draft.finish()?;
        let routes = || tables.iter().cloned().zip(&config.routes);
        let names = routes().map(|(at, route)| (at, "name", "", &route.name));
        unique("a name", names)?;
        let listens = routes().map(|(at, route)| (at, "listen", "", route.listen.clone()));
        unique_addresses(&top, listens, config.admin.as_ref())?;
        Ok(config)
    }

    /// Returns the files that certificates and keys were read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let of = |route: &RouteConfig| {
            let tls = route.tls.iter().flat_map(ServerTls::files);
            tls.chain(route.replica_tls.files()).collect::<Vec<_>>()
        };
        self.routes.iter().flat_map(of).collect()
    }
}
