//! Common parts of guard, gateway and proxy: addresses ([`Endpoint`]), and configuration ([`config`]).
//! The crate handles signals and changes of files ([`run()`]), and reloads ([`exchange()`]).
//! The crate also contains health and metrics ([`admin`], [`metrics`]), logs ([`log`]), HTTP servers (`http`), and TLS (`tls`).
#![forbid(unsafe_code)]

mod address;
pub mod admin;
pub mod config;
mod descriptors;
mod endpoint;
mod exchange;
#[cfg(feature = "http")]
pub mod http;
pub mod log;
mod main_loop;
pub mod metrics;
#[cfg(feature = "tls")]
pub mod tls;
mod watch;

pub use address::{Address, DEFAULT_MODE, ListeningSocket, UNIX_CLIENT, UnixSocket, connect};
pub use endpoint::{Endpoint, PORTS};
pub use exchange::{ListenerFactory, exchange};
pub use main_loop::{Running, report, run};

/// Delay before the next `accept` when the process has no free file descriptors.
/// Without the delay, the loop would use a whole processor.
/// After a longer delay, clients would wait although a descriptor is free again.
pub const BACK_OFF: std::time::Duration = std::time::Duration::from_millis(20);
