//! SCDP's unicast figures (SCDP paper, section V). Numbers that the paper's text does not give are keys of the
//! scenarios, with other values beside.

mod decoding;
mod fairness;
mod figures;
mod incast;
mod initial_window;
mod outcast;
mod sensitivity;
mod short_flows;

pub use decoding::Decoding;
pub use fairness::Fairness;
pub use incast::Incast;
pub use initial_window::InitialWindow;
pub use outcast::Outcast;
pub use sensitivity::Sensitivity;
pub use short_flows::ShortFlows;
