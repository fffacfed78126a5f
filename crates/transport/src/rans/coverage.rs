//! Which bytes of an object have arrived, when copies send from both ends.

/// The bytes of an object that have come from its front and from its back. Those of the front are
/// `0..front`, those of the back `bytes - back..bytes`; where they meet, the object is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    bytes: u64,
    front: u64,
    back: u64,
}

impl Coverage {
    /// Nothing of an object of `bytes` yet.
    pub const fn of(bytes: u64) -> Self {
        Self {
            bytes,
            front: 0,
            back: 0,
        }
    }

    /// `bytes` more from the front. Gives how many of them were not there yet.
    pub fn from_front(&mut self, bytes: u64) -> u64 {
        let before = self.covered();
        self.front = self.front.saturating_add(bytes).min(self.bytes);
        self.covered() - before
    }

    /// `bytes` more from the back. Gives how many of them were not there yet.
    pub fn from_back(&mut self, bytes: u64) -> u64 {
        let before = self.covered();
        self.back = self.back.saturating_add(bytes).min(self.bytes);
        self.covered() - before
    }

    /// Bytes that have come, each counted once.
    pub fn covered(&self) -> u64 {
        self.front.saturating_add(self.back).min(self.bytes)
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        self.covered() == self.bytes
    }
}
