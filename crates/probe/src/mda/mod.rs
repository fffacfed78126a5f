//! The multipath detection algorithm (MDA): how many probes it takes to name all next hops of a router with a
//! given confidence, and the walk over a network that sends them. Sans-I/O: probes come out, answers go in.
//!
//! Sources: B. Augustin, T. Friedman, R. Teixeira, Measuring Load-balanced Paths in the Internet, IMC 2007,
//! section 2 (stopping rule, node control); D. Veitch, B. Augustin, R. Teixeira, T. Friedman, Failure Control in
//! Multipath Route Tracing, INFOCOM 2009 (one confidence for the whole graph).
//!
//! Deviations
//! - The confidence holds for a graph of up to [`MOST_BRANCHINGS`] branching nodes, whatever its size is.
//! - Next hops of a node are taken to be equally likely, as there. A next hop that gets far less than its
//!   share (weighted routes) is missed more often.
//! - Nodes are addresses that answer. A router that answers from one address for all its links is one node.

mod map;
mod stopping;
mod walk;

pub use map::{Doubt, Hop, Map, Node};
pub use stopping::{MOST_BRANCHINGS, StoppingRule};
pub use walk::{Answer, Flow, Limits, Probe, Walk};
