//! Multipath detection algorithm (MDA): the number of probes that finds all next hops of a router
//! with a given confidence, and the walk over a network that sends these probes. Sans-I/O: the walk
//! returns probes and takes answers.
//!
//! Sources: B. Augustin, T. Friedman, R. Teixeira, Measuring Load-balanced Paths in the Internet, IMC 2007,
//! section 2 (stopping rule, node control); D. Veitch, B. Augustin, R. Teixeira, T. Friedman, Failure Control in
//! Multipath Route Tracing, INFOCOM 2009 (one confidence for the whole graph).
//!
//! Deviations
//! - The confidence holds for a whole graph of up to [`MOST_BRANCHINGS`] branching nodes, whatever
//!   its real size is.
//! - As in the paper, next hops of a node are assumed to be equally likely. A next hop with much
//!   less than its share (weighted routes) is missed more often.
//! - Nodes are addresses that answer. A router that answers from one address for all its links is one node.

mod map;
mod stopping;
mod walk;

pub use map::{Doubt, Hop, Map, Node};
pub use stopping::{MOST_BRANCHINGS, StoppingRule};
pub use walk::{Answer, Flow, Limits, Probe, Walk};
