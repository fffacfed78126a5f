//! Bytes that the application has written and that a connection has not sent yet.

use std::collections::VecDeque;

/// Buffered bytes of the stream, with the position of the first one.
#[derive(Debug, Default)]
pub(crate) struct Log {
    from: u64,
    bytes: VecDeque<u8>,
}

impl Log {
    /// Appends bytes. `position` is the end of the log, or any later position if the log is empty.
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
        // After a lag or a burst, the buffer is large. It is released when it is empty.
        if self.bytes.is_empty() && self.bytes.capacity() > 65_536 {
            self.bytes = VecDeque::new();
        }
    }
}
