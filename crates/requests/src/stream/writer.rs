//! Writing: from what a server has of an answer to parts with headers.

use super::framed::Framed;
use crate::answer::{ANSWER_BYTES, AnswerHeader};
use crate::header::{CopyId, RequestHeader};
use crate::room::Room;

/// The longest part of an answer that tells windows, in bytes without its header: about six segments, so
/// that a client hears of the window several times in each round trip.
pub const TELLING_PART: u64 = 8_192;

/// What a server hands over of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The header that these bytes begin with, where a part begins.
    pub header: Option<AnswerHeader>,
    /// Bytes of the stream, those of the header included. They end a part, or what the server has.
    pub bytes: u64,
    /// Whether the answer ends with them.
    pub is_last: bool,
}

/// Writes one answer: parts of one length, each behind its header. The last one has what is left. A part
/// begins as soon as the server has its first byte, so that the length of the stream is known before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Writer {
    copy: CopyId,
    priority: u8,
    /// Bytes of the answer at most.
    of: u64,
    /// Bytes of a part.
    part: u64,
    /// Bytes of the answer that the server has.
    ready: u64,
    /// Bytes of them that it has handed over.
    written: u64,
    /// `None`: all that there is.
    room: Option<Room>,
}

impl Writer {
    /// The answer to `ask`, in parts of `part` bytes (at least 1), where windows are told (`room`) of at
    /// most [`TELLING_PART`]. Without `room` everything is handed over at once.
    pub fn new(ask: &RequestHeader, part: u64, room: Option<Room>) -> Self {
        let longest = match room {
            Some(_) => TELLING_PART,
            None => u64::MAX,
        };
        Self {
            copy: ask.copy,
            priority: ask.priority,
            of: ask.object,
            part: part.clamp(1, longest),
            ready: 0,
            written: 0,
            room,
        }
    }

    /// Headers from now on have this class.
    pub const fn set_priority(&mut self, priority: u8) {
        self.priority = priority;
    }

    /// The class of the answer.
    pub const fn priority(&self) -> u8 {
        self.priority
    }

    /// The server has `bytes` more of the answer.
    pub fn add(&mut self, bytes: u64) {
        self.ready = self.ready.saturating_add(bytes).min(self.of);
    }

    /// So much may be handed over now.
    pub const fn set_room(&mut self, room: Room) {
        self.room = Some(room);
    }

    /// What goes into the stream next; `None` until the server has more, or there is room.
    pub fn write(&mut self) -> Option<Written> {
        let is_full = self.room.is_some_and(|room| room.bytes == 0);
        if is_full || self.written == self.ready {
            return None;
        }
        let offset = self.written;
        let into_part = offset % self.part;
        let end = (offset - into_part).saturating_add(self.part).min(self.of);
        let header = (into_part == 0).then(|| AnswerHeader {
            copy: self.copy,
            priority: self.priority,
            offset,
            bytes: end - offset,
            of: self.of,
            is_last: end == self.of,
            window: self.room.map(|room| room.window),
        });
        self.written = self.ready.min(end);
        let header_bytes = header.as_ref().map_or(0, Framed::header_bytes);
        let bytes = header_bytes + (self.written - offset);
        if let Some(room) = &mut self.room {
            room.bytes = room.bytes.saturating_sub(bytes);
        }
        Some(Written {
            header,
            bytes,
            is_last: self.written == self.of,
        })
    }

    /// Bytes of the whole stream, with every header, where all is answered that may be asked for.
    pub fn stream_bytes(&self) -> u64 {
        let headers = self.of.div_ceil(self.part);
        let headers = headers.saturating_mul(ANSWER_BYTES as u64);
        self.of.saturating_add(headers)
    }

    /// Bytes of the object among `sent` bytes that were sent: without the headers that lie in so many bytes
    /// from the front, each counted once. What was sent again counts.
    pub fn object_bytes(&self, sent: u64) -> u64 {
        let header = ANSWER_BYTES as u64;
        let whole = self.stream_bytes();
        if sent >= whole {
            return sent - (whole - self.of);
        }
        let framed = self.part.saturating_add(header);
        let (parts, rest) = (sent / framed, sent % framed);
        parts * self.part + rest.saturating_sub(header)
    }
}
