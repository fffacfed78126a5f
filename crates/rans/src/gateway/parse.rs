//! A gateway's configuration from TOML. Everything is checked, and every file read, before a socket is opened.

use super::config::{
    Check, Duplicates, Forwarded, GatewayConfig, Limits, ReplicaConfig, ReplicaTls, RouteConfig,
    ServerTls, Times,
};
use crate::client::{Methods, Purges};
use crate::ranges::Verify;
use crate::ways::Protocol;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailcut_proxy::tls::{Client, Identity, server, server_name};
use tailcut_proxy::{Endpoint, PORTS, Place};

/// Where health and metrics are served unless the configuration says otherwise.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9466";
/// How long open requests may go on after a signal to stop, unless the configuration says otherwise.
pub(super) const DEFAULT_DRAIN: Duration = Duration::from_secs(10);
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const ANY_PORT: RangeInclusive<u16> = 0..=65_535;

const TOP: [&str; 3] = ["routes", "admin", "drain_timeout"];
const ROUTE: [&str; 26] = [
    "name",
    "listen",
    "replicas",
    "protocol",
    "purges",
    "duplicates",
    "elsewhere",
    "percentile",
    "budget",
    "methods",
    "ranges",
    "verify",
    "replay",
    "whole",
    "connect_timeout",
    "answer_timeout",
    "idle_timeout",
    "linger",
    "resolve",
    "forwarded",
    "via",
    "tell_copies",
    "tls",
    "replica_tls",
    "check",
    "limits",
];

/// A text in TOML as a value.
///
/// # Errors
/// What is no TOML, with its line.
pub fn document(file: &str, text: &str) -> Result<Value> {
    match toml::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => bail!("{file} is not TOML: {}", error.to_string().trim_end()),
    }
}

/// Checks a configuration. `file` is where it stands; paths in it are relative to `folder`.
///
/// # Errors
/// What is not allowed: the place, the key, what was found, and what is allowed.
pub fn parse(file: &str, folder: &Path, found: &Value) -> Result<GatewayConfig> {
    let top = Place::top(file);
    let fields = top.fields("(the whole)", found)?;
    top.only(fields, &TOP)?;
    let mut files = Files {
        folder,
        read: Vec::new(),
    };
    let list = top.list("routes", fields.get("routes"), "route")?;
    let mut routes = Vec::new();
    for (index, found) in list.iter().enumerate() {
        routes.push(route(top, index, found, &mut files)?);
    }
    let default = json!(DEFAULT_ADMIN);
    let admin = match fields.get("admin") {
        Some(Value::Bool(false)) => None,
        found => Some(top.endpoint("admin", found.or(Some(&default)), ANY_PORT)?),
    };
    let drain = match fields.get("drain_timeout") {
        Some(found) => top.time("drain_timeout", found, Duration::ZERO..=HOUR)?,
        None => DEFAULT_DRAIN,
    };
    let config = GatewayConfig {
        routes,
        admin,
        drain,
        files: files.read,
    };
    refuse_collisions(top, &config)?;
    Ok(config)
}

/// Files that a configuration names.
struct Files<'a> {
    folder: &'a Path,
    read: Vec<PathBuf>,
}

impl Files<'_> {
    fn read(&mut self, at: Place<'_>, key: &str, found: &Value) -> Result<Vec<u8>> {
        let text = at.text(key, Some(found), "the path of a file in PEM")?;
        let path = self.folder.join(text);
        match std::fs::read(&path) {
            Ok(bytes) => {
                self.read.push(path);
                Ok(bytes)
            }
            Err(error) => {
                let allowed = format!("the path of a file in PEM ({}: {error})", path.display());
                at.refuse(key, Some(found), &allowed)
            }
        }
    }

    /// A certificate and its key; both or none.
    fn identity(&mut self, at: Place<'_>, fields: &Map<String, Value>) -> Result<Option<Identity>> {
        match (fields.get("certificate"), fields.get("key")) {
            (Some(certificates), Some(key)) => Ok(Some(Identity {
                certificates: self.read(at, "certificate", certificates)?,
                key: self.read(at, "key", key)?,
            })),
            (None, None) => Ok(None),
            (None, _) => at.refuse("certificate", None, "a file in PEM, where there is a key"),
            (_, None) => at.refuse("key", None, "a file in PEM, where there is a certificate"),
        }
    }
}

