//! RANS: requests with low-priority duplicates, after a paper and its slides.
//! The paper is "Towards a Redundancy-Aware Network Stack for Data Centers" (Iftikhar, Dogar, Qazi; HotNets 2014).
//!
//! A client sends each request to two servers at the same time.
//! One copy has high priority, and the other copy has low priority.
//! Every resource that may be a bottleneck serves strict priorities, and is never idle while there is work.
//! High-priority work interrupts low-priority work.
//! The first answer purges every other copy, the primary included.
//! A client can also combine the bytes of both answers ([`Coverage`]).
//! [`Policy`] also describes hedging clients, which send duplicates later.
//!
//! [`Ranges`] combines the bytes of both copies if servers can send bytes only in ascending order.
//! HTTP range requests are an example.
//!
//! [`Gate`] is the queue in front of a service whose work for each request is unknown, as in the guard.
//!
//! [`Trial`] finds out whether copies help, and ends them while they do not.
//!
//! [`Client`] and [`Server`] are plain state, like all endpoints of this project.
//! The driver passes messages and the time as arguments, and moves the messages between client and server.
//!
//! Deviations:
//! - The paper does not say how the bytes of an object are split among copies.
//!   Here the duplicate sends backwards from the tail, and the request is complete where the two copies meet.
//!   With three or more copies, all copies except the first share the tail, piece by piece.
//!   [`Split::Ranges`] is the split that HTTP range requests allow.
//! - The slides describe reprioritisation in one line: the client compares congestion windows.
//!   In their transport the receiver has the windows. Here the senders have the windows.
//!   The header of each part of an answer therefore carries its sender's window.
//!   The parts are short ([`TELLING_PART`]). The client compares the latest windows of the copies.
//!   If headers carry no windows, the client compares received bytes, which are the sum of past windows.
//!   The lead that the low copy needs is a parameter.
//! - The unit of service is a chunk, and its size is a parameter.
//!   According to the slides, packets are small enough to be units.
//! - In a network each copy is one TCP connection, or one message to the server and one message back.
//!   The module `copies` of the crate `tailcut-transport` contains both.
//!   The published transport is one connection to several endpoints.
//! - A server ignores a message about a copy that it does not have (purged, complete, or never requested).
//!   A client ignores an answer to a request that is complete.

#![no_std]

extern crate alloc;

mod aggregation;
mod answer;
mod budget;
mod client;
mod coverage;
mod gate;
mod header;
mod hedging;
mod policy;
mod ranges;
mod send_space;
mod server;
mod sharing;
mod sides;
mod station;
mod stream;
mod trial;

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
pub use send_space::SendSpace;
pub use server::{Demand, Departure, Server, ServerConfig};
pub use station::{CLASSES, Discipline, JobId, Preemption, Progress, Removed, Station};
pub use stream::{
    ClientEnd, Framed, Headers, Read, Reader, ServerEnd, SideChannel, TELLING_PART, Written,
};
pub use trial::{Ticket, Trial, TrialConfig, TrialEnd, TrialReport, Verdict};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
