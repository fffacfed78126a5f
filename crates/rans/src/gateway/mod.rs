//! `tailcut gateway`: the client of [`crate::client`] for every language, as an HTTP service in front of
//! replicas. HTTP/1.1 and HTTP/2 on both sides, with TLS or without.
//!
//! A request is translated (`translate`), its body is kept where it is small enough to be sent twice (`body`),
//! and given to the client, whose ways to replicas (`upstream`) take small answers whole before they count as
//! answers. A route (`route`) is all of that behind one listener (`door`); the [`Gateway`] has the routes of a
//! configuration, and takes another one while it runs.

mod body;
mod check;
mod command;
mod config;
mod counts;
mod door;
mod metrics;
mod pool;
mod route;
mod translate;
mod upstream;

pub use command::{GatewayCommand, execute};
pub use config::{
    Check, Duplicates, Forwarded, GatewayConfig, Kept, Limits, ReplicaConfig, RouteConfig, Times,
};
pub use door::Gateway;
