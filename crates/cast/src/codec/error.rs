//! Limits of codes and blocks, and errors of wrong arguments.

/// Largest number of source symbols of a block (RFC 6330, section 5.1.2, K'_max).
pub const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// Largest symbol, in bytes. The crate has 16 bits for it.
pub const MAX_SYMBOL: usize = u16::MAX as usize;

/// Wrong argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodecError {
    /// The number of source symbols of a block is 0, or larger than [`MAX_SOURCE_SYMBOLS`].
    #[error("a block of {found} source symbols; allowed: 1 to {MAX_SOURCE_SYMBOLS}")]
    SourceSymbols {
        /// Number of source symbols in the call.
        found: u32,
    },
    /// The size of a symbol is 0 bytes, or larger than [`MAX_SYMBOL`].
    #[error("a symbol of {found} bytes; allowed: 1 to {MAX_SYMBOL}")]
    Symbol {
        /// Number of bytes in the call.
        found: usize,
    },
    /// The block does not have K symbols. The last symbol must have at least one byte.
    #[error("a block of {found} bytes; allowed: {least} to {most}")]
    Block {
        /// Bytes of the block.
        found: usize,
        /// Bytes of K full symbols.
        most: usize,
        /// Bytes of K - 1 full symbols, plus one byte.
        least: usize,
    },
    /// The set of source symbols is for a block with another K.
    #[error("a set of {found} source symbols for a block of {expected}")]
    Present {
        /// Number of source symbols (K) of the block that the set belongs to.
        found: u32,
        /// Number of source symbols (K) of the code.
        expected: u32,
    },
    /// A repair symbol has a wrong number of bytes.
    #[error("repair symbol {esi} has {found} bytes; allowed: {expected}, as in its block")]
    Repair {
        /// Encoding symbol identifier of the repair symbol.
        esi: u32,
        /// Bytes of the repair symbol.
        found: usize,
        /// Bytes of a symbol.
        expected: usize,
    },
    /// The encoding symbol identifier belongs to a source symbol, or has more than 24 bits.
    #[error(
        "symbol {found} is not a repair symbol; allowed: {first} to {}",
        tailcut_transport::scdp::MAX_ESI - 1
    )]
    Esi {
        /// Encoding symbol identifier in the call.
        found: u32,
        /// First identifier of a repair symbol, K.
        first: u32,
    },
}
