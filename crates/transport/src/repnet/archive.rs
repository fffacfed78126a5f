//! What a leg that comes later has to be given.

/// What has been written to a flow from byte 0 on, as a count, and whether that is all. Whoever owns
/// the bytes (a driver over real sockets) keeps them as long as the archive is [kept](Self::is_kept).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Archive {
    bytes: u64,
    finished: bool,
    kept: bool,
}

impl Archive {
    /// An archive that keeps everything.
    pub const fn start() -> Self {
        Self {
            bytes: 0,
            finished: false,
            kept: true,
        }
    }

    /// The application wrote `bytes` more.
    pub const fn write(&mut self, bytes: u64) {
        if self.kept && !self.finished {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }

    /// The application wrote its last byte.
    pub const fn finish(&mut self) {
        self.finished |= self.kept;
    }

    /// Forgets everything; nothing is kept from now on.
    pub const fn free(&mut self) {
        *self = Self {
            bytes: 0,
            finished: false,
            kept: false,
        };
    }

    /// Whether there is an archive.
    pub const fn is_kept(&self) -> bool {
        self.kept
    }
    /// Bytes kept.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Whether the end of the stream is kept.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }
}
