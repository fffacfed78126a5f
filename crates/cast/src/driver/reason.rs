//! Why one end of a session closes it.

use super::outcome::Failure;

/// The reason in a close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The receiver has no room now.
    Busy,
    /// The object is longer than the receiver takes.
    TooLarge,
    /// The other end does not want to go on.
    Cancelled,
    /// The receiver knows nothing of the session: it may have started anew.
    Unknown,
    /// Datagrams of the object's size do not arrive.
    TooWide,
}

impl Reason {
    const ALL: [Self; 5] = [
        Self::Busy,
        Self::TooLarge,
        Self::Cancelled,
        Self::Unknown,
        Self::TooWide,
    ];

    /// Its number in a packet.
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::Busy => 1,
            Self::TooLarge => 2,
            Self::Cancelled => 3,
            Self::Unknown => 4,
            Self::TooWide => 5,
        }
    }

    /// The reason of a number. One that is not known is taken for the end.
    pub(super) fn of(number: u16) -> Self {
        let known = Self::ALL.into_iter().find(|one| one.number() == number);
        known.unwrap_or(Self::Cancelled)
    }

    /// Whether the object may be offered again.
    pub(super) const fn is_for_now(self) -> bool {
        matches!(self, Self::Busy | Self::Unknown)
    }

    /// What the application is told.
    pub(super) const fn failure(self) -> Failure {
        match self {
            Self::Busy => Failure::Busy,
            Self::TooLarge => Failure::TooLarge,
            Self::Cancelled => Failure::Refused,
            Self::Unknown => Failure::NoAnswer,
            Self::TooWide => Failure::TooWide,
        }
    }
}