fn route(
    top: Place<'_>,
    index: usize,
    found: &Value,
    files: &mut Files<'_>,
) -> Result<RouteConfig> {
    let key = format!("routes[{index}]");
    let fields = top.fields(&key, found)?;
    let before = format!("{key}.");
    let at = top.table(&before);
    at.only(fields, &ROUTE)?;
    let get = |key: &str| fields.get(key);
    let name = at
        .name("name", get("name").or(Some(&json!("gateway"))))?
        .to_owned();
    let listen = at.endpoint("listen", get("listen"), ANY_PORT)?;
    let list = at.list("replicas", get("replicas"), "replica")?;
    let mut replicas = Vec::new();
    for (index, found) in list.iter().enumerate() {
        let one = replica(at, &format!("replicas[{index}]"), found)?;
        if replicas.contains(&one) {
            return at.refuse(
                &format!("replicas[{index}]"),
                Some(found),
                "each replica once",
            );
        }
        replicas.push(one);
    }
    let protocols = [("http1", Protocol::One), ("http2", Protocol::Two)];
    let protocol = match get("protocol") {
        Some(found) => at.word("protocol", found, &protocols)?,
        None => Protocol::One,
    };
    let purging = [
        ("learn", Purges::Learn),
        ("yes", Purges::Yes),
        ("no", Purges::No),
    ];
    let purges = match get("purges") {
        Some(found) => at.word("purges", found, &purging)?,
        None => Purges::Learn,
    };
    let whens = [
        ("at-once", Duplicates::AtOnce),
        ("after-percentile", Duplicates::AfterPercentile),
        ("off", Duplicates::Off),
    ];
    let when = |key: &str, default| match get(key) {
        Some(found) => at.word(key, found, &whens),
        None => Ok(default),
    };
    let groups = [
        ("safe", Methods::Safe),
        ("idempotent", Methods::Idempotent),
        ("all", Methods::All),
    ];
    let digests = [
        ("off", Verify::Off),
        ("offered", Verify::Offered),
        ("required", Verify::Required),
    ];
    let words = [
        ("off", Forwarded::Off),
        ("x-forwarded", Forwarded::XForwarded),
        ("forwarded", Forwarded::Standard),
    ];
    let flag = |key: &str, default| match get(key) {
        Some(found) => at.flag(key, found),
        None => Ok(default),
    };
    let config = RouteConfig {
        name,
        listen,
        tls: server_tls(at, get("tls"), files)?,
        protocol,
        replica_tls: replica_tls(at, get("replica_tls"), &replicas, protocol, files)?,
        replicas,
        purges,
        duplicates: when("duplicates", Duplicates::AtOnce)?,
        elsewhere: when("elsewhere", Duplicates::AfterPercentile)?,
        percentile: match get("percentile") {
            Some(found) => thousandths(at, "percentile", found, 1..=999)? as u16,
            None => 950,
        },
        budget: match get("budget") {
            Some(found) => thousandths(at, "budget", found, 0..=1_000)?,
            None => 100,
        },
        methods: match get("methods") {
            Some(found) => at.word("methods", found, &groups)?,
            None => Methods::Safe,
        },
        ranges: match get("ranges") {
            None | Some(Value::Bool(false)) => None,
            Some(found) => Some(at.size("ranges", found, 64 << 10..=1 << 30)?),
        },
        verify: match (get("verify"), get("ranges")) {
            (None, _) => Verify::Off,
            (Some(found), None | Some(Value::Bool(false))) => {
                return at.refuse("verify", Some(found), "nothing where ranges is off");
            }
            (Some(found), _) => at.word("verify", found, &digests)?,
        },
        times: times(at, fields)?,
        limits: limits(at, fields)?,
        check: check(at, get("check"))?,
        forwarded: match get("forwarded") {
            Some(found) => at.word("forwarded", found, &words)?,
            None => Forwarded::Off,
        },
        via: flag("via", true)?,
        tells_copies: flag("tell_copies", true)?,
    };
    Ok(config)
}

