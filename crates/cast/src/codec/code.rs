//! Code of blocks of K source symbols. It has the rows of the generator matrix, and decodes blocks.

use super::choice::solves_sooner;
use super::error::{CodecError, MAX_SOURCE_SYMBOLS, MAX_SYMBOL};
use super::kernel::Kernel;
use super::present::Present;
use super::solve::System;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_transport::scdp::MAX_ESI;

/// Largest K (number of source symbols) for which the generator matrix is stored. The matrix needs about 2 K^2 bytes.
/// For the largest K of RFC 6330, it would need 6 GB.
const MAX_KEPT: u32 = 1_024;

/// Number of stored rows. The first repair symbols are used most, so the rows of these symbols are stored.
const KEPT_ROWS: usize = 64;

/// Code of blocks of K source symbols. It stores nothing about single blocks, so threads can share it.
///
/// The time to create a code is about the time to decode a few blocks (a third of a millisecond for K = 101).
#[derive(Debug)]
pub struct Code {
    source_symbols: u32,
    kernel: Kernel,
    /// Rows of the generator matrix. `None` if K is too large.
    generator: Option<Generator>,
}

/// Result of recovering a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Recovery {
    /// All source symbols are complete.
    Whole,
    /// At least one more repair symbol is needed. Nothing was written.
    NeedsMore,
}

impl Code {
    /// Creates the code of blocks with `source_symbols` source symbols (K), 1 to [`MAX_SOURCE_SYMBOLS`].
    pub fn new(source_symbols: u32) -> Result<Self, CodecError> {
        Self::with_kernel(source_symbols, Kernel::best())
    }

    /// Creates the code with a selected kernel, so that measurements can compare kernels.
    pub fn with_kernel(source_symbols: u32, kernel: Kernel) -> Result<Self, CodecError> {
        if !(1..=MAX_SOURCE_SYMBOLS).contains(&source_symbols) {
            return Err(CodecError::SourceSymbols {
                found: source_symbols,
            });
        }
        Ok(Self {
            source_symbols,
            kernel,
            generator: (source_symbols <= MAX_KEPT).then(|| Generator::new(source_symbols)),
        })
    }

    /// Returns the number of source symbols of a block (K).
    pub fn source_symbols(&self) -> u32 {
        self.source_symbols
    }

    /// Computes the missing source symbols of a block, and writes them to their offsets in `block`.
    /// The other source symbols must already be at their offsets.
    /// The bytes at the offsets of missing symbols are ignored.
    /// Each element of `repair` has an encoding symbol identifier, and the `symbol` bytes of a repair symbol.
    /// The elements may have any order and may occur twice.
    ///
    /// # Errors
    /// A length, an identifier or the set of source symbols does not match the code.
    pub fn recover(
        &self,
        block: &mut [u8],
        symbol: usize,
        present: &Present,
        repair: &[(u32, &[u8])],
    ) -> Result<Recovery, CodecError> {
        self.check_block(block.len(), symbol)?;
        if present.source_symbols() != self.source_symbols {
            return Err(CodecError::Present {
                found: present.source_symbols(),
                expected: self.source_symbols,
            });
        }
        for &(esi, bytes) in repair {
            self.check_repair(esi, bytes.len(), symbol)?;
        }
        let missing = present.missing();
        if missing == 0 {
            return Ok(Recovery::Whole);
        }
        // Each repair symbol is one equation, and each missing symbol is one unknown.
        if repair.len() < missing as usize {
            return Ok(Recovery::NeedsMore);
        }
        // The missing symbol of an empty block has no bytes.
        if block.is_empty() {
            return Ok(Recovery::Whole);
        }
        match &self.generator {
            Some(generator) if solves_sooner(self.kernel, self.source_symbols, missing, symbol) => {
                Ok(self.solve(generator, block, symbol, present, repair))
            }
            _ => Ok(self.decode(block, symbol, present, repair)),
        }
    }

