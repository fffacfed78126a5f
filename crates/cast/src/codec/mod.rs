//! RaptorQ (RFC 6330) over real bytes. It creates repair symbols of a source block.
//! From any symbols that have arrived, it recovers the missing source symbols.
//!
//! The code is systematic.
//! A repair symbol is a sum over GF(256) of the block's source symbols, each multiplied by a factor.
//! The factors of a repair symbol are its row of the generator matrix.
//! If l source symbols are missing, the rows of l repair symbols form a system of l equations.
//! The solution of the system expresses each missing symbol as a sum of symbols that have arrived.
//! So a block with few losses needs only one pass over these symbols.
//! Only the missing symbols are computed, and they are written to their offsets in the block.
//!
//! The rows come from the crate `raptorq`.
//! If many symbols are requested or missing, the sparse solver of `raptorq` needs less work, so it is used.
//!
//! - [`Code`]: code of blocks of K source symbols. [`Codes`] is a cache of the last used codes.
//! - [`Encoder`]: encoder of the repair symbols of one block.
//! - [`Code::recover`]: recovery of the missing source symbols of one block, in place.
//! - [`Kernel`]: the arithmetic, with the vector instructions of the processor.
//!
//! A block contains the bytes of its source symbols, one after another. The last symbol may be shorter than the others.
//! RFC 6330 pads it with zeros, but the block does not contain these zeros.
//!
//! A wrong length or identifier is an error. It never causes a panic.

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
