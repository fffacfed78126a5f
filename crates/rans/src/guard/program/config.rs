//! Configuration of `tailcut guard`.

use crate::guard::GuardConfig;
use crate::socket::ClassMarks;
use crate::trace::TraceConfig;
use anyhow::Result;
use serde::Deserialize;
use std::time::Duration;
use tailcut_proxy::config::{Common, Draft, server, size, socket_mode, time, unique_addresses};
use tailcut_proxy::http::Limits;
use tailcut_proxy::log::LogConfig;
use tailcut_proxy::tls::ServerTls;
use tailcut_proxy::{Address, DEFAULT_MODE, Endpoint};
use tailcut_units::quantity::allowed;

/// Address of the admin server (health and metrics), unless the configuration contains another one.
pub(super) const DEFAULT_ADMIN: &str = "127.0.0.1:9465";
/// Largest number of open requests on one HTTP/2 connection, unless the configuration contains another one.
/// Further requests wait at the client, where the guard cannot sort them by class.
/// Each stream needs memory, so the number is limited.
const DEFAULT_STREAMS: u32 = 1_000;

/// Default time for a part of an answer. It is the same as nginx's (`proxy_read_timeout`).
const fn answer_timeout() -> Duration {
    Duration::from_secs(60)
}

const fn default_mode() -> u32 {
    DEFAULT_MODE
}

const fn buffer() -> u64 {
    64 << 10
}

/// Longest time that a request waits for a worker, unless the configuration names another one.
/// Most clients give up after about this time.
const DEFAULT_QUEUE_TIME: Duration = Duration::from_secs(30);

/// Configuration of a guard with its listener and its service.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct ProgramConfig {
    /// Address of the listener.
    pub listen: Address,
    /// Mode of the listener's file, if it is a Unix socket.
    #[serde(default = "default_mode", deserialize_with = "socket_mode")]
    pub listen_mode: u32,
    /// Address of the service, which gets HTTP/1.1.
    #[serde(deserialize_with = "server")]
    pub to: Address,
    /// Largest part of a request's body that has to arrive before the request takes a worker, 0 to 64 MiB.
    /// A larger value needs more memory for each request. With a smaller one, slow clients occupy workers.
    #[serde(default = "buffer", deserialize_with = "size::<0, { 64 << 20 }, _, _>")]
    pub buffer: u64,
    /// Time for the service to begin its answer, and for each further part of it, 1 ms to 24 h.
    #[serde(
        default = "answer_timeout",
        deserialize_with = "time::<1, 86_400_000, _>"
    )]
    pub answer_timeout: Duration,
    /// DSCP of packets to clients.
    #[serde(default)]
    pub dscp: ClassMarks,
    /// Whether each connection begins with a header of the PROXY protocol, which names the client.
    #[serde(default)]
    pub proxy_protocol: bool,
    /// TLS of the listener.
    #[serde(default)]
    pub tls: Option<ServerTls>,
    /// Configuration of the guard itself.
    #[serde(skip)]
    pub guard: GuardConfig,
    /// Limits of the listener.
    #[serde(skip)]
    pub limits: Limits,
    /// Address of the admin server for health and metrics. `None`: it does not run.
    #[serde(skip)]
    pub admin: Option<Endpoint>,
    /// Longest time that open requests may continue after a signal to stop.
    #[serde(skip)]
    pub drain: Duration,
    /// Identifiers of requests.
    #[serde(skip)]
    pub trace: TraceConfig,
    /// Access log and error log.
    #[serde(skip)]
    pub log: LogConfig,
}

impl ProgramConfig {
    /// Reads a draft and checks it.
    ///
    /// # Errors
    /// A value is not allowed. The error contains the key's location, the value found, and the values allowed.
    pub fn read(draft: &Draft) -> Result<Self> {
        let top = draft.top();
        let mut config: Self = top.read()?;
        config.guard = top.read()?;
        config.trace = top.read()?;
        config.log = top.table("log").read()?;
        // The library has a default of one worker.
        // The program requires the key, because the right number depends on the service.
        if !top.has("workers") {
            return Err(top.refuse("workers", &allowed(&(1..=100_000_u32))));
        }
        if !top.has("queue_timeout") {
            config.guard.queue_time = DEFAULT_QUEUE_TIME;
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
