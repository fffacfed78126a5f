//! Configuration of a gateway. All values are checked, and all files read, before a socket is opened.

use super::grpc::NonFatal;
use super::matching::Match;
use crate::client::{Methods, Purges};
use crate::connections::Protocol;
use crate::ranges::Verify;
use crate::trace::TraceConfig;
use anyhow::Result;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use tailcut_proxy::config::{
    Common, Draft, Scalar, Table, count, keys, name, scalar, size, socket_mode, time, unique,
    unique_addresses,
};
use tailcut_proxy::http::Limits as ListenerLimits;
use tailcut_proxy::log::LogConfig;
use tailcut_proxy::tls::{ClientTls, ServerTls};
use tailcut_proxy::{Address, DEFAULT_MODE, Endpoint, PORTS};
use tailcut_units::{Bytes, quantity};

/// Address of the admin server (health and metrics), unless the configuration contains another one.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9466";
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Time at which a gateway sends the second copy of a request.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// The copy is sent together with the first one, at low priority.
    AtOnce,
    /// The copy is sent after a percentile of the latencies that the gateway has measured, at low priority.
    AfterPercentile,
    /// The copy is sent only if the first one fails.
    Off,
}

/// Fields that describe the client in requests to replicas.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarded {
    /// The gateway adds no field.
    #[default]
    Off,
    /// The gateway adds `X-Forwarded-For` and `X-Forwarded-Proto`.
    XForwarded,
    /// The gateway adds `Forwarded` (RFC 7239).
    #[serde(rename = "forwarded")]
    Standard,
}

/// Replica in the configuration. If its name has several addresses, it stands for several replicas.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplicaConfig {
    /// Whether connections to the replica use TLS.
    pub is_https: bool,
    /// Address of the replica.
    pub to: Address,
}

impl ReplicaConfig {
    fn parse(text: &str) -> Option<Self> {
        if let Some(to) = Address::parse(text, &PORTS).filter(|to| to.tcp().is_none()) {
            let is_https = false;
            return Some(Self { is_https, to });
        }
        let (is_https, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return None,
            None => (false, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // A host without a port has the default port of its scheme.
        // In `[::1]`, the last colon belongs to the address, and the text after it contains `]`.
        // A text that has only digits is a port of 127.0.0.1, as in `Endpoint::parse`.
        let has_port = rest
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.contains(']'));
        let whole = match has_port || rest.parse::<u16>().is_ok() {
            true => rest.to_owned(),
            false => format!("{rest}:{}", if is_https { 443 } else { 80 }),
        };
        let to = Address::Tcp(Endpoint::parse(&whole, &PORTS)?);
        Some(Self { is_https, to })
    }
}

impl<'de> Deserialize<'de> for ReplicaConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let allowed = "http://HOST:PORT, https://HOST:PORT, HOST:PORT, or a port of 127.0.0.1; no path; or unix:/path";
        scalar(from, allowed, |found| match found {
            Scalar::Text(text) => Self::parse(text),
            Scalar::Count(port) => Self::parse(&port.to_string()),
            _ => None,
        })
    }
}

/// Time limits and intervals of a route.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Times {
    /// Longest time until a replica has accepted a connection, TLS included, 1 ms to 1 h.
    #[serde(rename = "connect_timeout", deserialize_with = "time::<1, HOUR, _>")]
    pub connect: Duration,
    /// Longest time until an answer begins, and between two of its parts, 1 ms to 24 h.
    #[serde(rename = "answer_timeout", deserialize_with = "time::<1, DAY, _>")]
    pub answer: Duration,
    /// Time after which an idle connection to a replica is closed, 1 ms to 1 h.
    /// Node's servers close idle connections after 5 s.
    #[serde(rename = "idle_timeout", deserialize_with = "time::<1, HOUR, _>")]
    pub idle: Duration,
    /// Time that a slower copy with a small answer may continue, so that its connection can be kept, 0 to 1 h.
    /// Only HTTP/1.1 uses it: [`ConnectionConfig::linger`](crate::connections::ConnectionConfig::linger).
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
            // nginx has the same default for a server's answer (`proxy_read_timeout`).
            answer: Duration::from_secs(60),
            // Node's servers close idle connections after 5 s. The gateway must close them earlier.
            idle: Duration::from_secs(4),
            // Timers have a resolution of 1 ms, so this is the shortest time above 0.
            linger: Duration::from_millis(1),
            // With a longer time, requests would go to the old address of a replica for longer.
            // With a shorter time, the name server would get more queries.
            resolve: Duration::from_secs(30),
        }
    }
}

/// Limits of a route.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Limits {
    /// Limits of the listener.
    #[serde(skip)]
    pub listener: ListenerLimits,
    /// Size of the largest body of a request in bytes, 0 to 1 PiB.
    #[serde(deserialize_with = "size::<0, { 1 << 50 }, _, _>")]
    pub body: u64,
    /// Largest number of open requests, 1 to 1,000,000. Further requests receive 503.
    #[serde(deserialize_with = "count::<1, 1_000_000, _, _>")]
    pub pending: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            listener: ListenerLimits::default(),
            body: 1 << 40,
            pending: 1_024,
        }
    }
}

