//! How long headers are, and what follows them.

use crate::answer::{ANSWER_BYTES, AnswerHeader};
use crate::header::RequestHeader;

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
