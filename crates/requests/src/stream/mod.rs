//! The streams between a copy's client and its server: headers, each with the bytes that it announces.
//!
//! A writer turns messages and answers into so many bytes now, and says which header they begin with
//! ([`Framed`], [`ServerEnd::write`]). A [`Reader`] is told how many bytes have arrived in order, and gives
//! headers and what follows them as soon as they are there. Over real bytes its headers are decoded from
//! these. Where segments carry lengths and no bytes, a [`SideChannel`] hands them over.

mod ends;
mod framed;
mod reader;
mod side_channel;
mod writer;

pub use ends::{ClientEnd, ServerEnd};
pub use framed::Framed;
pub use reader::{Headers, Read, Reader};
pub use side_channel::SideChannel;
pub use writer::{TELLING_PART, Written};
