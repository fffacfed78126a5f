//! Configuration of the proxy. All values are checked before a socket is opened.

use crate::settings::Settings;
use anyhow::{Result, bail};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;
use tailcut_proxy::Endpoint;
use tailcut_proxy::config::{
    Common, Draft, Table, count, keys, name, target, unique, unique_addresses,
};
use tailcut_proxy::tls::ServerTls;

/// Address of the admin server (health and metrics), unless the configuration contains another one.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9464";

/// Side of a route that uses replicated flows. The other side is plain TCP.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The proxy is in front of a server.
    In,
    /// The proxy is behind a client.
    Out,
}

/// Limits of a route.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct Limits {
    /// Largest number of open flows, 1 to 1,000,000. Further flows wait until they are accepted.
    #[serde(deserialize_with = "count::<1, 1_000_000, _, _>")]
    pub connections: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_000_000,
        }
    }
}

/// Route through the proxy.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct RouteConfig {
    /// Name of the route. It is unique, and a label of the metrics.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Address of the listener. With [`Side::In`] the route also listens on the replica port.
    pub listen: Endpoint,
    /// Address of the target. With [`Side::Out`] the route also connects to the replica port.
    #[serde(deserialize_with = "target")]
    pub to: Endpoint,
    /// Side that uses replicated flows.
    pub replicate: Side,
    /// TLS certificate and key of the listener. The target receives decrypted bytes.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// Limits of the route.
    #[serde(skip)]
    pub limits: Limits,
    /// Settings of replicated flows.
    #[serde(skip)]
    pub settings: Settings,
}

/// Key that has a meaning only in the npm package. A server accepts eager flows with any value.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Eager {
    eager: bool,
}

impl RouteConfig {
    fn read(at: &Table<'_>) -> Result<Self> {
        let mut route: Self = at.read()?;
        route.limits = at.table("limits").read()?;
        route.settings = at.read()?;
        route.settings.flow = at.read()?;
        route.settings.liveness = at.read()?;
        if let Err(wrong) = route.settings.validate() {
            return Err(at.refuse(wrong.key, wrong.allowed));
        }
        if at.read::<Eager>()?.eager {
            return Err(at.refuse("eager", "false (this proxy opens no eager flows)"));
        }
        if let Some(tls) = &route.tls {
            tls.check(at)?;
        }
        if route.replicate == Side::In && route.listen.port != 0 && route.replica().is_none() {
            return Err(at.refuse("listen", "a port up to 65534, or a replica_port"));
        }
        Ok(route)
    }

    /// Returns the address of the listener for second connections. Only [`Side::In`] has one.
    fn replica(&self) -> Option<Endpoint> {
        let next = self.listen.port.checked_add(1);
        let port = self.settings.flow.replica_port.or(next)?;
        let host = self.listen.host.clone();
        (self.replicate == Side::In).then_some(Endpoint { host, port })
    }

    /// Returns whether both routes listen on the same port number. Port 0 never counts as the same.
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

/// Configuration of the whole proxy.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyConfig {
    /// Routes, at least one.
    pub routes: Vec<RouteConfig>,
    /// Address of the admin server for health and metrics. `None`: it does not run.
    pub admin: Option<Endpoint>,
    /// Longest time that open flows may continue after a signal to stop.
    pub drain_timeout: Duration,
}

impl ProxyConfig {
    /// Reads a draft and checks it.
    ///
    /// # Errors
    /// The first key that is not allowed. The error contains its location, the value found, and the values allowed.
    pub fn read(draft: &Draft) -> Result<Self> {
        let top = draft.top();
        let common: Common = top.read()?;
        let tables = top.tables("routes", "route")?;
        let routes = tables.iter().map(RouteConfig::read);
        let config = Self {
            routes: routes.collect::<Result<_>>()?,
            admin: common.admin(DEFAULT_ADMIN),
            drain_timeout: common.drain_timeout,
        };
        draft.finish()?;
        let routes = || tables.iter().cloned().zip(&config.routes);
        let names = routes().map(|(at, route)| (at, "name", "", &route.name));
        unique("a name", names)?;
        let listens = routes().flat_map(|(at, route)| {
            let replica = route.replica().filter(|_| route.listen.port != 0);
            let second = replica.map(|to| (at.clone(), "listen", " (its replica port)", to));
            let first = (at, "listen", "", route.listen.clone());
            std::iter::once(first).chain(second)
        });
        unique_addresses(&top, listens, config.admin.as_ref())?;
        Ok(config)
    }

