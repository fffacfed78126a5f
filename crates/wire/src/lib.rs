//! Headers to bytes and back.
#![no_std]

extern crate alloc;

pub mod capture;
mod checksum;
mod codec;
pub mod foreign;
pub mod ndp;
pub mod pfabric;
mod prefix;
pub mod rans;
pub mod scdp;
mod segment;

pub use codec::{DecodeError, EncodeError};
pub use prefix::{Magic, PREFIX_BYTES, Packet, Prefix, VERSION};
pub use segment::{MAX_HEADER_BYTES, decode, encode, set_condition};