    /// Recovers a block with a system of equations, one equation for each missing symbol.
    fn solve(
        &self,
        generator: &Generator,
        block: &mut [u8],
        symbol: usize,
        present: &Present,
        repair: &[(u32, &[u8])],
    ) -> Recovery {
        let missing = (0..self.source_symbols).filter(|&esi| !present.contains(esi));
        let missing = missing.map(|esi| esi as usize).collect();
        let mut system = System::new(self.kernel, self.source_symbols as usize, missing);
        let mut used = Vec::with_capacity(present.missing() as usize);
        for &(esi, bytes) in repair {
            if system.is_solvable() {
                break;
            }
            if generator.with_row(esi, |row| system.add(row)) {
                used.push(bytes);
            }
        }
        if !system.is_solvable() {
            return Recovery::NeedsMore;
        }
        let rows = system.solve();

        let mut inputs: Vec<&[u8]> = Vec::with_capacity(self.source_symbols as usize);
        let mut outputs = Vec::with_capacity(present.missing() as usize);
        for (esi, bytes) in (0..).zip(block.chunks_mut(symbol)) {
            if present.contains(esi) {
                inputs.push(bytes);
            } else {
                outputs.push(bytes);
            }
        }
        inputs.extend(used);
        sums(self.kernel, &rows, &inputs, &mut outputs);
        Recovery::Whole
    }

    /// Recovers a block with the solver of `raptorq`.
    fn decode(
        &self,
        block: &mut [u8],
        symbol: usize,
        present: &Present,
        repair: &[(u32, &[u8])],
    ) -> Recovery {
        let whole = self.source_symbols as usize * symbol;
        let mut decoder = SourceBlockDecoder::new(0, &transmission(symbol), whole as u64);
        let source = (0..).zip(block.chunks(symbol));
        let packets = source
            .filter(|&(esi, _)| present.contains(esi))
            .chain(repair.iter().copied())
            .map(|(esi, bytes)| {
                // The last source symbol may be shorter than the others. RFC 6330 pads it with zeros.
                let mut padded = bytes.to_vec();
                padded.resize(symbol, 0);
                EncodingPacket::new(PayloadId::new(0, esi), padded)
            });
        let Some(decoded) = decoder.decode(packets) else {
            return Recovery::NeedsMore;
        };
        for (esi, (to, from)) in (0..).zip(block.chunks_mut(symbol).zip(decoded.chunks(symbol))) {
            if !present.contains(esi) {
                to.copy_from_slice(&from[..to.len()]);
            }
        }
        Recovery::Whole
    }

    /// Computes repair symbols of a block as sums of all source symbols. Returns `false` if the rows are not stored.
    pub(super) fn sum_repair(
        &self,
        block: &[u8],
        symbol: usize,
        repair: &mut [(u32, &mut [u8])],
    ) -> bool {
        let Some(generator) = &self.generator else {
            return false;
        };
        let inputs: Vec<_> = block.chunks(symbol).collect();
        let mut rows = Vec::with_capacity(repair.len() * inputs.len());
        let mut outputs = Vec::with_capacity(repair.len());
        for (esi, output) in repair {
            generator.with_row(*esi, |row| rows.extend_from_slice(row));
            outputs.push(&mut **output);
        }
        sums(self.kernel, &rows, &inputs, &mut outputs);
        true
    }

    /// Returns the kernel. The choice of the encoding method depends on it.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Checks that a block of `found` bytes has K symbols of `symbol` bytes. The last symbol may be shorter.
    /// The only symbol of an object without bytes is empty.
    pub(super) fn check_block(&self, found: usize, symbol: usize) -> Result<(), CodecError> {
        check_symbol(symbol)?;
        let most = self.source_symbols as usize * symbol;
        let least = most - symbol + 1;
        let is_empty_object = found == 0 && self.source_symbols == 1;
        if (least..=most).contains(&found) || is_empty_object {
            Ok(())
        } else {
            Err(CodecError::Block { found, most, least })
        }
    }

    /// Checks that `esi` identifies a repair symbol, and that the symbol's length `found` is the symbol size `symbol`.
    pub(super) fn check_repair(
        &self,
        esi: u32,
        found: usize,
        symbol: usize,
    ) -> Result<(), CodecError> {
        let first = self.source_symbols;
        if !(first..MAX_ESI).contains(&esi) {
            return Err(CodecError::Esi { found: esi, first });
        }
        if found != symbol {
            let expected = symbol;
            return Err(CodecError::Repair {
                esi,
                found,
                expected,
            });
        }
        Ok(())
    }
}

