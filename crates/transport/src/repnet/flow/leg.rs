//! Counts of transferred bytes of the application.

/// Counts of one leg.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// Position in the peer's stream up to which the leg has delivered bytes.
    pub received: u64,
    /// Delivered bytes that the other leg had not delivered before.
    pub fresh: u64,
    /// Position in our stream up to which the leg has received bytes from the driver.
    pub sent: u64,
    /// Whether the leg has received the end of our direction.
    pub finished: bool,
    /// Whether the leg has delivered the end of the peer's direction.
    pub ended: bool,
    /// Whether the connection of the leg exists: its hello was sent or has arrived.
    pub connected: bool,
}

/// Counts of the flow.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub legs: [Counts; 2],
    /// Bytes that the application wrote.
    pub written: u64,
    /// Whether the application ended its direction.
    pub ending: bool,
    /// Position in our stream at which the archive begins.
    pub archived_from: u64,
}
