//! Streams between a copy's client and its server: headers, each followed by the bytes that it announces.
//!
//! A writer turns messages and answers into a number of bytes for the stream ([`Framed`], [`ServerEnd::write`]).
//! The writer returns the header at the front of these bytes.
//! A [`Reader`] receives the number of bytes that have arrived in order.
//! The reader returns each header and each number of body bytes as soon as they have arrived.
//! With real bytes, the reader decodes headers from these bytes.
//! If segments carry only lengths, a [`SideChannel`] carries the headers.

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
