//! Captures of a network's packets. A capture observes the network and does not change it.
//!
//! A [`Capture`] is a [`tailcut_fabric::Observer`].
//! A capture works with any fabric, any driver and any type of packet body.
//! The caller provides the output. The crate itself opens no file.
//!
//! ```
//! use tailcut_fabric::topology::Topology;
//! use tailcut_capture::CapturePoints;
//!
//! /// The names under which a network's packets can be captured.
//! fn host_and_port(network: &Topology) {
//!     assert!(CapturePoints::named(network, "h0").is_ok());
//!     assert!(CapturePoints::named(network, "h0>s0").is_ok());
//!     assert!(CapturePoints::named(network, "all").is_ok());
//!     assert!(CapturePoints::named(network, "nowhere").is_err());
//! }
//! ```

mod capture;
mod capture_points;
mod in_order;
mod sink;

pub use capture::{Body, Capture, Carried, RealFrame, WireOptions};
pub use capture_points::{CapturePoints, UnknownCapturePoint};
pub use sink::{Captured, Limits};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
