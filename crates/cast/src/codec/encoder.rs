//! Encoder of the repair symbols of one block.

use super::choice::sums_sooner;
use super::code::{Code, check_symbol, transmission};
use super::error::CodecError;
use raptorq::{EncodingPacket, SourceBlockEncoder};
use std::sync::Arc;

/// Encoder of the repair symbols of one block.
///
/// The first repair symbols are computed directly as sums of all source symbols.
/// The encoder of the crate `raptorq` first needs a fixed time and a copy of the block.
/// Then it needs little time per symbol.
/// So for many repair symbols, the encoder of the crate `raptorq` is faster and is used.
#[derive(Debug)]
pub struct Encoder {
    code: Arc<Code>,
    symbol: usize,
    /// Number of repair symbols that were computed so far.
    summed: u32,
    /// Encoder of the crate `raptorq`. `None` before its first use.
    prepared: Option<SourceBlockEncoder>,
}

impl Encoder {
    /// Creates an encoder for one block of the code, with symbols of `symbol` bytes.
    ///
    /// # Errors
    /// The size of a symbol is 0 bytes, or larger than [`MAX_SYMBOL`](super::MAX_SYMBOL).
    pub fn new(code: Arc<Code>, symbol: usize) -> Result<Self, CodecError> {
        check_symbol(symbol)?;
        Ok(Self {
            code,
            symbol,
            summed: 0,
            prepared: None,
        })
    }

    /// Computes repair symbols of `block`.
    /// Each element of `repair` has an encoding symbol identifier (K to 2^24 - 1) and the buffer for the symbol.
    /// One call for several symbols is faster than several calls. All calls must get the same block.
    ///
    /// # Errors
    /// A length or an identifier is not allowed. In this case nothing is written.
    pub fn repair(
        &mut self,
        block: &[u8],
        repair: &mut [(u32, &mut [u8])],
    ) -> Result<(), CodecError> {
        self.code.check_block(block.len(), self.symbol)?;
        for (esi, bytes) in &*repair {
            self.code.check_repair(*esi, bytes.len(), self.symbol)?;
        }
        // Every repair symbol is a sum of source symbols. Without bytes, the sum is 0.
        if block.is_empty() {
            repair.iter_mut().for_each(|(_, bytes)| bytes.fill(0));
            return Ok(());
        }
        let source_symbols = self.code.source_symbols();
        if self.prepared.is_none() {
            // The faster method depends on the number of symbols over all calls.
            self.summed = self.summed.saturating_add(repair.len() as u32);
            let sum = sums_sooner(self.code.kernel(), self.summed, self.symbol);
            if sum && self.code.sum_repair(block, self.symbol, repair) {
                return Ok(());
            }
        }
        let prepared = self.prepared.get_or_insert_with(|| {
            let mut padded = block.to_vec();
            padded.resize(source_symbols as usize * self.symbol, 0);
            SourceBlockEncoder::new(0, &transmission(self.symbol), &padded)
        });
        for (esi, bytes) in repair {
            let packets = prepared.repair_packets(*esi - source_symbols, 1);
            bytes.copy_from_slice(packets.first().map_or(&[], EncodingPacket::data));
        }
        Ok(())
    }
}
