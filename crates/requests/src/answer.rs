//! Header before each part of a server's answer.

use super::header::CopyId;

/// Length of the header before a part of an answer, in bytes.
pub const ANSWER_BYTES: usize = 44;

/// Header of a part of an answer. The part's bytes follow in the order that the client requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerHeader {
    /// Copy that the server answers.
    pub copy: CopyId,
    /// Class of the copy: [`HIGH`](super::HIGH) or [`LOW`](super::LOW).
    pub priority: u8,
    /// Number of bytes of the answer before this part.
    pub offset: u64,
    /// Number of bytes of this part, without this header.
    pub bytes: u64,
    /// Largest possible length of the whole answer in bytes, without headers.
    pub of: u64,
    /// Whether this part is the last part of the answer.
    pub is_last: bool,
    /// Congestion window of the answer's sender in bytes, if answers carry windows.
    /// The client then compares copies by their windows.
    pub window: Option<u64>,
}
