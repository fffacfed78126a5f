//! Limits of codes and blocks, and errors of wrong arguments.

use core::fmt;

/// Source symbols of a block, at most (RFC 6330, section 5.1.2, K'_max).
pub const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// Bytes of a symbol, at most.
pub const MAX_SYMBOL: usize = u16::MAX as usize;

/// Wrong argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodecError {
    /// A block of no source symbols, or of more than [`MAX_SOURCE_SYMBOLS`].
    SourceSymbols {
        /// Number of source symbols in the call.
        found: u32,
    },
    /// Symbols of no bytes, or of more than [`MAX_SYMBOL`].
    Symbol {
        /// Number of bytes in the call.
        found: usize,
    },
    /// A block that does not have K symbols. The last symbol must have at least one byte.
    Block {
        /// Bytes of the block.
        found: usize,
        /// Bytes of K full symbols.
        most: usize,
        /// Bytes of K - 1 full symbols, plus one byte.
        least: usize,
    },
    /// A set of source symbols with another K.
    Present {
        /// K of the set.
        found: u32,
        /// K of the code.
        expected: u32,
    },
    /// A repair symbol with a wrong number of bytes.
    Repair {
        /// Encoding symbol identifier of the repair symbol.
        esi: u32,
        /// Bytes of the repair symbol.
        found: usize,
        /// Bytes of a symbol.
        expected: usize,
    },
    /// An encoding symbol identifier that belongs to a source symbol or has more than 24 bits.
    Esi {
        /// Identifier.
        found: u32,
        /// First identifier of a repair symbol, K.
        first: u32,
    },
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SourceSymbols { found } => write!(
                f,
                "a block of {found} source symbols: it has 1 to {MAX_SOURCE_SYMBOLS}"
            ),
            Self::Symbol { found } => {
                write!(f, "a symbol of {found} bytes: it has 1 to {MAX_SYMBOL}")
            }
            Self::Block { found, most, least } => {
                write!(f, "a block of {found} bytes: it has {least} to {most}")
            }
            Self::Present { found, expected } => write!(
                f,
                "a set of {found} source symbols for a block of {expected}"
            ),
            Self::Repair {
                esi,
                found,
                expected,
            } => write!(
                f,
                "repair symbol {esi} has {found} bytes: the symbols of its block have {expected}"
            ),
            Self::Esi { found, first } => write!(
                f,
                "symbol {found} is no repair symbol: those are {first} to {}",
                tailcut_transport::scdp::MAX_ESI - 1
            ),
        }
    }
}

impl std::error::Error for CodecError {}