/// Sizes of the largest bodies that are stored completely, in bytes.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct StoredBodyLimits {
    /// Size of the largest body of a request that is stored, so that it can be sent again, 0 to 64 MiB.
    #[serde(deserialize_with = "size::<0, { 64 << 20 }, _, _>")]
    pub replay: u64,
    /// Size of the largest answer that counts only after it has arrived completely, 0 to 64 MiB.
    #[serde(deserialize_with = "size::<0, { 64 << 20 }, _, _>")]
    pub whole: u64,
}

impl Default for StoredBodyLimits {
    fn default() -> Self {
        // With 1,024 open requests, the default limit, the bodies of requests need at most 64 MiB.
        // The same holds for answers.
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
    /// Longest time until an answer, 10 ms to 1 h.
    #[serde(default = "seconds::<2>", deserialize_with = "time::<10, HOUR, _>")]
    pub timeout: Duration,
    /// Number of failures in a row after which a replica receives no more requests, 1 to 100.
    #[serde(default = "number::<3, _>", deserialize_with = "count::<1, 100, _, _>")]
    pub fall: u32,
    /// Number of successes in a row after which a replica receives requests again, 1 to 100.
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

/// Listener and the replicas behind it.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// Name of the route. It is unique, and a label of the metrics.
    #[serde(default = "unnamed", deserialize_with = "name")]
    pub name: String,
    /// Address of the listener. Several routes with `match` may have the same listener.
    pub listen: Address,
    /// Replicas, at least one.
    pub replicas: Vec<ReplicaConfig>,
    /// Mode of the listener's file, if it is a Unix socket.
    #[serde(default = "default_mode", deserialize_with = "socket_mode")]
    pub listen_mode: u32,
    /// Requests that the route takes.
    #[serde(rename = "match", default)]
    pub matching: Match,
    /// HTTP version of the replicas.
    #[serde(default)]
    pub protocol: Protocol,
    /// Whether replicas stop the work on a request that its client cancels.
    #[serde(default)]
    pub purges: Purges,
    /// Time at which a copy is sent, if both replicas are known to purge.
    #[serde(default = "at_once")]
    pub duplicates: Duplicates,
    /// Time at which a copy is sent, if one of the replicas is not known to purge.
    #[serde(default = "after_percentile")]
    pub elsewhere: Duplicates,
    /// Percentile for [`Duplicates::AfterPercentile`], in thousandths.
    #[serde(
        default = "number::<950, _>",
        deserialize_with = "thousandths::<1, 999, _, _>"
    )]
    pub percentile: u16,
    /// Largest number of copies for each thousand requests, if a replica is not known to purge.
    #[serde(
        default = "number::<100, _>",
        deserialize_with = "thousandths::<0, 1_000, _, _>"
    )]
    pub budget: u32,
    /// Whether the gateway finds out whether copies help, and ends them while they do not.
    #[serde(default = "yes")]
    pub do_no_harm: bool,
    /// Length of a slot of time with or without copies, for [`do_no_harm`](Self::do_no_harm), 100 ms to 1 h.
    #[serde(
        rename = "trial_slot",
        default = "seconds::<5>",
        deserialize_with = "time::<100, HOUR, _>"
    )]
    pub trial_slot: Duration,
    /// Methods of the requests that may be sent twice.
    #[serde(default)]
    pub methods: Methods,
    /// Codes of gRPC after which a call may be sent to another replica.
    #[serde(default)]
    pub grpc_non_fatal: NonFatal,
    /// Size of a range, 64 KiB to 1 GiB.
    /// Objects that are larger than a range are requested in ranges from two replicas at the same time.
    /// `None`: each answer comes from one replica.
    #[serde(default, deserialize_with = "ranges")]
    pub ranges: Option<u64>,
    /// Whether the digests of objects in ranges are checked.
    #[serde(default)]
    pub verify: Verify,
    /// Fields that describe the client in requests to replicas.
    #[serde(default)]
    pub forwarded: Forwarded,
    /// Whether requests contain `Via: ... tailcut-gateway`.
    #[serde(default = "yes")]
    pub via: bool,
    /// Whether requests contain the number of the copy.
    #[serde(rename = "tell_copies", default = "yes")]
    pub marks_copies: bool,
    /// Whether each connection begins with a header of the PROXY protocol, which names the client.
    #[serde(default)]
    pub proxy_protocol: bool,
    /// TLS of the listener.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// TLS to replicas whose address begins with `https`.
    #[serde(default)]
    pub replica_tls: ClientTls,
    /// Active checks of the replicas.
    #[serde(default)]
    pub check: Option<Check>,
    /// Time limits and intervals of the route.
    #[serde(skip)]
    pub times: Times,
    /// Limits of the route.
    #[serde(skip)]
    pub limits: Limits,
    /// Sizes of the largest bodies that are stored completely.
    #[serde(skip)]
    pub stored_bodies: StoredBodyLimits,
    /// Identifiers of requests.
    #[serde(skip)]
    pub trace: TraceConfig,
}

