//! Archive of a flow: written data that is kept for a connection that opens later.

/// Counts of the written data that is kept for a later connection.
/// The archive stores two values: the number of bytes from byte 0, and whether the end was written.
/// The owner of the bytes (a driver over real sockets) keeps the bytes while the archive is [kept](Self::is_kept).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Archive {
    bytes: u64,
    finished: bool,
    kept: bool,
}

impl Archive {
    /// Creates an archive that keeps all data.
    pub const fn start() -> Self {
        Self {
            bytes: 0,
            finished: false,
            kept: true,
        }
    }

    /// Adds `bytes` that the application wrote.
    pub const fn write(&mut self, bytes: u64) {
        if self.kept && !self.finished {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }

    /// Records that the application wrote its last byte.
    pub const fn finish(&mut self) {
        self.finished |= self.kept;
    }

    /// Frees the archive. It keeps nothing after this call.
    pub const fn free(&mut self) {
        *self = Self {
            bytes: 0,
            finished: false,
            kept: false,
        };
    }

    /// Returns whether the archive keeps data.
    pub const fn is_kept(&self) -> bool {
        self.kept
    }
    /// Returns the number of kept bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns whether the end of the stream is kept.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }
}
