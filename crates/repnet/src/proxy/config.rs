//! The configuration of the proxy: a JSON file, flags, or both. Everything is checked before a
//! socket is opened, and every error names the place, the key, what was found and what is allowed.

use crate::settings::{FlowSettings, Pairing, SecondLegFrom, Settings};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tailcut_transport::repnet::Mode;

/// A TCP address. Port 0 lets the kernel choose, for listening only.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{port}"),
            false => write!(f, "{host}:{port}"),
        }
    }
}

/// Which side of a route carries replicated flows; the other one is plain TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// In front of a server.
    In,
    /// Behind a client.
    Out,
}

/// One way through the proxy.
#[derive(Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// Unique; a label in the metrics.
    pub name: String,
    /// Where connections are accepted; with [`Side::In`] also on the replica port.
    pub listen: Endpoint,
    /// Where they go to; with [`Side::Out`] also to the replica port.
    pub to: Endpoint,
    /// Which side is replicated.
    pub replicate: Side,
    /// How flows are replicated.
    pub settings: Settings,
}

impl RouteConfig {
    /// Where it accepts second connections: beside `listen`, with [`Side::In`] only.
    fn replica(&self) -> Option<Endpoint> {
        let next = self.listen.port.checked_add(1);
        let port = self.settings.flow.replica_port.or(next)?;
        let host = self.listen.host.clone();
        (self.replicate == Side::In).then_some(Endpoint { host, port })
    }

    /// Whether both listen on a port of the same number. Port 0 is of nobody.
    pub(super) fn shares_port(&self, other: &Self) -> bool {
        let ports = |route: &Self| {
            let own = Some(route.listen.port).filter(|port| *port != 0);
            let replica = own.and(route.replica()).map(|replica| replica.port);
            [own, replica]
        };
        let others = ports(other);
        let mut own = ports(self).into_iter().flatten();
        own.any(|port| others.contains(&Some(port)))
    }
}

/// The whole configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyConfig {
    /// At least one.
    pub routes: Vec<RouteConfig>,
    /// Where health and metrics are served, if anywhere.
    pub admin: Option<Endpoint>,
    /// How long open flows may go on after a signal to stop.
    pub drain_timeout: Duration,
}

/// Where health and metrics are served unless the configuration says otherwise.
pub const DEFAULT_ADMIN: &str = "127.0.0.1:9464";
/// How long open flows may go on after a signal to stop, unless the configuration says otherwise.
pub const DEFAULT_DRAIN_MS: u64 = 10_000;
const HOUR_MS: u64 = 3_600_000;
const LOOPBACK: &str = "127.0.0.1";

/// Where a value stands, for messages.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    place: &'a str,
    before: &'a str,
}

impl<'a> At<'a> {
    /// In none of the lists of this place.
    pub(super) const fn top(place: &'a str) -> Self {
        Self { place, before: "" }
    }

    pub(super) fn refuse<T>(&self, key: &str, found: Option<&Value>, allowed: &str) -> Result<T> {
        let found = found.map_or_else(|| "absent".to_owned(), Value::to_string);
        let Self { place, before } = self;
        bail!("{place}: \"{before}{key}\" is {found}; allowed: {allowed}")
    }

    fn endpoint(&self, key: &str, found: Option<&Value>, lowest_port: u16) -> Result<Endpoint> {
        let allowed = format!(
            "\"host:port\", \"[ipv6]:port\", or a port of {LOOPBACK}, with a port from \
             {lowest_port} to 65535"
        );
        let text = match found {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(port)) => port.to_string(),
            _ => return self.refuse(key, found, &allowed),
        };
        let (host, port) = text.rsplit_once(':').unwrap_or((LOOPBACK, &text));
        let bracketed = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let is_host = match bracketed {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '[', ']']),
        };
        match port.parse() {
            Ok(port) if is_host && port >= lowest_port => Ok(Endpoint {
                host: bracketed.unwrap_or(host).to_owned(),
                port,
            }),
            _ => self.refuse(key, found, &allowed),
        }
    }

    /// An integer in a range; `None` is "Infinity", where that is allowed.
    pub(super) fn number(
        &self,
        key: &str,
        found: &Value,
        least: u64,
        most: u64,
        is_endless: bool,
    ) -> Result<Option<u64>> {
        let endless = if is_endless { ", or \"Infinity\"" } else { "" };
        match found {
            Value::String(text) if is_endless && text == "Infinity" => Ok(None),
            _ => match found
                .as_u64()
                .filter(|number| (least..=most).contains(number))
            {
                Some(number) => Ok(Some(number)),
                None => {
                    let allowed = format!("an integer from {least} to {most}{endless}");
                    self.refuse(key, Some(found), &allowed)
                }
            },
        }
    }

    fn word<T: Copy>(&self, key: &str, found: &Value, words: &[(&str, T)]) -> Result<T> {
        let known = words.iter().find(|(word, _)| found == word);
        match known {
            Some((_, value)) => Ok(*value),
            None => {
                let words: Vec<String> = words
                    .iter()
                    .map(|(word, _)| format!("\"{word}\""))
                    .collect();
                self.refuse(key, Some(found), &words.join(", "))
            }
        }
    }

    fn flag(&self, key: &str, found: &Value) -> Result<bool> {
        match found.as_bool() {
            Some(flag) => Ok(flag),
            None => self.refuse(key, Some(found), "true or false"),
        }
    }
}

