//! Statistics of volleys of handshakes. This module does no I/O.
//! The results are the time of the faster of two handshakes, and groups of ports that share a path.
//!
//! A volley is one handshake from each of several source ports to one target.
//! All handshakes of a volley start at nearly the same time, so RepSYN could have used any two of them.
//! The pairs of a volley therefore show how delays depend on each other. No model of this dependence is needed.

mod bootstrap;
mod groups;
mod prediction;
mod volley;

pub use groups::{Groups, LEVEL, groups};
pub use prediction::{Change, FEWEST_VOLLEYS, Figure, Prediction, predict};
pub(crate) use volley::quantile;
pub use volley::{Handshake, Volley};
