//! What the application wrote, as long as a leg needs it.

use std::collections::VecDeque;

/// Bytes from a position of the stream on.
#[derive(Debug, Default)]
pub(crate) struct Log {
    from: u64,
    bytes: VecDeque<u8>,
}

impl Log {
    /// Adds bytes of this position: the one after the last, or any later one where nothing is kept.
    pub fn extend(&mut self, position: u64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.from = position;
        }
        self.bytes.extend(bytes);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes after a position, in two pieces.
    pub fn after(&self, position: u64) -> [&[u8]; 2] {
        let skip = usize::try_from(position - self.from).unwrap_or(usize::MAX);
        let (first, second) = self.bytes.as_slices();
        match skip.checked_sub(first.len()) {
            None => [&first[skip..], second],
            Some(skip) => [second.get(skip..).unwrap_or_default(), &[]],
        }
    }

    /// Forgets what is before a position.
    pub fn forget(&mut self, position: u64) {
        let gone = usize::try_from(position.saturating_sub(self.from)).unwrap_or(usize::MAX);
        let gone = gone.min(self.bytes.len());
        self.bytes.drain(..gone);
        self.from += gone as u64;
        // Memory of a lag or a burst is released.
        if self.bytes.is_empty() && self.bytes.capacity() > 65_536 {
            self.bytes = VecDeque::new();
        }
    }
}
