//! Unicast figures of SCDP (SCDP paper, section V).
//! The scenarios set values that the paper does not specify, and further studies vary the set values.

mod decoding;
mod fairness;
mod figures;
mod incast;
mod initial_window;
mod outcast;
mod sensitivity;
mod short_flows;

pub use decoding::DECODING;
pub use fairness::FAIRNESS;
pub use incast::INCAST;
pub use initial_window::INITIAL_WINDOW;
pub use outcast::OUTCAST;
pub use sensitivity::SENSITIVITY;
pub use short_flows::SHORT_FLOWS;
