//! The configuration of the proxy: a JSON file, flags, or both. Everything is checked before a
//! socket is opened, and every error names the place, the key, what was found and what is allowed.

use crate::settings::{FlowSettings, Pairing, SecondLegFrom, Settings};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tailcut_proxy::{Endpoint, PORTS, Place};
use tailcut_transport::repnet::Mode;

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

pub(super) fn set(
    at: Place<'_>,
    settings: &mut FlowSettings,
    key: &str,
    found: &Value,
) -> Result<()> {
    let milliseconds = |most| at.number(key, found, 1..=most).map(Duration::from_millis);
    let or_endless = || {
        let number = at.number_or_endless(key, found, 1..=LONGEST_MS)?;
        Ok::<_, anyhow::Error>(number.map(Duration::from_millis))
    };
    let bytes = |least, most| at.number(key, found, least..=most);
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
            let port = at.number(key, found, 1..=65_535)?;
            settings.replica_port = u16::try_from(port).ok();
        }
        "maxBytes" => {
            let most = at.number_or_endless(key, found, 0..=MOST_SAFE)?;
            settings.max_bytes = most.unwrap_or(u64::MAX);
        }
        "archiveCap" => settings.archive_cap = bytes(0, 1 << 30)?,
        "lagCap" => settings.lag_cap = bytes(65_536, 1 << 30)?,
        "legDeadline" => settings.leg_deadline = milliseconds(LONGEST_MS)?,
        "confirmTimeout" => settings.confirm_timeout = milliseconds(60_000)?,
        "fallbackDelay" => settings.fallback_delay = or_endless()?,
        "idleTime" => settings.idle_time = or_endless()?,
        "assumeCapable" => settings.assume_capable = at.flag(key, found)?,
        "adaptive" => settings.adaptive = at.flag(key, found)?,
        // A server takes eager flows, whatever this says.
        "eager" if found == &Value::Bool(false) => {}
        "eager" => at.refuse(key, Some(found), "false (this proxy opens no eager flows)")?,
        _ => bail!(
            "{}: \"{}{key}\" is not a setting here; allowed: name, listen, to, replicate, {}",
            at.file,
            at.before,
            SETTINGS.join(", ")
        ),
    }
    Ok(())
}

fn route(top: Place<'_>, index: usize, found: &Value, defaults: &Settings) -> Result<RouteConfig> {
    let key = format!("routes[{index}]");
    let Some(fields) = found.as_object() else {
        return top.refuse(&key, Some(found), "an object");
    };
    let before = format!("{key}.");
    let at = top.table(&before);
    let name = at.name("name", fields.get("name"))?;
    let mut settings = *defaults;
    for (key, found) in fields {
        if !["name", "listen", "to", "replicate"].contains(&key.as_str()) {
            set(at, &mut settings.flow, key, found)?;
        }
    }
    let replicate = fields.get("replicate");
    Ok(RouteConfig {
        name: name.to_owned(),
        listen: at.endpoint("listen", fields.get("listen"), 0..=65_535)?,
        to: at.endpoint("to", fields.get("to"), PORTS)?,
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
    let at = Place::top(place);
    let Some(fields) = found.as_object() else {
        return at.refuse("(the whole)", Some(found), "an object");
    };
    let unknown = fields
        .iter()
        .find(|(key, _)| !["routes", "admin", "drainTimeout"].contains(&key.as_str()));
    if let Some((key, found)) = unknown {
        return at.refuse(key, Some(found), "only routes, admin and drainTimeout");
    }
    let list = at.list("routes", fields.get("routes"), "route")?;
    let list = list.iter().enumerate();
    let routes = list.map(|(index, found)| route(at, index, found, defaults));
    let routes = routes.collect::<Result<Vec<RouteConfig>>>()?;
    let default = json!(DEFAULT_ADMIN);
    let admin = match fields.get("admin") {
        Some(Value::Bool(false)) => None,
        found => Some(at.endpoint("admin", found.or(Some(&default)), 0..=65_535)?),
    };
    let drain = match fields.get("drainTimeout") {
        Some(found) => at.number("drainTimeout", found, 0..=HOUR_MS)?,
        None => DEFAULT_DRAIN_MS,
    };
    let config = ProxyConfig {
        routes,
        admin,
        drain_timeout: Duration::from_millis(drain),
    };
    refuse_collisions(at, &config)?;
    Ok(config)
}

/// Names and listening addresses are unique, the replica ports included.
fn refuse_collisions(at: Place<'_>, config: &ProxyConfig) -> Result<()> {
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
