//! Transfers with several receivers or several senders: requests and statistics of an application.

use crate::Message;
use tailcut_units::{Duration, FlowId, HostId};

/// Part of one host in a transfer with several ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'a> {
    /// Sends an object to several receivers.
    /// The group of the message consists of exactly the receivers of the object.
    /// Each receiver reports [`Event::Completed`](crate::Event::Completed).
    Spread {
        /// Object, as a message.
        message: Message,
        /// Receivers of the object, at least one, without duplicates.
        receivers: &'a [HostId],
        /// Policy for receivers that delay other receivers.
        stragglers: Stragglers,
    },
    /// Receives an object from several senders, which all send to `port` of this host.
    /// The receiver reports [`Event::Failed`](crate::Event::Failed) if no sender sends for too long.
    Collect {
        /// Number of the transfer in the events of the receiver.
        flow: FlowId,
        /// Port for this transfer only, at least 1,024.
        /// The port of a transfer differs from the port for incoming flows, and is below the ports of outgoing flows.
        port: u16,
    },
    /// Sends some of the symbols of an object. Other senders send the other symbols.
    Share {
        /// Object and receiver, as a message.
        message: Message,
        /// Port on which the receiver collects the object.
        port: u16,
        /// Symbols that this host sends. No two senders send the same symbols.
        share: Share,
    },
}

/// Symbols of each block that one of several senders may send.
/// The identifier of such a symbol divided by `of` leaves the remainder `index`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Remainder that selects the symbols of this sender, less than `of`.
    pub index: u16,
    /// Number of senders, at least 1.
    pub of: u16,
}

impl Share {
    /// All symbols, for a single sender.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// Returns how many of the identifiers below `symbols` belong to this sender.
    #[inline]
    pub const fn of_first(self, symbols: u32) -> u32 {
        // A single sender is the usual case, and needs no division.
        if self.of == 1 {
            return symbols;
        }
        (symbols + (self.of as u32 - 1) - self.index as u32) / self.of as u32
    }

    /// Returns the identifier of symbol number `n` of this sender.
    #[inline]
    pub const fn identifier(self, n: u32) -> u32 {
        self.index as u32 + n * self.of as u32
    }
}

/// Policy of a sender for stragglers.
/// A straggler is a receiver whose missing pulls stop the transmission to all receivers.
/// Every policy reports each straggler once ([`Event::Straggling`](crate::Event::Straggling)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stragglers {
    /// Time for which the sender cannot transmit, more than 0.
    /// After this time the receivers that do not pull count as stragglers.
    pub after: Duration,
    /// Action of the sender against stragglers.
    pub policy: StragglerPolicy,
}

/// Action of a sender against stragglers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum StragglerPolicy {
    /// The other receivers wait for the stragglers.
    #[default]
    Wait,
    /// The sender drops the stragglers for the rest of the transfer.
    Drop,
    /// The transfer ends when this number of receivers has the whole object. The sender then drops the other receivers.
    /// Before the end, the sender drops stragglers while at least this number of receivers remains.
    Quorum(u16),
}

/// Receiver that delays the other receivers, or that the sender dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Straggler {
    /// Host number of the receiver.
    pub receiver: HostId,
    /// Whether the sender dropped the receiver.
    pub dropped: bool,
}

/// Statistics of a receiver in a transfer with several ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Number of symbols that arrived, whole or trimmed.
    pub symbols: u32,
    /// Number of wasted symbols among `symbols`.
    /// Wasted symbols are duplicates, and symbols of a block for which the receiver had enough symbols.
    pub in_vain: u32,
    /// Number of blocks that had to be decoded, because source symbols were missing.
    pub decoded: u32,
    /// Bytes delivered to the application, counted from the start of the object.
    /// All bytes are delivered, unless the transfer has failed.
    pub bytes: u64,
}

/// Error of a host whose design does not support transfers with several ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this design has no transfers with several senders or receivers")]
pub struct NotShared;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_senders_are_every_symbol_once() {
        for of in 1..6u16 {
            let mut seen = alloc::vec::Vec::new();
            for index in 0..of {
                let share = Share { index, of };
                seen.extend((0..share.of_first(20)).map(|n| share.identifier(n)));
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..20).collect::<alloc::vec::Vec<u32>>());
        }
    }
}
