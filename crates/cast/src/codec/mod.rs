//! RaptorQ (RFC 6330) over real bytes: repair symbols of one source block, and recovery of its
//! source symbols from any symbols that have arrived.
//!
//! The code is systematic. A repair symbol is a sum over GF(256) of the block's source symbols,
//! each multiplied by a factor. The factors of a repair symbol are its row of the generator matrix.
//! If l source symbols are missing, l rows form a system of l equations. In its solution, each missing symbol
//! is again a sum of symbols that have arrived. So a block with few losses needs one pass over the symbols
//! that have arrived. Only the missing symbols are computed, and they are written to their offsets in the
//! block. The rows
//! come from the crate `raptorq`. If many symbols are requested or missing, the crate also encodes
//! and decodes, because its sparse solver then needs less work.
//!
//! - [`Code`]: code of blocks of K source symbols. [`Codes`] is a cache of the last used codes.
//! - [`Encoder`]: encoder of the repair symbols of one block.
//! - [`Code::recover`]: recovery of the missing source symbols of one block, in place.
//! - [`Kernel`]: the arithmetic, with the vector instructions of the processor.
//!
//! A block contains the bytes of its symbols, one after another. Its last symbol may be shorter than the
//! others. RFC 6330 pads this symbol with zeros, but the zeros are not stored.
//!
//! A wrong length or identifier is an error and never a panic.

mod choice;
mod code;
mod encoder;
mod error;
mod kernel;
mod present;
mod solve;

pub use code::{Code, Codes, Recovery};
pub use encoder::Encoder;
pub use error::{CodecError, MAX_SOURCE_SYMBOLS, MAX_SYMBOL};
pub use kernel::Kernel;
pub use present::Present;
