//! Limits of codes and blocks, and errors about wrong arguments.

/// Largest number of source symbols of a block (RFC 6330, section 5.1.2, K'_max).
pub const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// Largest size of a symbol in bytes. The crate `raptorq` stores the size in 16 bits.
pub const MAX_SYMBOL: usize = u16::MAX as usize;

/// Error about a wrong argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodecError {
    /// The number of source symbols of a block is 0, or larger than [`MAX_SOURCE_SYMBOLS`].
    #[error("a block of {found} source symbols; allowed: 1 to {MAX_SOURCE_SYMBOLS}")]
    SourceSymbols {
        /// Number of source symbols that the caller gave.
        found: u32,
    },
    /// The size of a symbol is 0 bytes, or larger than [`MAX_SYMBOL`].
    #[error("a symbol of {found} bytes; allowed: 1 to {MAX_SYMBOL}")]
    Symbol {
        /// Size of a symbol that the caller gave, in bytes.
        found: usize,
    },
    /// The block has a wrong length. It must have K symbols, and the last symbol must have at least one byte.
    #[error("a block of {found} bytes; allowed: {least} to {most}")]
    Block {
        /// Length of the block in bytes.
        found: usize,
        /// Largest allowed length in bytes: K full symbols.
        most: usize,
        /// Smallest allowed length in bytes: K - 1 full symbols and one more byte.
        least: usize,
    },
    /// The set of source symbols belongs to a block with a different K.
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
        /// Size of the repair symbol in bytes.
        found: usize,
        /// Required size of a symbol in bytes.
        expected: usize,
    },
    /// The encoding symbol identifier belongs to a source symbol, or has more than 24 bits.
    #[error(
        "symbol {found} is not a repair symbol; allowed: {first} to {}",
        tailcut_transport::scdp::MAX_ESI - 1
    )]
    Esi {
        /// Encoding symbol identifier that the caller gave.
        found: u32,
        /// Smallest identifier of a repair symbol, K.
        first: u32,
    },
}