    /// Returns the paths of the files that certificates and keys were read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let tls = self.routes.iter().filter_map(|route| route.tls.as_ref());
        tls.flat_map(ServerTls::files).collect()
    }
}

/// Adds a route from a flag such as `name=redis,listen=127.0.0.1:6379,...`.
///
/// # Errors
/// A part of the text is not `name=value`.
pub fn add_route(draft: &mut Draft, text: &str, number: usize) -> Result<()> {
    let mut keys = Vec::new();
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!("command line: \"--route (number {number})\" is {part:?}; allowed: name=value");
        };
        keys.push((key, value));
    }
    draft.route(keys, true);
    Ok(())
}

/// Fills in missing keys of each route from the `REPNET_*` variables, as the npm package does.
/// The variable of `max_bytes` is `REPNET_MAX_BYTES`. `variable` returns the value of a variable.
/// An empty value is ignored.
pub fn add_environment(draft: &mut Draft, variable: impl Fn(&str) -> Option<String>) {
    for key in keys::<Settings>()
        .into_iter()
        .chain(keys::<crate::settings::FlowSettings>())
    {
        let name = format!("REPNET_{}", key.to_ascii_uppercase());
        if let Some(text) = variable(&name).filter(|text| !text.is_empty()) {
            draft.default(&format!("environment, {name}"), key, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_transport::repnet::Mode;

    fn read(given: &[(&str, &str)]) -> Result<Settings> {
        let mut draft = Draft::new(None)?;
        add_route(&mut draft, "name=a,listen=0,to=1,replicate=in", 1)?;
        add_environment(&mut draft, |name| {
            let found = given.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        });
        Ok(ProxyConfig::read(&draft)?.routes[0].settings)
    }

    #[test]
    fn each_variable_sets_what_it_names_and_an_empty_one_nothing() {
        let settings = read(&[
            ("REPNET_MODE", "repsyn"),
            ("REPNET_MAX_BYTES", "Infinity"),
            ("REPNET_ASSUME_CAPABLE", "true"),
            ("REPNET_TOMBSTONE_LIMIT", "7"),
            ("REPNET_LEG_DEADLINE", "20"),
            ("REPNET_BUDGET", "0.25"),
            ("REPNET_INCAST_LIMIT", "Infinity"),
            ("REPNET_HELLO_TIMEOUT", ""),
        ])
        .expect("allowed");
        let default = Settings::default();
        assert_eq!(settings.flow.mode, Some(Mode::RepSyn));
        assert_eq!(settings.flow.max_bytes, u64::MAX);
        assert!(settings.flow.assume_capable);
        assert_eq!((settings.tombstone_limit, settings.budget), (7, 0.25));
        assert_eq!(settings.flow.leg_deadline, Duration::from_millis(20));
        assert_eq!(settings.incast_limit, u64::MAX);
        assert_eq!(settings.hello_timeout, default.hello_timeout);
        assert_eq!(settings.flow.lag_cap, default.flow.lag_cap);
    }

    #[test]
    fn a_value_that_is_not_allowed_is_named_with_its_variable() {
        for (name, text, message) in [
            (
                "REPNET_MAX_BYTES",
                "many",
                "environment, REPNET_MAX_BYTES: \"routes[0].max_bytes\" is \"many\"; allowed: bytes from 0, a \
                 number or with a unit, such as \"100KB\" (10^5) or \"64KiB\" (2^16); or \"Infinity\"",
            ),
            (
                "REPNET_BUDGET",
                "2",
                "environment, REPNET_BUDGET: \"routes[0].budget\" is 2; allowed: 0 to 1",
            ),
            (
                "REPNET_TOMBSTONE_TIME",
                "0",
                "environment, REPNET_TOMBSTONE_TIME: \"routes[0].tombstone_time\" is 0; allowed: 1 ms to \
                 2147483647 ms",
            ),
        ] {
            let error = read(&[(name, text)]).expect_err("not allowed");
            assert_eq!(error.to_string(), message);
        }
    }
}
