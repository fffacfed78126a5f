//! Transfers with several receivers or several senders, as an application requests them.

use crate::Message;
use tailcut_units::{Duration, FlowId, HostId};

/// Part of one host in a transfer with several ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'a> {
    /// Sends an object to several receivers. The destination of the message is the address of a group of
    /// exactly these receivers. Each receiver reports [`Event::Completed`](crate::Event::Completed).
    Spread {
        /// Object, as a message.
        message: Message,
        /// Receivers, at least one, without repetition.
        receivers: &'a [HostId],
        /// Policy for receivers that delay the others.
        stragglers: Stragglers,
    },
    /// Receives an object from several senders, which all send to `port` of this host. The host reports
    /// [`Event::Failed`](crate::Event::Failed) if no sender sends for too long.
    Collect {
        /// Number of the transfer, for the receiver's events.
        flow: FlowId,
        /// Port that no other transfer of this host uses: at least 1,024, not the port on which hosts accept
        /// flows, and below the ports of outgoing flows.
        port: u16,
    },
    /// Sends a share of the symbols of an object that other senders have too.
    Share {
        /// Object and receiver, as a message.
        message: Message,
        /// Port at which the receiver collects.
        port: u16,
        /// Share of this host. No two senders have the same share.
        share: Share,
    },
}

/// Symbols of each block that one of several senders may send: the symbols whose identifier is `index` modulo `of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Remainder of the identifiers, less than `of`.
    pub index: u16,
    /// Number of senders, at least 1.
    pub of: u16,
}

impl Share {
    /// Share of a single sender: all symbols.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// Returns how many of the first `symbols` identifiers belong to the share.
    #[inline]
    pub const fn of_first(self, symbols: u32) -> u32 {
        // A single sender is the usual case, and needs no division.
        if self.of == 1 {
            return symbols;
        }
        (symbols + (self.of as u32 - 1) - self.index as u32) / self.of as u32
    }

    /// Returns the identifier of symbol number `n` of the share.
    #[inline]
    pub const fn identifier(self, n: u32) -> u32 {
        self.index as u32 + n * self.of as u32
    }
}

/// Policy of a sender for stragglers. A straggler is a receiver whose missing pulls stop the transmission to all
/// receivers. Every policy reports each straggler once ([`Event::Straggling`](crate::Event::Straggling)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stragglers {
    /// Time without a possible transmission after which the receivers that do not pull count as stragglers;
    /// more than 0.
    pub after: Duration,
    /// Action against stragglers.
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
    /// The transfer ends when this number of receivers has everything, and the sender drops the rest. Before
    /// that, it drops stragglers as long as this number of receivers remains.
    Quorum(u16),
}

/// Receiver that delays the others, or that the sender dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Straggler {
    /// Name of the receiver.
    pub receiver: HostId,
    /// Whether the sender dropped the receiver.
    pub dropped: bool,
}

/// Statistics of a receiver in a transfer with several ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Number of symbols that arrived, whole or trimmed.
    pub symbols: u32,
    /// Number of wasted symbols among `symbols`: symbols of a block of which the receiver had enough, and duplicates.
    pub in_vain: u32,
    /// Number of blocks that had to be decoded.
    pub decoded: u32,
    /// Bytes delivered to the application, counted from the start of the object: all bytes, unless the
    /// transfer has failed.
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
