//! Flags and keys that guard, gateway and proxy share.

use super::draft::Draft;
use super::values::{Scalar, scalar, time};
use crate::endpoint::Endpoint;
use anyhow::Result;
use clap::{Arg, Args};
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of all proxies. Each flag sets the key with the same name.
#[derive(Args, Clone, Default, Debug)]
#[group(skip)]
pub struct Flags {
    /// Configuration file in TOML, or in JSON with the keys of npm's repnet-proxy (see docs/configuration.md)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a key that has a single value, such as drain_timeout=1m; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Address for health and metrics; a port without a host means 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_admin")]
    pub admin: Option<String>,
    /// Do not serve health and metrics
    #[arg(long)]
    pub no_admin: bool,
    /// Time limit for open work after a signal to stop [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drain_timeout: Option<String>,
    /// Check the configuration and exit
    #[arg(long)]
    pub check: bool,
}

impl Flags {
    /// Adds the default address of `--admin` to its help text.
    pub fn admin_help(flag: Arg, default: &str) -> Arg {
        flag.help(format!(
            "Address for health and metrics; a port without a host means 127.0.0.1 [default: {default}]"
        ))
    }

    /// Reads the configuration file. Without a file the draft is empty.
    ///
    /// # Errors
    /// The file cannot be read, or it is neither TOML nor JSON.
    pub fn draft(&self) -> Result<Draft> {
        Draft::new(self.config.as_deref())
    }

    /// Sets the keys of these flags. `--set` is applied last, so it overrides the other flags.
    ///
    /// # Errors
    /// A text of `--set` does not name a key.
    pub fn apply(&self, draft: &mut Draft) -> Result<()> {
        let admin = if self.no_admin {
            Some("false")
        } else {
            self.admin.as_deref()
        };
        draft.flag("admin", admin)?;
        draft.flag("drain_timeout", self.drain_timeout.as_deref())?;
        self.set.iter().try_for_each(|text| draft.set(text))
    }
}

/// Top-level keys of all configurations.
#[derive(Deserialize, Debug)]
#[serde(default)]
pub struct Common {
    /// Address for health and metrics. Outer `None`: the key is absent. Inner `None`: the value of the key is `false`.
    #[serde(deserialize_with = "admin")]
    admin: Option<Option<Endpoint>>,
    /// Time limit for open work after a signal to stop, 0 to 1 h.
    #[serde(deserialize_with = "time::<0, 3_600_000, _>")]
    pub drain_timeout: Duration,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            admin: None,
            drain_timeout: Duration::from_secs(10),
        }
    }
}

fn admin<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Endpoint>>, D::Error> {
    let ports = 0..=u16::MAX;
    let allowed = format!("{}; or false", Endpoint::allowed(&ports));
    scalar(from, allowed, |found| match found {
        Scalar::Flag(false) => Some(Some(None)),
        Scalar::Count(port) => Some(Some(Some(Endpoint::parse(&port.to_string(), &ports)?))),
        Scalar::Text(text) => Some(Some(Some(Endpoint::parse(text, &ports)?))),
        _ => None,
    })
}

impl Common {
    pub(super) fn has(key: &str) -> bool {
        ["admin", "drain_timeout", "log"].contains(&key)
    }

    /// Returns the address for health and metrics, or `None` if they are not served.
    pub fn admin(&self, default: &str) -> Option<Endpoint> {
        match &self.admin {
            Some(admin) => admin.clone(),
            None => Endpoint::parse(default, &(0..=u16::MAX)),
        }
    }
}
