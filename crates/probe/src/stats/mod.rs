//! Statistics of volleys of handshakes: time of the faster of two handshakes, and groups of ports that share a
//! path. This module does no I/O.
//!
//! A volley is one handshake from each of several source ports to one target, all at nearly the
//! same time. RepSYN could have used any two ports of a volley, on the network at this moment. So the
//! times of all pairs of a volley are real, and no assumption about the dependence of delays is needed.

mod bootstrap;
mod groups;
mod prediction;
mod volley;

pub use groups::{Groups, LEVEL, groups};
pub use prediction::{Change, FEWEST_VOLLEYS, Figure, Prediction, predict};
pub(crate) use volley::quantile;
pub use volley::{Handshake, Volley};
