//! Limit of the bytes that a server may pass to its transport.

/// Bytes of an answer that a server may pass to its transport, where answers carry windows. The limit is small, so that
/// the window in the next header is still correct when the header is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendSpace {
    /// Bytes that the client wants now. The server may pass on the whole part in which they end.
    pub bytes: u64,
    /// Congestion window of the sender in bytes.
    pub window: u64,
}
