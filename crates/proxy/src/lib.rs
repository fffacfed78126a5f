//! What the proxies have in common: [`Endpoint`]s, configurations of files and flags ([`Given`]), errors in them
//! ([`Place`]), what a process does at signals and when its files change ([`conduct()`]), reloads ([`exchange()`]),
//! health and metrics ([`admin`], [`metrics`]), serving HTTP (`http`), and TLS (`tls`).
#![forbid(unsafe_code)]

pub mod admin;
mod conduct;
mod endpoint;
mod exchange;
mod given;
#[cfg(feature = "http")]
pub mod http;
pub mod metrics;
mod place;
#[cfg(feature = "tls")]
pub mod tls;
mod watch;

pub use conduct::{Running, Signals, conduct, say};
pub use endpoint::{Endpoint, PORTS};
pub use exchange::{Doors, exchange};
pub use given::{Given, admin_key};
pub use place::{Place, span};
pub use watch::Watched;

/// Before accepting is tried again when the process has no descriptors left.
pub const BACK_OFF: std::time::Duration = std::time::Duration::from_millis(20);