/// The settings of flows, by the names of the npm package.
pub(super) const SETTINGS: [&str; 14] = [
    "mode",
    "pairing",
    "replicaPort",
    "maxBytes",
    "archiveCap",
    "lagCap",
    "legDeadline",
    "confirmTimeout",
    "assumeCapable",
    "fallbackDelay",
    "idleTime",
    "adaptive",
    "secondLegFrom",
    "eager",
];
const WORDS: [&str; 3] = ["mode", "pairing", "secondLegFrom"];
pub(super) const MOST_SAFE: u64 = (1 << 53) - 1;
const LONGEST_MS: u64 = (1 << 31) - 1;

pub(super) fn set(at: At<'_>, settings: &mut FlowSettings, key: &str, found: &Value) -> Result<()> {
    let milliseconds = |most, is_endless| {
        let number = at.number(key, found, 1, most, is_endless)?;
        Ok::<_, anyhow::Error>(number.map(Duration::from_millis))
    };
    let bytes = |least, most| at.number(key, found, least, most, false);
    match key {
        "mode" => {
            let modes = [
                ("repflow", Some(Mode::RepFlow)),
                ("repsyn", Some(Mode::RepSyn)),
                ("off", None),
            ];
            settings.mode = at.word(key, found, &modes)?;
        }
        "pairing" => {
            let pairings = [("hello", Pairing::Hello), ("port", Pairing::Port)];
            settings.pairing = at.word(key, found, &pairings)?;
        }
        "secondLegFrom" => {
            let from = [
                ("same-address", SecondLegFrom::SameAddress),
                ("anywhere", SecondLegFrom::Anywhere),
            ];
            settings.second_leg_from = at.word(key, found, &from)?;
        }
        "replicaPort" => {
            let port = at.number(key, found, 1, 65_535, false)?;
            settings.replica_port = port.and_then(|port| u16::try_from(port).ok());
        }
        "maxBytes" => {
            let most = at.number(key, found, 0, MOST_SAFE, true)?;
            settings.max_bytes = most.unwrap_or(u64::MAX);
        }
        "archiveCap" => settings.archive_cap = bytes(0, 1 << 30)?.unwrap_or_default(),
        "lagCap" => settings.lag_cap = bytes(65_536, 1 << 30)?.unwrap_or_default(),
        "legDeadline" => {
            settings.leg_deadline = milliseconds(LONGEST_MS, false)?.unwrap_or_default()
        }
        "confirmTimeout" => {
            settings.confirm_timeout = milliseconds(60_000, false)?.unwrap_or_default();
        }
        "fallbackDelay" => settings.fallback_delay = milliseconds(LONGEST_MS, true)?,
        "idleTime" => settings.idle_time = milliseconds(LONGEST_MS, true)?,
        "assumeCapable" => settings.assume_capable = at.flag(key, found)?,
        "adaptive" => settings.adaptive = at.flag(key, found)?,
        // A server takes eager flows, whatever this says.
        "eager" if found == &Value::Bool(false) => {}
        "eager" => at.refuse(key, Some(found), "false (this proxy opens no eager flows)")?,
        _ => bail!(
            "{}: \"{}{key}\" is not a setting here; allowed: name, listen, to, replicate, {}",
            at.place,
            at.before,
            SETTINGS.join(", ")
        ),
    }
    Ok(())
}

fn route(place: &str, index: usize, found: &Value, defaults: &Settings) -> Result<RouteConfig> {
    let key = format!("routes[{index}]");
    let Some(fields) = found.as_object() else {
        return At::top(place).refuse(&key, Some(found), "an object");
    };
    let before = format!("{key}.");
    let at = At {
        place,
        before: &before,
    };
    let name = fields.get("name").and_then(Value::as_str).filter(|name| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        (1..=64).contains(&name.len()) && name.chars().all(is_plain)
    });
    let Some(name) = name else {
        return at.refuse(
            "name",
            fields.get("name"),
            "1 to 64 characters of A-Z a-z 0-9 _ . -",
        );
    };
    let mut settings = *defaults;
    for (key, found) in fields {
        if !["name", "listen", "to", "replicate"].contains(&key.as_str()) {
            set(at, &mut settings.flow, key, found)?;
        }
    }
    let replicate = fields.get("replicate");
    Ok(RouteConfig {
        name: name.to_owned(),
        listen: at.endpoint("listen", fields.get("listen"), 0)?,
        to: at.endpoint("to", fields.get("to"), 1)?,
        replicate: match replicate.and_then(Value::as_str) {
            Some("in") => Side::In,
            Some("out") => Side::Out,
            _ => at.refuse("replicate", replicate, "\"in\", \"out\"")?,
        },
        settings,
    })
}

