//! State of one source block at its receiver.

use crate::tcp::ranges::Ranges;
use alloc::boxed::Box;
use alloc::vec;
use tailcut_units::Time;

/// Progress of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The block needs more symbols.
    Receiving,
    /// A codec decodes the block. The result is available at `until`.
    /// If `until` is `Time::MAX`, the driver will report the result.
    Decoding { until: Time, decoded: bool },
    /// The block is complete: all K source symbols were received or decoded.
    Whole,
}

#[derive(Debug)]
pub(crate) struct Block {
    k: u32,
    /// One bit for each source symbol that has arrived.
    source: Box<[u64]>,
    source_received: u32,
    /// Identifiers of the repair symbols that have arrived.
    repair: Ranges,
    /// Number of distinct symbols that have arrived.
    received: u32,
    /// Number of distinct symbols at which decoding starts.
    target: u32,
    /// Number of pending symbols: pushed or requested, but neither the symbol nor its header has arrived.
    pub(crate) coming: u32,
    pub(crate) state: State,
    /// Whether the block was reported to the application.
    pub(crate) told: bool,
}

impl Block {
    /// Returns a block of `k` source symbols, none of which is requested.
    pub(crate) fn new(k: u32) -> Self {
        Self {
            k,
            source: vec![0; k.div_ceil(64) as usize].into_boxed_slice(),
            source_received: 0,
            repair: Ranges::default(),
            received: 0,
            target: k,
            coming: 0,
            state: State::Receiving,
            told: false,
        }
    }

    pub(crate) fn received(&self) -> u32 {
        self.received
    }

    pub(crate) fn missing(&self) -> u32 {
        self.k - self.source_received
    }

    /// Returns the number of symbols to request in addition to the pending symbols.
    #[inline]
    pub(crate) fn needs(&self) -> u32 {
        self.needs_without(0)
    }

    /// Returns the number of symbols to request if `late` of the pending symbols are not expected to arrive.
    #[inline]
    pub(crate) fn needs_without(&self, late: u32) -> u32 {
        match self.state {
            State::Receiving => {
                let counted_on = self.received + self.coming - late;
                self.target.saturating_sub(counted_on)
            }
            State::Decoding { .. } | State::Whole => 0,
        }
    }

    /// Records that symbol `esi` has arrived. Returns `false` for a symbol that arrived before.
    #[inline]
    pub(crate) fn insert(&mut self, esi: u32) -> bool {
        let before = self.received;
        if esi < self.k {
            let (word, bit) = (&mut self.source[esi as usize / 64], 1 << (esi % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.source_received += 1;
                self.received += 1;
            }
        } else if self.repair.insert(u64::from(esi), u64::from(esi) + 1) > 0 {
            self.received += 1;
        }
        // All source symbols have arrived, so nothing must be decoded. A loss or a failure may have raised the target.
        if self.source_received == self.k {
            self.state = State::Whole;
        }
        self.received > before
    }

    /// Raises the target after a loss: `overhead` symbols beyond K make it unlikely that decoding fails.
    #[inline]
    pub(crate) fn on_loss(&mut self, overhead: u32) {
        self.target = self.target.max(self.k + overhead);
    }

    /// Returns whether enough symbols have arrived to start decoding.
    #[inline]
    pub(crate) fn is_decodable(&self) -> bool {
        self.state == State::Receiving && self.received >= self.target
    }

    /// Raises the target by one symbol after decoding has failed.
    pub(crate) fn on_failure(&mut self) {
        self.state = State::Receiving;
        // `received` includes symbols that arrived during the decoding.
        // The next attempt needs one symbol more than `received`.
        self.target = self.received.max(self.target) + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_came_before_does_not_count() {
        let mut block = Block::new(70);
        for esi in [0, 69, 0, 100, 101, 100, 69] {
            block.insert(esi);
        }
        assert_eq!((block.received(), block.missing()), (4, 68));
    }

    #[test]
    fn all_source_symbols_make_it_whole_whatever_it_aimed_at() {
        let mut block = Block::new(3);
        block.on_loss(2);
        block.insert(5);
        for esi in 0..3 {
            assert_eq!(block.state, State::Receiving);
            block.insert(esi);
        }
        assert_eq!((block.state, block.needs()), (State::Whole, 0));
    }

    #[test]
    fn it_aims_at_k_then_at_more_after_a_loss_and_after_a_failure() {
        let mut block = Block::new(4);
        block.coming = 3;
        assert_eq!(block.needs(), 1);
        block.coming = 2;
        block.on_loss(2);
        assert_eq!(block.needs(), 4);
        block.coming = 0;
        for esi in 2..8 {
            assert!(!block.is_decodable());
            block.insert(esi);
        }
        assert!(block.is_decodable());
        block.on_failure();
        assert_eq!(block.needs(), 1);
    }
}
