//! Links in trouble: slow, lossy or down.

use tailcut_units::{Rate, Time};

/// Trouble on one directed link. A link may have several at once: it is down if one says so, and else as
/// slow as the slowest and as lossy as the one that loses most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFailure {
    /// The link, named by the port that feeds it ([`PortTotals::port`](crate::PortTotals::port)).
    pub link: u32,
    /// What is wrong.
    pub trouble: LinkTrouble,
    /// When it begins.
    pub from: Time,
    /// When it ends; `None`: not within the run.
    pub until: Option<Time>,
}

/// What is wrong with a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkTrouble {
    /// What is sent into it is lost.
    Down,
    /// The rate that is left to it.
    Slow(Rate),
    /// The share of packets that it loses at random, in billionths.
    Lossy(u32),
}

impl LinkTrouble {
    /// The rate that is left, where that is what is wrong.
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::Slow(rate) => Some(rate),
            Self::Down | Self::Lossy(_) => None,
        }
    }

    /// The billionths of packets that are lost, where that is what is wrong.
    pub const fn loss(self) -> Option<u32> {
        match self {
            Self::Lossy(billionths) => Some(billionths),
            Self::Down | Self::Slow(_) => None,
        }
    }
}
