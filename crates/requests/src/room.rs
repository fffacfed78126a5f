//! Room for more of an answer.

/// Bytes of an answer that its server may hand over, where answers carry windows: so few that the window in
/// the next header is still true when the header leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Bytes that the client wants now. The server may hand over the whole part in which they end.
    pub bytes: u64,
    /// The sender's congestion window in bytes.
    pub window: u64,
}
