//! Side channel for headers of a stream whose segments carry no bytes.

use super::framed::Framed;
use super::reader::Headers;
use alloc::collections::VecDeque;
use core::convert::Infallible;

/// Headers on their way from the writer of a stream to its reader.
/// The segments of the stream carry lengths and no bytes.
/// The driver of such a simulation passes only these headers between the endpoints of a copy.
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
    /// Adds the writer's next header.
    pub fn write(&mut self, header: H) {
        self.written = self.written.saturating_add(header.framed_bytes());
        self.headers.push_back(header);
    }

    /// Length of the stream in bytes, up to the end of the last header's body.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Length of the next message with its header, in bytes; 0 if no message is left.
    /// Use this function if a transport reports that a message has arrived, but does not report the length.
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
