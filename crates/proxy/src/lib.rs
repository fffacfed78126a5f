//! The common parts of the proxies: [`Endpoint`]s, the configuration ([`config`]), signals and changes of files
//! ([`run()`]), reloads ([`exchange()`]), health and metrics ([`admin`], [`metrics`]), serving HTTP (`http`), and TLS (`tls`).
#![forbid(unsafe_code)]

pub mod admin;
mod conduct;
pub mod config;
mod endpoint;
mod exchange;
#[cfg(feature = "http")]
pub mod http;
pub mod metrics;
#[cfg(feature = "tls")]
pub mod tls;
mod watch;

pub use conduct::{Running, run};
pub use endpoint::{Endpoint, PORTS};
pub use exchange::{Doors, exchange};

/// Before accepting is tried again when the process has no descriptors left.
pub const BACK_OFF: std::time::Duration = std::time::Duration::from_millis(20);
