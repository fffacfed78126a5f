//! Common parts of the proxies: addresses ([`Endpoint`]), configuration ([`config`]), signals and changes of files
//! ([`run()`]), reloads ([`exchange()`]), health and metrics ([`admin`], [`metrics`]), HTTP servers (`http`), and TLS
//! (`tls`).
#![forbid(unsafe_code)]

pub mod admin;
pub mod config;
mod descriptors;
mod endpoint;
mod exchange;
#[cfg(feature = "http")]
pub mod http;
mod main_loop;
pub mod metrics;
#[cfg(feature = "tls")]
pub mod tls;
mod watch;

pub use endpoint::{Endpoint, PORTS};
pub use exchange::{ListenerFactory, exchange};
pub use main_loop::{Running, run};

/// Delay before the next `accept` when the process has no free file descriptors. Without it, the loop would
/// use a whole processor. A longer delay lets clients wait after a descriptor becomes free.
pub const BACK_OFF: std::time::Duration = std::time::Duration::from_millis(20);