/// A number of per cent, with a decimal at most.
fn thousandths(at: Place<'_>, key: &str, found: &Value, range: RangeInclusive<u32>) -> Result<u32> {
    let read = found.as_f64().map(|percent| percent * 10.0);
    let whole = read.filter(|thousandths| (thousandths - thousandths.round()).abs() < 1e-6);
    match whole.map(|thousandths| thousandths.round() as u32) {
        Some(thousandths) if range.contains(&thousandths) => Ok(thousandths),
        _ => {
            let [least, most] = [range.start(), range.end()].map(|end| f64::from(*end) / 10.0);
            let allowed = format!("a number of per cent from {least} to {most}, in steps of 0.1");
            at.refuse(key, Some(found), &allowed)
        }
    }
}

fn replica(at: Place<'_>, key: &str, found: &Value) -> Result<ReplicaConfig> {
    let text = match found {
        Value::String(text) => text.clone(),
        Value::Number(port) => port.to_string(),
        _ => String::new(),
    };
    let (is_https, rest) = match text.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some(_) => (false, ""),
        None => (false, text.as_str()),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    // A host alone has the port of its scheme.
    let has_port = rest
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.contains(']'));
    let is_port = rest.parse::<u16>().is_ok();
    let whole = match has_port || is_port || rest.is_empty() {
        true => rest.to_owned(),
        false => format!("{rest}:{}", if is_https { 443 } else { 80 }),
    };
    match Endpoint::parse(&whole, &PORTS) {
        Ok(to) => Ok(ReplicaConfig { is_https, to }),
        Err(_) => at.refuse(
            key,
            Some(found),
            "http://HOST:PORT, https://HOST:PORT, HOST:PORT, or a port of 127.0.0.1; no path",
        ),
    }
}

fn server_tls(
    at: Place<'_>,
    found: Option<&Value>,
    files: &mut Files<'_>,
) -> Result<Option<ServerTls>> {
    let Some(found) = found else {
        return Ok(None);
    };
    let fields = at.fields("tls", found)?;
    let before = format!("{}tls.", at.before);
    let inner = at.table(&before);
    inner.only(fields, &["certificate", "key", "client_ca"])?;
    let Some(identity) = files.identity(inner, fields)? else {
        return inner.refuse("certificate", None, "a file in PEM");
    };
    let client_ca = match fields.get("client_ca") {
        Some(found) => Some(files.read(inner, "client_ca", found)?),
        None => None,
    };
    match server(&identity, client_ca.as_deref()) {
        Ok(_) => Ok(Some(ServerTls {
            identity,
            client_ca,
        })),
        Err(error) => at.refuse(
            "tls",
            Some(found),
            &format!("files that TLS can use ({error:#})"),
        ),
    }
}

fn replica_tls(
    at: Place<'_>,
    found: Option<&Value>,
    replicas: &[ReplicaConfig],
    protocol: Protocol,
    files: &mut Files<'_>,
) -> Result<ReplicaTls> {
    let mut tls = ReplicaTls::default();
    let none = json!({});
    let fields = at.fields("replica_tls", found.unwrap_or(&none))?;
    let before = format!("{}replica_tls.", at.before);
    let inner = at.table(&before);
    inner.only(fields, &["ca", "server_name", "certificate", "key"])?;
    if let Some(found) = fields.get("ca") {
        tls.ca = Some(files.read(inner, "ca", found)?);
    }
    if let Some(found) = fields.get("server_name") {
        let allowed = "a host's name or an address";
        let name = inner.text("server_name", Some(found), allowed)?;
        if server_name(name).is_err() {
            return inner.refuse("server_name", Some(found), allowed);
        }
        tls.server_name = Some(name.to_owned());
    }
    tls.identity = files.identity(inner, fields)?;
    let is_used = replicas.iter().any(|replica| replica.is_https);
    if found.is_some() && !is_used {
        return at.refuse(
            "replica_tls",
            found,
            "only with replicas that are https://...",
        );
    }
    if is_used {
        let client = Client::new(
            tls.ca.as_deref(),
            tls.identity.as_ref(),
            protocol == Protocol::Two,
        );
        if let Err(error) = client {
            return at.refuse(
                "replica_tls",
                found,
                &format!("files that TLS can use ({error:#})"),
            );
        }
    }
    Ok(tls)
}

fn times(at: Place<'_>, fields: &Map<String, Value>) -> Result<Times> {
    let default = Times::default();
    let time = |key: &str, default, range| match fields.get(key) {
        Some(found) => at.time(key, found, range),
        None => Ok(default),
    };
    Ok(Times {
        connect: time("connect_timeout", default.connect, MS..=HOUR)?,
        answer: time("answer_timeout", default.answer, MS..=24 * HOUR)?,
        idle: time("idle_timeout", default.idle, MS..=HOUR)?,
        linger: time("linger", default.linger, Duration::ZERO..=HOUR)?,
        resolve: time("resolve", default.resolve, 10 * MS..=24 * HOUR)?,
    })
}

