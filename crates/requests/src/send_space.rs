//! Limit of the bytes that a server may pass to its transport.

/// Bytes of an answer that a server may pass to its transport. Used if answers carry windows.
/// The limit is small, so that the window in the next header is still correct when the header is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendSpace {
    /// Number of bytes that the server may pass on now.
    /// The part that contains the last of these bytes may be passed on completely.
    pub bytes: u64,
    /// Congestion window of the sender in bytes.
    pub window: u64,
}
