//! Failures of links: slow, lossy or down.

use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Rate, Time};

/// Failure of one directed link. Several failures of a link may overlap.
/// The link is down if one of its failures is [`LinkTrouble::Down`].
/// A link without a `Down` failure has the lowest rate and the highest loss of all its failures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkFailure {
    /// Number of the port that sends into the link ([`PortTotals::port`](crate::PortTotals::port)).
    pub link: u32,
    /// Kind of failure.
    pub trouble: LinkTrouble,
    /// Start of the failure.
    pub from: Time,
    /// End of the failure; `None` means that the failure lasts until the end of the run.
    pub until: Option<Time>,
}

/// Kind of a link's failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LinkTrouble {
    /// The link loses all packets.
    Down,
    /// The link is slow: it has this rate.
    Slow(Rate),
    /// The link loses packets at random, with this probability in billionths.
    Lossy(u32),
}

impl LinkTrouble {
    /// Returns the reduced rate of a slow link.
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::Slow(rate) => Some(rate),
            Self::Down | Self::Lossy(_) => None,
        }
    }

    /// Returns the loss of a lossy link in billionths of the packets.
    pub const fn loss(self) -> Option<u32> {
        match self {
            Self::Lossy(billionths) => Some(billionths),
            Self::Down | Self::Slow(_) => None,
        }
    }
}

table! {
    /// Interval in which a link is slow or down.
    #[derive(Clone)]
    pub(crate) struct Failure {
        "link" link: u32,
        /// Reduced rate; `None`: the link is down.
        "rate_bps" rate: Option<Rate>,
        "from_ns" from: Time,
        "until_ns" until: Option<Time>,
    }
}

table! {
    /// Interval in which a link loses packets at random.
    #[derive(Clone)]
    pub(crate) struct Loss {
        "link" link: u32,
        /// Share of lost packets in billionths.
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
