//! Lengths of headers and their bodies.

use crate::answer::{ANSWER_BYTES, AnswerHeader};
use crate::header::RequestHeader;

/// Header that contains the length of the body that follows it.
pub trait Framed: Copy {
    /// Length of the header in bytes, at least 1.
    fn header_bytes(&self) -> u64;

    /// Length of the body in bytes.
    fn body_bytes(&self) -> u64;

    /// Length of header and body together, in bytes.
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
