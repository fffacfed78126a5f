//! Duplicate-aware HTTP, after a paper of Iftikhar, Dogar and Qazi (HotNets 2014).
//! The title of the paper is "Towards a Redundancy-Aware Network Stack for Data Centers".
//! Each request is sent to two servers, the second time at low priority.
//! The first answer purges the other copy, even if that copy already runs. There is no new protocol.
//! The field `Priority` (RFC 9218) contains the class.
//! A client purges a request by cancelling it (RST_STREAM, or the end of the connection).
//!
//! - [`guard`]: a tower layer in front of a service, with bounded concurrency, three strict classes and purges.
//! - [`client`]: a tower service over several replicas.
//!   It sends a primary and a copy, and returns the first good answer.
//! - [`ranges`]: downloads of one object from two replicas at the same time, from both ends until they meet.
//! - `gateway` (a feature): the client as an HTTP service in front of replicas.
//! - `connections` (a feature): connections to replicas, which are opened again when they end.
//!
//! The decisions of all modules come from [`tailcut_requests`], which the simulator also runs.
//!
//! ```
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use bytes::Bytes;
//! use tailcut_rans::client::{Client, ClientConfig, Purges, Replica};
//! use tailcut_rans::guard::{GuardConfig, GuardLayer};
//! use tower_layer::Layer;
//! use tower_service::Service;
//! # use std::{convert::Infallible, future::{Ready, ready}, task::{Context, Poll}};
//! # #[derive(Clone)]
//! # struct Hello;
//! # impl<B> Service<Request<B>> for Hello {
//! #     type Response = Response<Full<Bytes>>;
//! #     type Error = Infallible;
//! #     type Future = Ready<Result<Self::Response, Infallible>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
//! #         Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, _: Request<B>) -> Self::Future {
//! #         ready(Ok(Response::new(Full::from("hello"))))
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Each server runs 8 requests at once. Other requests wait in their class.
//! let guard = || GuardLayer::new(GuardConfig { workers: 8, ..GuardConfig::default() });
//! let servers = [guard().layer(Hello), guard().layer(Hello)];
//!
//! // In this example the client calls the services directly. Usually it uses connections to servers.
//! let replicas = servers.map(|server| Replica {
//!     primary: server.clone(),
//!     copy: server,
//!     purges: Purges::Learn,
//! });
//! let mut client = Client::new(replicas.to_vec(), ClientConfig::default(), 1)?;
//! let answer = client.call(Request::get("/").body(Full::<Bytes>::default())?).await?;
//! assert_eq!(answer.status(), 200);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod client;
mod client_wait;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod connection_fields;
#[cfg(feature = "connections")]
pub mod connections;
#[cfg(feature = "gateway")]
pub mod gateway;
pub mod guard;
pub mod priority;
pub mod ranges;
mod rate_limit;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod reason;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod request_head;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod request_log;
#[cfg(feature = "connections")]
pub mod socket;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod stall_timer;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod stored_body;
#[cfg(any(feature = "gateway", feature = "guard"))]
pub mod trace;
#[cfg(any(feature = "gateway", feature = "guard"))]
mod upload;
pub mod via;
