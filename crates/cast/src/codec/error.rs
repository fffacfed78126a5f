//! What codes and blocks can be, and what is wrong with one that a caller asked for.

use core::fmt;

/// The most source symbols of a block (RFC 6330, section 5.1.2, K'_max).
pub const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// The most bytes of a symbol.
pub const MAX_SYMBOL: usize = u16::MAX as usize;

/// What a caller asked for that the code does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodecError {
    /// A block of no source symbols, or of more than [`MAX_SOURCE_SYMBOLS`].
    SourceSymbols {
        /// How many were asked for.
        found: u32,
    },
    /// Symbols of no bytes, or of more than [`MAX_SYMBOL`].
    Symbol {
        /// How many bytes were asked for.
        found: usize,
    },
    /// A block that is not K symbols, the last of which has a byte at least.
    Block {
        /// Its bytes.
        found: usize,
        /// The bytes of K whole symbols.
        most: usize,
        /// The bytes of K - 1 whole symbols and of one byte.
        least: usize,
    },
    /// A set of source symbols that is of another K.
    Present {
        /// The K of the set.
        found: u32,
        /// The K of the code.
        expected: u32,
    },
    /// A repair symbol that has not as many bytes as the others.
    Repair {
        /// Its encoding symbol identifier.
        esi: u32,
        /// Its bytes.
        found: usize,
        /// The bytes of a symbol.
        expected: usize,
    },
    /// An encoding symbol identifier that is a source symbol's, or has more than 24 bits.
    Esi {
        /// The identifier.
        found: u32,
        /// The first one of a repair symbol, K.
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