fn limits(route: Place<'_>, fields: &Map<String, Value>) -> Result<Limits> {
    let mut limits = Limits::default();
    for (key, bytes) in [("replay", &mut limits.replay), ("whole", &mut limits.whole)] {
        if let Some(found) = fields.get(key) {
            *bytes = route.size(key, found, 0..=64 << 20)?;
        }
    }
    let none = json!({});
    let found = fields.get("limits").unwrap_or(&none);
    let fields = route.fields("limits", found)?;
    let before = format!("{}limits.", route.before);
    let at = route.table(&before);
    let front = &mut limits.front;
    at.only(
        fields,
        &[
            "connections",
            "streams",
            "head",
            "body",
            "pending",
            "head_timeout",
            "idle_timeout",
            "stall_timeout",
        ],
    )?;
    for (key, number, most) in [
        ("connections", &mut front.connections, 1_000_000),
        ("streams", &mut front.streams, 10_000),
        ("pending", &mut limits.pending, 1_000_000),
    ] {
        if let Some(found) = fields.get(key) {
            *number = at.number(key, found, 1..=most)? as u32;
        }
    }
    if let Some(found) = fields.get("head") {
        front.head_bytes = at.size("head", found, 8 << 10..=16 << 20)? as u32;
    }
    if let Some(found) = fields.get("body") {
        limits.body = at.size("body", found, 0..=1 << 50)?;
    }
    for (key, time) in [
        ("head_timeout", &mut front.head_time),
        ("idle_timeout", &mut front.idle_time),
        ("stall_timeout", &mut front.stall_time),
    ] {
        if let Some(found) = fields.get(key) {
            *time = at.time(key, found, MS..=24 * HOUR)?;
        }
    }
    Ok(limits)
}

fn check(route: Place<'_>, found: Option<&Value>) -> Result<Option<Check>> {
    let Some(found) = found else {
        return Ok(None);
    };
    let fields = route.fields("check", found)?;
    let before = format!("{}check.", route.before);
    let at = route.table(&before);
    at.only(fields, &["path", "interval", "timeout", "fall", "rise"])?;
    let path = at.text("path", fields.get("path"), "a path such as \"/healthz\"")?;
    if !path.starts_with('/') || path.parse::<http::uri::PathAndQuery>().is_err() {
        return at.refuse("path", fields.get("path"), "a path such as \"/healthz\"");
    }
    let time = |key: &str, default: Duration| match fields.get(key) {
        Some(found) => at.time(key, found, 10 * MS..=HOUR),
        None => Ok(default),
    };
    let count = |key: &str, default: u32| match fields.get(key) {
        Some(found) => at.number(key, found, 1..=100).map(|count| count as u32),
        None => Ok(default),
    };
    Ok(Some(Check {
        path: path.to_owned(),
        every: time("interval", Duration::from_secs(5))?,
        time: time("timeout", Duration::from_secs(2))?,
        fall: count("fall", 3)?,
        rise: count("rise", 2)?,
    }))
}

/// Names and listening addresses are unique.
fn refuse_collisions(at: Place<'_>, config: &GatewayConfig) -> Result<()> {
    let mut names = HashMap::new();
    let mut addresses = HashMap::new();
    for (index, route) in config.routes.iter().enumerate() {
        let key = format!("routes[{index}]");
        if let Some(owner) = names.insert(&route.name, key.clone()) {
            let allowed = format!("a name that {owner} does not have");
            return at.refuse(&format!("{key}.name"), Some(&json!(route.name)), &allowed);
        }
        let listen = &route.listen;
        if listen.port != 0
            && let Some(owner) = addresses.insert(listen, key.clone())
        {
            let allowed = format!("an address that {owner} does not use");
            return at.refuse(
                &format!("{key}.listen"),
                Some(&json!(listen.to_string())),
                &allowed,
            );
        }
    }
    match &config.admin {
        Some(admin) if admin.port != 0 => match addresses.get(admin) {
            Some(owner) => {
                let allowed = format!("an address that {owner} does not use");
                at.refuse("admin", Some(&json!(admin.to_string())), &allowed)
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