/// Checks a configuration as it comes from JSON. `place` is where it stands; `defaults` holds for what a
/// route does not say.
///
/// # Errors
/// What is not allowed: the place, the key, what was found, and what is allowed.
pub fn parse(place: &str, found: &Value, defaults: &Settings) -> Result<ProxyConfig> {
    let at = At::top(place);
    let Some(fields) = found.as_object() else {
        return at.refuse("(the whole)", Some(found), "an object");
    };
    let unknown = fields
        .iter()
        .find(|(key, _)| !["routes", "admin", "drainTimeout"].contains(&key.as_str()));
    if let Some((key, found)) = unknown {
        return at.refuse(key, Some(found), "only routes, admin and drainTimeout");
    }
    let routes = fields.get("routes");
    let list = routes
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty());
    let Some(list) = list else {
        return at.refuse("routes", routes, "a list of at least one route");
    };
    let list = list.iter().enumerate();
    let routes = list.map(|(index, found)| route(place, index, found, defaults));
    let routes = routes.collect::<Result<Vec<RouteConfig>>>()?;
    let default = json!(DEFAULT_ADMIN);
    let admin = match fields.get("admin") {
        Some(Value::Bool(false)) => None,
        found => Some(at.endpoint("admin", found.or(Some(&default)), 0)?),
    };
    let drain = match fields.get("drainTimeout") {
        Some(found) => at.number("drainTimeout", found, 0, HOUR_MS, false)?,
        None => Some(DEFAULT_DRAIN_MS),
    };
    let config = ProxyConfig {
        routes,
        admin,
        drain_timeout: Duration::from_millis(drain.unwrap_or_default()),
    };
    refuse_collisions(at, &config)?;
    Ok(config)
}

/// Names and listening addresses are unique, the replica ports included.
fn refuse_collisions(at: At<'_>, config: &ProxyConfig) -> Result<()> {
    let mut names = HashMap::new();
    let mut addresses: HashMap<Endpoint, String> = HashMap::new();
    let mut claim = |key: String, endpoint: Endpoint| {
        if endpoint.port == 0 {
            return Ok(());
        }
        if let Some(owner) = addresses.get(&endpoint) {
            let found = json!(endpoint.to_string());
            return at.refuse(
                &key,
                Some(&found),
                &format!("an address that {owner} does not use"),
            );
        }
        addresses.insert(endpoint, key);
        Ok(())
    };
    for (index, route) in config.routes.iter().enumerate() {
        let key = format!("routes[{index}]");
        if let Some(owner) = names.insert(&route.name, key.clone()) {
            let allowed = format!("a name that {owner} does not have");
            return at.refuse(&format!("{key}.name"), Some(&json!(route.name)), &allowed);
        }
        claim(format!("{key}.listen"), route.listen.clone())?;
        if route.replicate == Side::In && route.listen.port != 0 {
            let Some(replica) = route.replica() else {
                let found = json!(route.listen.to_string());
                return at.refuse(
                    &format!("{key}.listen"),
                    Some(&found),
                    "a port up to 65534, or a replicaPort",
                );
            };
            claim(format!("{key}.listen (its replica port)"), replica)?;
        }
    }
    match &config.admin {
        Some(admin) => claim("admin".to_owned(), admin.clone()),
        None => Ok(()),
    }
}

/// The value of a setting that was given as text, in JSON's shape.
pub(super) fn value_of_text(key: &str, text: &str) -> Value {
    match (text.parse::<u64>(), text) {
        _ if WORDS.contains(&key) => json!(text),
        (Ok(number), _) => json!(number),
        (_, "true") => json!(true),
        (_, "false") => json!(false),
        _ => json!(text),
    }
}

/// `name=redis,listen=127.0.0.1:6379,...` as one route in JSON's shape.
///
/// # Errors
/// A part that is not `name=value`.
pub fn route_of_flag(text: &str, number: usize) -> Result<Value> {
    let mut fields = Map::new();
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!("command line: \"--route (number {number})\" is {part:?}; allowed: name=value");
        };
        let parsed = match SETTINGS.contains(&key) {
            true => value_of_text(key, value),
            false => json!(value),
        };
        fields.insert(key.to_owned(), parsed);
    }
    Ok(Value::Object(fields))
}
