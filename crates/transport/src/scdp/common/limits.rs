//! Limits for values that peers send.
//! The limits bound the memory of a host and its work per packet, even if a peer is faulty or hostile.

use crate::config::{ConfigError, check, within};
use alloc::collections::BTreeMap;
use tailcut_units::HostId;

/// Largest window, and largest number of symbols that a sender may push. A receiver rejects larger numbers.
pub(crate) const MAX_WINDOW: u32 = 4_096;

/// Largest distance of a requested block from the receiver's first incomplete block.
/// The limit on the distance also limits the state that a sender keeps for each receiver.
pub(crate) const MAX_AHEAD: u32 = 65_536;

/// Value that replaces the number of complete blocks, for a receiver that needs no more symbols.
pub(crate) const ALL: u32 = u32::MAX;

/// Limits for objects that a peer announces, and for sessions that peers open.
/// A host drops and counts packets that exceed a limit ([`Host::ignored`](crate::scdp::Host::ignored)).
///
/// One limit is fixed: a receiver requests blocks at most 65,536 ahead of its first incomplete block.
/// A sender ignores requests for later blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Smallest size of a symbol in bytes, for objects with more than one symbol.
    pub min_symbol: u32,
    /// Largest size of a symbol in bytes.
    pub max_symbol: u32,
    /// Largest number of source symbols in a block.
    pub block_symbols: u32,
    /// Largest number of hosts that send symbols of one object.
    pub senders: u16,
    /// Largest number of symbols that a sender pushes, at most 4,096.
    /// At most this number of blocks is open at the start of a session.
    pub pushed: u32,
    /// Largest number of open sessions in which this host receives. At the limit, the host rejects new sessions.
    pub sessions: u32,
    /// Largest number of sessions in time-wait in which this host receives.
    pub waiting: u32,
    /// Largest number of sessions of one peer, including sessions in time-wait.
    pub sessions_of_peer: u32,
    /// Largest number of half-open sessions.
    /// In a half-open session no requested symbol has arrived yet, so the address of the sender may be forged.
    /// The limit does not apply to verified addresses ([`Host::on_vouched`](crate::scdp::Host::on_vouched)).
    pub half_open: u32,
}

impl Limits {
    /// Widest limits that the header can express. They suit hosts that trust each other, as in a simulation.
    pub const WIDEST: Self = Self {
        min_symbol: 1,
        max_symbol: 65_535,
        block_symbols: 56_403,
        senders: u16::MAX,
        pushed: MAX_WINDOW,
        sessions: u32::MAX,
        waiting: u32::MAX,
        sessions_of_peer: u32::MAX,
        half_open: u32::MAX,
    };

    /// Limits for hosts that receive packets from unknown hosts.
    /// A symbol has 64 to 8,896 B (the payload of a jumbo frame), and a block has at most 256 symbols.
    /// An object has at most 256 senders, and each sender pushes at most 10 symbols.
    /// A host has at most 1,024 sessions, and at most 64 sessions of one peer.
    /// At most 64 sessions are half-open, and at most 8,192 sessions are in time-wait.
    pub const SOCKETS: Self = Self {
        min_symbol: 64,
        max_symbol: 8_896,
        block_symbols: 256,
        senders: 256,
        // With few pushed symbols, many senders that start at the same time fill no queue (docs/designs/scdp.md).
        pushed: 10,
        sessions: 1_024,
        waiting: 8_192,
        sessions_of_peer: 64,
        half_open: 64,
    };

    /// Checks all limits.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let least = self.min_symbol.max(1);
        check(
            "limits.max_symbol",
            self.max_symbol,
            (least..=65_535).contains(&self.max_symbol),
            "min_symbol to 65535 bytes",
        )?;
        within("limits.pushed", self.pushed, 1..=MAX_WINDOW, " symbols")
    }
}

/// Current numbers of the sessions that [`Limits`] restrict.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Number of sessions by peer. Empty if this number is not limited.
    of_peer: BTreeMap<HostId, u32>,
    pub(crate) half_open: u32,
    /// Number of sessions in time-wait.
    pub(crate) waiting: usize,
}

impl Census {
    /// Returns whether `peer` may open a session.
    /// `sessions` is the number of all sessions, including sessions in time-wait.
    pub(crate) fn has_room(
        &self,
        limits: &Limits,
        sessions: usize,
        peer: HostId,
        is_vouched: bool,
    ) -> bool {
        // A new session ends in time-wait, so the limit of sessions in time-wait must also limit new sessions.
        let of_peer = self.of_peer.get(&peer).copied().unwrap_or(0);
        // Sessions in time-wait have a separate limit, so that they cannot prevent new sessions.
        sessions.saturating_sub(self.waiting) < limits.sessions as usize
            && self.waiting < limits.waiting as usize
            && of_peer < limits.sessions_of_peer
            && (is_vouched || self.half_open < limits.half_open)
    }

    /// Counts a new session of `peer`.
    pub(crate) fn enter(&mut self, limits: &Limits, peer: HostId) {
        if limits.sessions_of_peer < u32::MAX {
            *self.of_peer.entry(peer).or_default() += 1;
        }
    }

    /// Removes a session of `peer` from the count.
    pub(crate) fn leave(&mut self, peer: HostId) {
        if let Some(count) = self.of_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&peer);
            }
        }
    }
}
