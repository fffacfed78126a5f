//! What takes the place of bytes where there are none.

use super::framed::Framed;
use super::reader::Headers;
use alloc::collections::VecDeque;
use core::convert::Infallible;

/// Headers of a stream whose segments carry lengths and no bytes, on their way from its writer to its
/// reader: all that a driver without bytes hands from one end of a copy to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideChannel<H> {
    headers: VecDeque<H>,
    written: u64,
}

impl<H> Default for SideChannel<H> {
    fn default() -> Self {
        Self {
            headers: VecDeque::new(),
            written: 0,
        }
    }
}

impl<H: Framed> SideChannel<H> {
    /// The writer's next header.
    pub fn write(&mut self, header: H) {
        self.written = self.written.saturating_add(header.framed_bytes());
        self.headers.push_back(header);
    }

    /// Bytes of the stream up to the end of what the last header announces.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of the message that is read next, with its header: what has arrived where a transport tells
    /// that a message has and not how long it is. 0 where none was written.
    pub fn next_message(&self) -> u64 {
        self.headers.front().map_or(0, Framed::framed_bytes)
    }
}

impl<H: Framed> Headers for SideChannel<H> {
    type Header = H;
    type Error = Infallible;

    fn next(&mut self, there: u64) -> Result<Option<H>, Infallible> {
        let is_there = |header: &H| header.header_bytes() <= there;
        let is_whole = self.headers.front().is_some_and(is_there);
        Ok(is_whole.then(|| self.headers.pop_front()).flatten())
    }
}
