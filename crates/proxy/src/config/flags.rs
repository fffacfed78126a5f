//! Flags and keys that guard, gateway and proxy share.

use super::draft::Draft;
use super::values::{Scalar, scalar, time};
use crate::endpoint::Endpoint;
use anyhow::Result;
use clap::{Arg, Args};
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of every proxy. Each has the key of its name.
#[derive(Args, Clone, Default, Debug)]
#[group(skip)]
pub struct Flags {
    /// A file in TOML, or in JSON with the names of npm's repnet-proxy; docs/configuration.md has its keys
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any key that has one value, such as drain_timeout=1m; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where health and metrics are served; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_admin")]
    pub admin: Option<String>,
    /// Serve no health and no metrics
    #[arg(long)]
    pub no_admin: bool,
    /// How long open work may go on at the end [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub drain_timeout: Option<String>,
    /// Check the configuration and leave
    #[arg(long)]
    pub check: bool,
}

impl Flags {
    /// Shows the default address of `--admin` in the help.
    pub fn admin_help(flag: Arg, default: &str) -> Arg {
        flag.help(format!(
            "Where health and metrics are served; a port alone is one of 127.0.0.1 [default: {default}]"
        ))
    }

    /// Returns the file's draft.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn draft(&self) -> Result<Draft> {
        Draft::new(self.config.as_deref())
    }

    /// Sets the keys of these flags, `--set` last.
    ///
    /// # Errors
    /// A text of `--set` that names no key.
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

/// Keys at the top of every configuration.
#[derive(Deserialize, Debug)]
#[serde(default)]
pub struct Common {
    #[serde(deserialize_with = "admin")]
    admin: Option<Option<Endpoint>>,
    /// How long open work may go on after a signal to stop, 0 to 1 h.
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
        ["admin", "drain_timeout"].contains(&key)
    }

    /// Returns where health and metrics are served, if anywhere.
    pub fn admin(&self, default: &str) -> Option<Endpoint> {
        match &self.admin {
            Some(admin) => admin.clone(),
            None => Endpoint::parse(default, &(0..=u16::MAX)),
        }
    }
}
