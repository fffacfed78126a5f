//! Multipath detection algorithm (MDA).
//! The algorithm determines how many probes find all next hops of a router with a given confidence.
//! A walk over a network creates the probes that the algorithm requires.
//! The walk does no I/O: the caller sends the probes and passes the answers back.
//!
//! Sources:
//! - Augustin et al., Measuring Load-balanced Paths in the Internet, IMC 2007, section 2: stopping rule, node control.
//! - Veitch et al., Failure Control in Multipath Route Tracing, INFOCOM 2009: one confidence for the whole graph.
//!
//! Deviations:
//! - The confidence is always computed for a graph of [`MOST_BRANCHINGS`] nodes with several next hops.
//!   The confidence holds for smaller graphs too.
//! - As in the paper, all next hops of a node are assumed to be equally likely.
//!   If routes have weights, a next hop with few flows is missed more often.
//! - Nodes are addresses that answer. A router that answers from one address for all its links is one node.

mod map;
mod stopping;
mod walk;

pub use map::{Doubt, Hop, Map, Node};
pub use stopping::{MOST_BRANCHINGS, StoppingRule};
pub use walk::{Answer, Flow, Limits, Probe, Walk};
