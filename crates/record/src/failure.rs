//! Links in trouble: slow, lossy or down.

use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Rate, Time};

/// Trouble on one directed link. A link may have several at once: it is down if one says so, and else as
/// slow as the slowest and as lossy as the one that loses most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
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

table! {
    /// A link that is slow or down.
    #[derive(Clone)]
    pub(crate) struct Failure {
        "link" link: u32,
        /// The rate that is left; `None` while it is down.
        "rate_bps" rate: Option<Rate>,
        "from_ns" from: Time,
        "until_ns" until: Option<Time>,
    }
}

table! {
    /// A link that loses packets at random.
    #[derive(Clone)]
    pub(crate) struct Loss {
        "link" link: u32,
        /// The billionths of packets that are lost.
        "loss_ppb" loss: u32,
        "from_ns" from: Time,
        "until_ns" until: Option<Time>,
    }
}

impl Failure {
    pub fn of(failure: &LinkFailure) -> Option<Self> {
        let LinkFailure {
            link,
            trouble,
            from,
            until,
        } = *failure;
        let rate = trouble.rate();
        trouble.loss().is_none().then_some(Self {
            link,
            rate,
            from,
            until,
        })
    }
}

impl Loss {
    pub fn of(failure: &LinkFailure) -> Option<Self> {
        let LinkFailure {
            link,
            trouble,
            from,
            until,
        } = *failure;
        trouble.loss().map(|loss| Self {
            link,
            loss,
            from,
            until,
        })
    }
}

impl From<Failure> for LinkFailure {
    fn from(
        Failure {
            link,
            rate,
            from,
            until,
        }: Failure,
    ) -> Self {
        let trouble = rate.map_or(LinkTrouble::Down, LinkTrouble::Slow);
        Self {
            link,
            trouble,
            from,
            until,
        }
    }
}

impl From<Loss> for LinkFailure {
    fn from(
        Loss {
            link,
            loss,
            from,
            until,
        }: Loss,
    ) -> Self {
        let trouble = LinkTrouble::Lossy(loss);
        Self {
            link,
            trouble,
            from,
            until,
        }
    }
}
