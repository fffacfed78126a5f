//! Repair symbols of one block.

use super::choice::sums_sooner;
use super::code::{Code, check_symbol, transmission};
use super::error::CodecError;
use raptorq::{EncodingPacket, SourceBlockEncoder};
use std::sync::Arc;

/// Makes repair symbols of one block.
///
/// The first ones are sums of all source symbols, straight from the block. When so many have been
/// asked for that the crate's encoder would have taken less time, it takes over: it needs some time
/// and a copy of the block, and then little for each symbol.
#[derive(Debug)]
pub struct Encoder {
    code: Arc<Code>,
    symbol: usize,
    summed: u32,
    prepared: Option<SourceBlockEncoder>,
}

impl Encoder {
    /// For one block of the code, with symbols of `symbol` bytes.
    ///
    /// # Errors
    /// Symbols of no bytes, or of more than [`MAX_SYMBOL`](super::MAX_SYMBOL).
    pub fn new(code: Arc<Code>, symbol: usize) -> Result<Self, CodecError> {
        check_symbol(symbol)?;
        Ok(Self {
            code,
            symbol,
            summed: 0,
            prepared: None,
        })
    }

    /// Writes repair symbols of `block`, each of which is named by its encoding symbol identifier (K to
    /// 2^24 - 1), into the bytes beside it. Several at once take less time than one after the other.
    /// All calls have to give the same block.
    ///
    /// # Errors
    /// Lengths or identifiers that do not fit; nothing is written then.
    pub fn repair(
        &mut self,
        block: &[u8],
        repair: &mut [(u32, &mut [u8])],
    ) -> Result<(), CodecError> {
        self.code.check_block(block.len(), self.symbol)?;
        for (esi, bytes) in &*repair {
            self.code.check_repair(*esi, bytes.len(), self.symbol)?;
        }
        let source_symbols = self.code.source_symbols();
        if self.prepared.is_none() {
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
