//! What volleys of handshakes tell: what the faster of two takes, and which ports share a path. Sans-I/O.
//!
//! A volley is one handshake from each of several source ports to one target, all at nearly the same time.
//! Two ports of one volley are what RepSYN would have raced, in the network as it was just then: nothing is
//! assumed of how their delays depend on each other.

mod bootstrap;
mod groups;
mod prediction;
mod volley;

pub use groups::{Groups, LEVEL, groups};
pub use prediction::{Change, FEWEST_VOLLEYS, Figure, Prediction, predict};
pub(crate) use volley::quantile;
pub use volley::{Handshake, Volley};
