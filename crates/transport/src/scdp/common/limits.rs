//! What a host takes from its peers: whatever they claim, its memory and the work for a packet have a
//! bound.

use crate::config::{ConfigError, check, within};
use alloc::collections::BTreeMap;
use tailcut_units::HostId;

/// Symbols that a sender may push, and that a window may have; a receiver takes more for nonsense.
pub(crate) const MAX_WINDOW: u32 = 4_096;

/// A receiver may ask for blocks as far ahead of the first that it has not whole, and no farther: what
/// is remembered of it is bounded.
pub(crate) const MAX_AHEAD: u32 = 65_536;

/// All blocks: of a receiver that is done.
pub(crate) const ALL: u32 = u32::MAX;

/// What a peer may claim of an object, and how many sessions peers may open. What claims more is
/// dropped and counted ([`Host::ignored`](crate::scdp::Host::ignored)).
///
/// Beside these: a receiver asks for blocks at most 65,536 ahead of the first that it has not whole,
/// and a sender forgets what is farther ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a symbol of an object that has more than one, at least.
    pub min_symbol: u32,
    /// Bytes of a symbol, at most.
    pub max_symbol: u32,
    /// Source symbols of a block, at most.
    pub block_symbols: u32,
    /// Hosts that send symbols of one object, at most.
    pub senders: u16,
    /// Symbols that a sender pushes, at most 4,096. A session has as many blocks open at once at its
    /// beginning, at most.
    pub pushed: u32,
    /// Sessions in which this host receives and that have not ended, at most. The newest is refused.
    pub sessions: u32,
    /// The same in time-wait.
    pub waiting: u32,
    /// Sessions of one peer, those in time-wait included.
    pub sessions_of_peer: u32,
    /// Sessions in which nothing that this host has asked for has come yet, at most: their senders'
    /// addresses may be forged. A driver that has another proof of an address
    /// ([`Host::on_vouched`](crate::scdp::Host::on_vouched)) is not held to this.
    pub half_open: u32,
}

impl Limits {
    /// What the header can express: for hosts that trust each other, as in a simulation.
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

    /// For hosts that anybody reaches: symbols of 64 to 8,896 B (what a jumbo frame takes), blocks of
    /// 256 symbols, 256 senders, 10 symbols pushed, 1,024 sessions, 64 of them of one peer and 64
    /// half-open, and 8,192 in time-wait.
    pub const SOCKETS: Self = Self {
        min_symbol: 64,
        max_symbol: 8_896,
        block_symbols: 256,
        senders: 256,
        pushed: 10,
        sessions: 1_024,
        waiting: 8_192,
        sessions_of_peer: 64,
        half_open: 64,
    };

    /// Checks every limit.
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

/// How many sessions a host has by now, of those that [`Limits`] count.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// By peer; left empty where peers have no limit.
    of_peer: BTreeMap<HostId, u32>,
    pub(crate) half_open: u32,
    /// Those that have ended and are not forgotten yet.
    pub(crate) waiting: usize,
}

impl Census {
    /// Whether one more session, by `peer`, may be opened beside `sessions`, those in time-wait included.
    pub(crate) fn has_room(
        &self,
        limits: &Limits,
        sessions: usize,
        peer: HostId,
        is_vouched: bool,
    ) -> bool {
        let of_peer = self.of_peer.get(&peer).copied().unwrap_or(0);
        sessions.saturating_sub(self.waiting) < limits.sessions as usize
            && self.waiting < limits.waiting as usize
            && of_peer < limits.sessions_of_peer
            && (is_vouched || self.half_open < limits.half_open)
    }

    /// A session of `peer` has been opened.
    pub(crate) fn enter(&mut self, limits: &Limits, peer: HostId) {
        if limits.sessions_of_peer < u32::MAX {
            *self.of_peer.entry(peer).or_default() += 1;
        }
    }

    /// It is forgotten.
    pub(crate) fn leave(&mut self, peer: HostId) {
        if let Some(count) = self.of_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&peer);
            }
        }
    }
}
