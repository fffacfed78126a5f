//! Bytes that the application has written and that a leg still needs.

use std::collections::VecDeque;

/// Bytes after a position of the stream.
#[derive(Debug, Default)]
pub(crate) struct Log {
    from: u64,
    bytes: VecDeque<u8>,
}

impl Log {
    /// Adds bytes at this position: the position after the last byte, or any later position if the log is empty.
    pub fn extend(&mut self, position: u64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.from = position;
        }
        self.bytes.extend(bytes);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes after a position, in two slices.
    pub fn after(&self, position: u64) -> [&[u8]; 2] {
        let skip = usize::try_from(position - self.from).unwrap_or(usize::MAX);
        let (first, second) = self.bytes.as_slices();
        match skip.checked_sub(first.len()) {
            None => [&first[skip..], second],
            Some(skip) => [second.get(skip..).unwrap_or_default(), &[]],
        }
    }

    /// Removes the bytes before a position.
    pub fn forget(&mut self, position: u64) {
        let gone = usize::try_from(position.saturating_sub(self.from)).unwrap_or(usize::MAX);
        let gone = gone.min(self.bytes.len());
        self.bytes.drain(..gone);
        self.from += gone as u64;
        // After a lag or a burst, the buffer is large. An empty large buffer is released.
        if self.bytes.is_empty() && self.bytes.capacity() > 65_536 {
            self.bytes = VecDeque::new();
        }
    }
}
