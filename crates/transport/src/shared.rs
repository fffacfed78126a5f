//! Transfers with several receivers or several senders, as an application asks for them.

use crate::Message;
use tailcut_units::{Duration, FlowId, HostId};

/// What one host does in a transfer with several ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'a> {
    /// Sends an object to several receivers. The message's destination is the address of a group of
    /// just these. [`Event::Completed`](crate::Event::Completed) comes at each of them.
    Spread {
        /// The object.
        message: Message,
        /// The receivers, at least one, each once.
        receivers: &'a [HostId],
        /// What happens to receivers that hold the others up.
        stragglers: Stragglers,
    },
    /// Expects an object from several senders, which all send to `port` of this host.
    /// [`Event::Failed`](crate::Event::Failed) comes when none of them is heard for too long.
    Collect {
        /// The transfer's number, for the receiver's events.
        flow: FlowId,
        /// A port that no other transfer of this host has: at least 1,024, not the one that hosts
        /// are reached at, below the ports of outgoing flows.
        port: u16,
    },
    /// Sends its share of the symbols of an object that other senders hold too.
    Share {
        /// The object, and the receiver.
        message: Message,
        /// The port that the receiver collects at.
        port: u16,
        /// Which share: no two senders have the same.
        share: Share,
    },
}

/// The symbols of each block that one of several senders may send: those whose identifier is `index`
/// modulo `of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Below `of`.
    pub index: u16,
    /// The number of senders, at least 1.
    pub of: u16,
}

impl Share {
    /// All symbols: the share of an only sender.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// How many of the first `symbols` identifiers belong to it.
    #[inline]
    pub const fn of_first(self, symbols: u32) -> u32 {
        if self.of == 1 {
            return symbols;
        }
        (symbols + (self.of as u32 - 1) - self.index as u32) / self.of as u32
    }

    /// The identifier of its symbol number `n`.
    #[inline]
    pub const fn identifier(self, n: u32) -> u32 {
        self.index as u32 + n * self.of as u32
    }
}

/// What a sender does about receivers that hold the others up: nothing can be sent for want of their
/// pulls. All policies report them, once each ([`Event::Straggling`](crate::Event::Straggling)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stragglers {
    /// How long nothing could be sent until those who do not pull are stragglers, above 0.
    pub after: Duration,
    /// What then.
    pub policy: StragglerPolicy,
}

/// See [`Stragglers`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum StragglerPolicy {
    /// The others wait for them.
    #[default]
    Wait,
    /// They are left out from then on.
    Drop,
    /// The transfer ends when so many receivers have everything; the rest is left out then. Before, as
    /// many are left out for holding the others up as the quorum can do without.
    Quorum(u16),
}

/// A receiver that holds the others up, or that was left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Straggler {
    /// The receiver.
    pub receiver: HostId,
    /// Whether it gets nothing more.
    pub dropped: bool,
}

/// What a receiver took of a transfer with several ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Symbols that arrived, whole or trimmed.
    pub symbols: u32,
    /// Of them, those that were sent in vain for it: of a block that it had enough of, or twice.
    pub in_vain: u32,
    /// Blocks that had to be decoded.
    pub decoded: u32,
    /// Bytes that the application has got, from the first on: all of them, unless the transfer has failed.
    pub bytes: u64,
}

/// A design without transfers of several ends.
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
