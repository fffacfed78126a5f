//! What a server says before each part of an answer.

use super::header::CopyId;

/// Bytes of the header of a part of an answer.
pub const ANSWER_BYTES: usize = 44;

/// The header of a part of an answer. Its bytes follow in the order that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerHeader {
    /// Of which copy.
    pub copy: CopyId,
    /// The copy's class: [`HIGH`](super::HIGH) or [`LOW`](super::LOW).
    pub priority: u8,
    /// Bytes of the answer before this part.
    pub offset: u64,
    /// Bytes of this part.
    pub bytes: u64,
    /// Bytes of all parts together, at most.
    pub of: u64,
    /// Whether no part follows.
    pub is_last: bool,
    /// The congestion window of the answer's sender in bytes, where answers tell windows: what
    /// the client compares copies by.
    pub window: Option<u64>,
}
