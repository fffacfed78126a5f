//! `tailcut gateway`: the client of [`crate::client`] for programs in any language, as an HTTP service in front of
//! replicas. It supports HTTP/1.1 and HTTP/2 on both sides, with TLS or without.
//!
//! A request is first translated (`translate`). Its body is stored if it is small enough to be sent twice (`body`).
//! The client then sends the request over connections to replicas (`upstream`), which read small answers to their end
//! before they count as answers. A route (`route`) is all of this behind one listener (`acceptor`). The [`Gateway`] has
//! the routes of a configuration, and can change the configuration at run time.

mod acceptor;
mod body;
mod check;
mod command;
mod config;
mod counts;
mod metrics;
mod pool;
mod route;
mod translate;
mod upstream;

pub use acceptor::Gateway;
pub use command::{GatewayCommand, execute};
pub use config::{
    Check, Duplicates, Forwarded, GatewayConfig, Limits, ReplicaConfig, RouteConfig,
    StoredBodyLimits, Times,
};
