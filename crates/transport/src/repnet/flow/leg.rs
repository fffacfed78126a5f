//! Counts of transferred bytes, for each connection and for the flow.

/// Counts of one connection of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// Position in the peer's stream up to which the connection has delivered bytes.
    pub received: u64,
    /// Delivered bytes that the other connection had not delivered before.
    pub fresh: u64,
    /// Position in our stream up to which the driver has passed bytes to the connection.
    pub sent: u64,
    /// Whether the end of our direction was passed to the connection.
    pub finished: bool,
    /// Whether the connection has delivered the end of the peer's direction.
    pub ended: bool,
    /// Whether the connection exists: its hello was sent or has arrived.
    pub connected: bool,
}

/// Counts of the connections and bytes of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub legs: [Counts; 2],
    /// Bytes that the application wrote.
    pub written: u64,
    /// Whether the application has written its last byte.
    pub ending: bool,
    /// Position in our stream at which the archive begins.
    pub archived_from: u64,
}
