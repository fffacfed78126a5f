//! Reasons for which a host closes a session.

use super::outcome::Failure;

/// Reason in a close message, which ends a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The receiver has no memory or no session left. It may accept the object later.
    Busy,
    /// The object is longer than the receiver's limit.
    TooLarge,
    /// The other end has cancelled the transfer.
    Cancelled,
    /// The receiver does not know the session. It may have restarted.
    Unknown,
    /// The path does not carry datagrams with symbols of the object's size.
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

    /// Returns the number that stands for the reason in a packet.
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::Busy => 1,
            Self::TooLarge => 2,
            Self::Cancelled => 3,
            Self::Unknown => 4,
            Self::TooWide => 5,
        }
    }

    /// Returns the reason with a number. An unknown number means [`Self::Cancelled`].
    pub(super) fn of(number: u16) -> Self {
        let known = Self::ALL.into_iter().find(|one| one.number() == number);
        known.unwrap_or(Self::Cancelled)
    }

    /// Returns whether the sender may offer the object again later.
    pub(super) const fn is_for_now(self) -> bool {
        matches!(self, Self::Busy | Self::Unknown)
    }

    /// Returns the corresponding failure for the application.
    pub(super) const fn failure(self) -> Failure {
        match self {
            Self::Busy => Failure::Busy,
            Self::TooLarge => Failure::TooLarge,
            Self::Cancelled => Failure::Refused,
            Self::Unknown => Failure::Forgotten,
            Self::TooWide => Failure::TooWide,
        }
    }
}
