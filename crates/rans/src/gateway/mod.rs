//! Library of `tailcut gateway`: the client of [`crate::client`] for programs in any language.
//! A gateway is an HTTP service in front of replicas.
//! It supports HTTP/1.1 and HTTP/2 on both sides, with TLS or without.
//!
//! A request is first translated (`translate`). Its body is stored if it is small enough to be sent twice (`body`).
//! The client then sends the request over connections to replicas (`upstream`).
//! A small answer is read to its end before it counts.
//! A route (`route`) does all these steps. The routes of one listener (`acceptor`) have conditions (`matching`).
//! The [`Gateway`] contains the routes of a configuration, and can change the configuration at run time.

mod acceptor;
mod body;
mod check;
mod command;
mod config;
mod counts;
mod grpc;
mod matching;
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
pub use grpc::NonFatal;
pub use matching::Match;