const fn default_mode() -> u32 {
    DEFAULT_MODE
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

/// Reads a percentage in steps of 0.1, and returns it in thousandths.
fn thousandths<'de, const LEAST: u16, const MOST: u16, T, D>(from: D) -> Result<T, D::Error>
where
    T: From<u16>,
    D: Deserializer<'de>,
{
    let [least, most] = [LEAST, MOST].map(|end| f64::from(end) / 10.0);
    let allowed = format!("a number of per cent from {least} to {most}, in steps of 0.1");
    scalar(from, allowed, |found| {
        // For the text `5%`, `number` returns 0.05. A number without a unit is already in per cent.
        let scale = match found {
            Scalar::Text(text) if text.ends_with('%') => 1_000.0,
            _ => 10.0,
        };
        let thousandths = found.number()? * scale;
        let whole = thousandths.round();
        // Decimal fractions have small rounding errors as binary numbers.
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
        route.stored_bodies = at.read()?;
        route.trace = at.read()?;
        let limits = at.table("limits");
        route.limits = limits.read()?;
        route.limits.listener = limits.read()?;
        let replicas = &route.replicas;
        for (index, replica) in replicas.iter().enumerate() {
            if replicas[..index].contains(replica) {
                return Err(at.refuse("replicas", "each replica once"));
            }
        }
        if replicas.is_empty() {
            return Err(at.refuse("replicas", "a list of at least one replica"));
        }
        if at.has("trial_slot") && !route.do_no_harm {
            return Err(at.refuse("trial_slot", "only with do_no_harm"));
        }
        if at.has("verify") && route.ranges.is_none() {
            return Err(at.refuse("verify", "only with ranges"));
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

/// Finds the routes that use the listener of an earlier route, and gives them its limits. Returns their indices.
/// A route after one that takes all requests would never be chosen, so it cannot use its listener.
fn share_listeners(tables: &[Table<'_>], routes: &mut [RouteConfig]) -> Result<BTreeSet<usize>> {
    let mut followers = BTreeSet::new();
    for index in 0..routes.len() {
        let (earlier, rest) = routes.split_at_mut(index);
        let (Some(route), Some(at)) = (rest.first_mut(), tables.get(index)) else {
            continue;
        };
        // Each listener with port 0 gets another port.
        let shared =
            |other: &&RouteConfig| other.listen == route.listen && !other.listen.has_any_port();
        let Some(first) = earlier.iter().find(shared) else {
            continue;
        };
        if earlier
            .iter()
            .filter(shared)
            .any(|other| other.matching.is_of_all())
        {
            continue;
        }
        let allowed = "only in the first route of an address";
        for key in ["tls", "proxy_protocol", "listen_mode"] {
            if at.has(key) {
                return Err(at.refuse(key, allowed));
            }
        }
        let limits = at.table("limits");
        for key in keys::<ListenerLimits>() {
            if limits.has(key) {
                return Err(limits.refuse(key, allowed));
            }
        }
        route.limits.listener = first.limits.listener;
        followers.insert(index);
    }
    Ok(followers)
}

/// Configuration of the whole gateway.
#[derive(Clone, PartialEq, Debug)]
pub struct GatewayConfig {
    /// Routes, at least one.
    pub routes: Vec<RouteConfig>,
    /// Address of the admin server for health and metrics. `None`: it does not run.
    pub admin: Option<Endpoint>,
    /// Longest time that open requests may continue after a signal to stop.
    pub drain: Duration,
    /// Access log and error log.
    pub log: LogConfig,
}

impl GatewayConfig {
    /// Reads a draft and checks it.
    ///
    /// # Errors
    /// The first key that is not allowed. The error contains its location, the value found, and the values allowed.
    pub fn read(draft: &Draft) -> Result<Self> {
        let top = draft.top();
        let common: Common = top.read()?;
        let tables = top.tables("routes", "route")?;
        let routes = tables.iter().map(RouteConfig::read);
        let mut config = Self {
            routes: routes.collect::<Result<_>>()?,
            admin: common.admin(DEFAULT_ADMIN),
            drain: common.drain_timeout,
            log: top.table("log").read()?,
        };
        draft.finish()?;
        let followers = share_listeners(&tables, &mut config.routes)?;
        let routes = || tables.iter().cloned().zip(&config.routes);
        let names = routes().map(|(at, route)| (at, "name", "", &route.name));
        unique("a name", names)?;
        let first = routes()
            .enumerate()
            .filter(|(index, _)| !followers.contains(index));
        let listens = first.map(|(_, (at, route))| (at, "listen", "", route.listen.clone()));
        unique_addresses(&top, listens, config.admin.as_ref())?;
        Ok(config)
    }

    /// Returns the paths of the files that certificates and keys were read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let of = |route: &RouteConfig| {
            let tls = route.tls.iter().flat_map(ServerTls::files);
            tls.chain(route.replica_tls.files()).collect::<Vec<_>>()
        };
        self.routes.iter().flat_map(of).collect()
    }
}
