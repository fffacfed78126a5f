//! RaptorQ (RFC 6330) over real bytes: repair symbols of one source block, and its source symbols
//! from any that have arrived.
//!
//! The code is systematic: a repair symbol is a sum over GF(256) of the block's source symbols, each
//! times a factor. The factors of a repair symbol are its row of the generator. With l source symbols
//! missing, l rows are a system of l equations, whose solution is again a sum of what has arrived. So
//! a block that lost little takes one pass over what has arrived, and only what is missing is
//! computed, in the place where it belongs. The rows come from the crate `raptorq`, which also
//! encodes and decodes where much is wanted or missing: there its sparse solver needs less work.
//!
//! - [`Code`]: the code of blocks of K source symbols. [`Codes`] keeps those that were used last.
//! - [`Encoder`]: repair symbols of one block.
//! - [`Code::recover`]: the missing source symbols of one block, in place.
//! - [`Kernel`]: the arithmetic, by whatever vector instructions the processor has.
//!
//! A block is the bytes of its symbols, one after the other. Its last symbol may be shorter than the
//! others: the zeros that RFC 6330 pads it with are never stored.
//!
//! Nothing here panics on a wrong length or identifier: they are errors.

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
