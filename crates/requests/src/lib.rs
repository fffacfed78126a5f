//! RANS: requests with low-priority duplicates, after "Towards a Redundancy-Aware Network Stack for Data
//! Centers" (Iftikhar, Dogar, Qazi; HotNets 2014) and its slides.
//!
//! A client sends each request to one server at high priority and to another one at low priority, both at
//! once. Every resource that may be a bottleneck serves strict priorities, is never idle while there is
//! work, and lets high work interrupt low work. The first answer purges every other copy, the primary
//! included. Bytes of both answers may count ([`Coverage`]). [`Policy`] holds what is done instead by
//! those who hedge.
//!
//! [`Ranges`] is how bytes of both count where a server sends forwards only, as with HTTP's ranges.
//!
//! [`Gate`] is the same server where nobody knows how much work a request is: the guard before a service.
//!
//! [`Client`] and [`Server`] are plain state as every endpoint here: the driver brings messages and time,
//! and has the network in between.
//!
//! Deviations:
//! - How the bytes of an object are split among copies is not published: here the duplicate sends from the
//!   tail backwards, and the request is done where the two meet. Of three or more copies all but the first
//!   share the tail, piece by piece. [`Split::Ranges`] is what HTTP's ranges allow.
//! - Reprioritisation is published as one line, by congestion window, and the slides' transport is driven
//!   by the receiver, which has the windows. Here senders have them: the header of each part of an answer
//!   tells its sender's, parts are short then ([`TELLING_PART`]), and the client compares the latest that
//!   each copy has told. Where nothing tells windows it compares the bytes that have come, which is what
//!   windows add up to. The low copy's lead is a parameter.
//! - Units of service are chunks of a size that is a parameter; the slides say that packets are small
//!   enough.
//! - In a network each copy is one TCP connection, or a message to the server and one back (the module
//!   `copies` of the crate `tailcut-transport`). The published transport is one connection to several points.
//! - A message about a copy that is not at the server (purged, done, never asked) is ignored, as is an
//!   answer to a request that is done.

#![no_std]

extern crate alloc;

mod aggregation;
mod answer;
mod client;
mod coverage;
mod gate;
mod header;
mod hedging;
mod policy;
mod ranges;
mod room;
mod server;
mod sides;
mod station;
mod stream;

pub use answer::{ANSWER_BYTES, AnswerHeader};
pub use client::{Client, Completion};
pub use coverage::Coverage;
pub use gate::{Admission, Class, Gate, GateConfig, Left};
pub use header::{
    ASK_BYTES, ByteRange, CancelScope, CopyId, HIGH, LOW, Order, Purpose, REQUEST_BYTES,
    RequestHeader, RequestId, Response,
};
pub use policy::{BudgetConfig, MAX_COPIES, Percentile, Policy, Split, Trigger};
pub use ranges::{AskId, Idle, Ranges};
pub use room::Room;
pub use server::{Demand, Departure, Server, ServerConfig};
pub use station::{CLASSES, Discipline, JobId, Preemption, Progress, Removed, Station};
pub use stream::{
    ClientEnd, Framed, Headers, Read, Reader, ServerEnd, SideChannel, TELLING_PART, Written,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
