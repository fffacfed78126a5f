//! The streams between a copy's client and its server: headers, each with the bytes that it announces.
//!
//! A writer turns messages and answers into so many bytes now, and says which header they begin with
//! ([`Framed`], [`ServerEnd::write`]). A [`Reader`] is told how many bytes have arrived in order, and gives
//! headers and what follows them as soon as they are there. Over real bytes its headers are decoded from
//! these. Where segments carry lengths and no bytes, a [`SideChannel`] hands them over.

mod ends;
mod reader;
mod side_channel;
mod writer;

pub use ends::{ClientEnd, ServerEnd};
pub use reader::{Headers, Read, Reader};
pub use side_channel::SideChannel;
pub use writer::{TELLING_PART, Written};

use super::answer::{ANSWER_BYTES, AnswerHeader};
use super::header::RequestHeader;

/// A header that says how many bytes follow it.
pub trait Framed: Copy {
    /// Bytes of the header itself, at least 1.
    fn header_bytes(&self) -> u64;

    /// Bytes that follow it.
    fn body_bytes(&self) -> u64;

    /// Both together.
    fn framed_bytes(&self) -> u64 {
        self.header_bytes().saturating_add(self.body_bytes())
    }
}

impl Framed for RequestHeader {
    fn header_bytes(&self) -> u64 {
        self.purpose.header_bytes() as u64
    }

    fn body_bytes(&self) -> u64 {
        self.body
    }
}

impl Framed for AnswerHeader {
    fn header_bytes(&self) -> u64 {
        ANSWER_BYTES as u64
    }

    fn body_bytes(&self) -> u64 {
        self.bytes
    }
}
