//! The configuration of `tailcut guard`.

use crate::guard::GuardConfig;
use crate::socket::ClassMarks;
use anyhow::Result;
use serde::Deserialize;
use std::time::Duration;
use tailcut_proxy::Endpoint;
use tailcut_proxy::config::{Common, Draft, target, unique_addresses};
use tailcut_proxy::http::Limits;
use tailcut_proxy::tls::ServerTls;
use tailcut_units::quantity::allowed;

/// Where health and metrics are served unless the configuration says otherwise.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9465";
/// Requests on one HTTP/2 connection at once, unless the configuration says otherwise.
const DEFAULT_STREAMS: u32 = 1_000;

/// A guard with its listener and its service.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct ProgramConfig {
    /// Where requests are accepted.
    pub listen: Endpoint,
    /// The service, with HTTP/1.1.
    #[serde(deserialize_with = "target")]
    pub to: Endpoint,
    /// DSCP of packets to clients.
    #[serde(default)]
    pub dscp: ClassMarks,
    /// TLS of the listener.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// The guard.
    #[serde(skip)]
    pub guard: GuardConfig,
    /// Limits of the listener.
    #[serde(skip)]
    pub limits: Limits,
    /// Where health and metrics are served, if anywhere.
    #[serde(skip)]
    pub admin: Option<Endpoint>,
    /// How long open requests may go on after a signal to stop.
    #[serde(skip)]
    pub drain: Duration,
}

impl ProgramConfig {
    /// Reads and checks a draft.
    ///
    /// # Errors
    /// The first key that is not allowed: its place, the value found, and the values allowed.
    pub fn read(draft: &Draft) -> Result<Self> {
        let top = draft.top();
        let mut config: Self = top.read()?;
        config.guard = top.read()?;
        if !top.has("workers") {
            return Err(top.refuse("workers", &allowed(&(1..=100_000_u32))));
        }
        let limits = top.table("limits");
        config.limits = limits.read()?;
        if !limits.has("streams") {
            config.limits.streams = DEFAULT_STREAMS;
        }
        let common: Common = top.read()?;
        config.admin = common.admin(DEFAULT_ADMIN);
        config.drain = common.drain_timeout;
        draft.finish()?;
        if let Some(tls) = &config.tls {
            tls.check(&top)?;
        }
        let listener = (top.clone(), "listen", "", config.listen.clone());
        unique_addresses(&top, [listener], config.admin.as_ref())?;
        Ok(config)
    }
}