/// Sets each output to the sum of the inputs, each multiplied by its factor in the output's row.
/// An input or output that is the last source symbol of a block may be shorter.
/// The missing bytes of an input count as 0.
fn sums(kernel: Kernel, rows: &[u8], inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
    let lengths = || {
        let outputs = outputs.iter().map(|output| output.len());
        inputs.iter().map(|input| input.len()).chain(outputs)
    };
    let (Some(short), Some(long)) = (lengths().min(), lengths().max()) else {
        return;
    };
    if short == long {
        kernel.product(rows, inputs, outputs);
        return;
    }
    // The first product covers the bytes that all symbols have. The second covers the other bytes of the full symbols.
    let cut: Vec<_> = inputs.iter().map(|input| &input[..short]).collect();
    let mut heads: Vec<_> = outputs
        .iter_mut()
        .map(|output| &mut output[..short])
        .collect();
    kernel.product(rows, &cut, &mut heads);

    let rest: Vec<_> = inputs
        .iter()
        .filter_map(|input| input.get(short..long))
        .collect();
    let mut tails = Vec::with_capacity(outputs.len());
    let mut tail_rows = Vec::with_capacity(rows.len());
    for (output, row) in outputs.iter_mut().zip(rows.chunks(inputs.len())) {
        if let Some(tail) = output.get_mut(short..long) {
            tails.push(tail);
            let factors = row.iter().zip(inputs);
            tail_rows.extend(
                factors
                    .filter(|(_, input)| input.len() == long)
                    .map(|(f, _)| f),
            );
        }
    }
    kernel.product(&tail_rows, &rest, &mut tails);
}

/// Checks that a symbol has 1 to [`MAX_SYMBOL`] bytes.
pub(super) fn check_symbol(symbol: usize) -> Result<(), CodecError> {
    if (1..=MAX_SYMBOL).contains(&symbol) {
        Ok(())
    } else {
        Err(CodecError::Symbol { found: symbol })
    }
}

/// Returns the parameters of an object in the format of the crate `raptorq`. A single block needs only the symbol size.
pub(super) fn transmission(symbol: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(0, symbol as u16, 1, 1, 1)
}

/// Source of the rows of the generator matrix.
#[derive(Debug)]
struct Generator {
    source_symbols: u32,
    /// Encoder of a special block: source symbol i is 1 at byte i and 0 at all other bytes.
    /// So byte i of a repair symbol is the factor of source symbol i.
    identity: SourceBlockEncoder,
    /// The first [`KEPT_ROWS`] rows.
    kept: Vec<u8>,
}

impl Generator {
    fn new(source_symbols: u32) -> Self {
        let k = source_symbols as usize;
        let mut identity = vec![0; k * k];
        // Byte i of symbol i is at position i (k + 1).
        for factor in identity.iter_mut().step_by(k + 1) {
            *factor = 1;
        }
        let identity = SourceBlockEncoder::new(0, &transmission(k), &identity);
        let kept = identity.repair_packets(0, KEPT_ROWS as u32);
        Self {
            source_symbols,
            kept: kept
                .iter()
                .flat_map(EncodingPacket::data)
                .copied()
                .collect(),
            identity,
        }
    }

    /// Calls `read` with the row of the repair symbol `esi`. The range of `esi` is K to [`MAX_ESI`] - 1.
    fn with_row<T>(&self, esi: u32, read: impl FnOnce(&[u8]) -> T) -> T {
        let at = esi - self.source_symbols;
        let k = self.source_symbols as usize;
        if let Some(row) = self.kept.chunks(k).nth(at as usize) {
            return read(row);
        }
        let packets = self.identity.repair_packets(at, 1);
        read(packets.first().map_or(&[], EncodingPacket::data))
    }
}

/// Cache of the codes that were used most recently.
#[derive(Debug)]
pub struct Codes {
    capacity: usize,
    codes: Mutex<VecDeque<Arc<Code>>>,
}

impl Codes {
    /// Creates an empty cache for `capacity` codes, at least 1. A code needs up to about 2 K^2 bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            codes: Mutex::new(VecDeque::new()),
        }
    }

    /// Returns the code of blocks of `source_symbols` symbols. Creates the code if the cache does not contain it.
    ///
    /// # Errors
    /// Same as [`Code::new`].
    pub fn get(&self, source_symbols: u32) -> Result<Arc<Code>, CodecError> {
        let keep = |code: Arc<Code>| {
            let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have added a code for the same K in the meantime.
            codes.retain(|other| other.source_symbols != source_symbols);
            // The most recently used codes are at the front of the list, so the cache drops codes from the end.
            codes.truncate(self.capacity - 1);
            codes.push_front(Arc::clone(&code));
            code
        };
        let found = {
            let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = codes.iter();
            all.find(|code| code.source_symbols == source_symbols)
                .cloned()
        };
        match found {
            Some(code) => Ok(keep(code)),
            // The code is created without the lock, so that other threads need not wait.
            None => Ok(keep(Arc::new(Code::new(source_symbols)?))),
        }
    }
}
