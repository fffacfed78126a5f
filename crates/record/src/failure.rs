//! Links in trouble.

use tailcut_units::{Rate, Time};

/// Trouble on one directed link. A link may have several at once: it is down if one says so, and else as
/// slow as the slowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFailure {
    /// The link, named by the port that feeds it ([`PortTotals::port`](crate::PortTotals::port)).
    pub link: u32,
    /// The rate that is left to it; `None` while it is down, and what is sent into it is lost.
    pub rate: Option<Rate>,
    /// When it begins.
    pub from: Time,
    /// When it ends; `None`: not within the run.
    pub until: Option<Time>,
}
