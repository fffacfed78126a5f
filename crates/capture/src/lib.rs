//! Captures of a network's packets. A capture observes the network and does not change it.
//!
//! A [`Capture`] works with any fabric ([`tailcut_fabric::Observer`]), with any driver and any type
//! of packet body. It opens no file, but writes into a given output.
//!
//! ```
//! use tailcut_fabric::topology::Topology;
//! use tailcut_capture::Places;
//!
//! /// The names under which a network's packets can be captured.
//! fn host_and_port(network: &Topology) {
//!     assert!(Places::named(network, "h0").is_ok());
//!     assert!(Places::named(network, "h0>s0").is_ok());
//!     assert!(Places::named(network, "all").is_ok());
//!     assert!(Places::named(network, "nowhere").is_err());
//! }
//! ```

mod capture;
mod in_order;
mod places;
mod sink;

pub use capture::{Body, Capture, Carried, Dress, RealFrame};
pub use places::{Places, UnknownPlace};
pub use sink::{Captured, Limits};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
