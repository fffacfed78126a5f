//! What has moved, in bytes of the application.

/// On one leg.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// The stream's position up to which the leg brought what the peer wrote.
    pub received: u64,
    /// Of these, bytes that the other leg had not brought before.
    pub fresh: u64,
    /// The position up to which it was given what we wrote.
    pub sent: u64,
    /// It was given the end of our direction.
    pub finished: bool,
    /// It brought the end of the peer's.
    pub ended: bool,
    /// Its connection is there: its hello is out, or has come.
    pub connected: bool,
}

/// On the flow.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub legs: [Counts; 2],
    /// Bytes that the application wrote.
    pub written: u64,
    /// It ended its direction.
    pub ending: bool,
    /// The position from which on the archive keeps what is written.
    pub archived_from: u64,
}
