//! Limits of codes and blocks, and errors of wrong arguments.

/// Source symbols of a block, at most (RFC 6330, section 5.1.2, K'_max).
pub const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// Bytes of a symbol, at most.
pub const MAX_SYMBOL: usize = u16::MAX as usize;

/// Wrong argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodecError {
    /// A block of no source symbols, or of more than [`MAX_SOURCE_SYMBOLS`].
    #[error("a block of {found} source symbols: it has 1 to {MAX_SOURCE_SYMBOLS}")]
    SourceSymbols {
        /// Number of source symbols in the call.
        found: u32,
    },
    /// Symbols of no bytes, or of more than [`MAX_SYMBOL`].
    #[error("a symbol of {found} bytes: it has 1 to {MAX_SYMBOL}")]
    Symbol {
        /// Number of bytes in the call.
        found: usize,
    },
    /// A block that does not have K symbols. The last symbol must have at least one byte.
    #[error("a block of {found} bytes: it has {least} to {most}")]
    Block {
        /// Bytes of the block.
        found: usize,
        /// Bytes of K full symbols.
        most: usize,
        /// Bytes of K - 1 full symbols, plus one byte.
        least: usize,
    },
    /// A set of source symbols with another K.
    #[error("a set of {found} source symbols for a block of {expected}")]
    Present {
        /// K of the set.
        found: u32,
        /// K of the code.
        expected: u32,
    },
    /// A repair symbol with a wrong number of bytes.
    #[error("repair symbol {esi} has {found} bytes: the symbols of its block have {expected}")]
    Repair {
        /// Encoding symbol identifier of the repair symbol.
        esi: u32,
        /// Bytes of the repair symbol.
        found: usize,
        /// Bytes of a symbol.
        expected: usize,
    },
    /// An encoding symbol identifier that belongs to a source symbol or has more than 24 bits.
    #[error(
        "symbol {found} is no repair symbol: those are {first} to {}",
        tailcut_transport::scdp::MAX_ESI - 1
    )]
    Esi {
        /// Identifier.
        found: u32,
        /// First identifier of a repair symbol, K.
        first: u32,
    },
}
