//! Writer of an answer: it turns the bytes that a server has into parts with headers.

use super::framed::Framed;
use crate::answer::{ANSWER_BYTES, AnswerHeader};
use crate::header::{CopyId, RequestHeader};
use crate::send_space::SendSpace;

/// Longest part of an answer that carries windows, in bytes without its header.
/// Such a part is about six segments long, so a client receives the window several times in each round trip.
pub const TELLING_PART: u64 = 8_192;

/// Bytes of an answer that a server passes to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Header at the start of the bytes. `None`: the bytes continue a part.
    pub header: Option<AnswerHeader>,
    /// Number of bytes for the stream, with the header.
    /// The bytes end at the end of a part, or with the last byte that the server has.
    pub bytes: u64,
    /// Whether the answer ends with these bytes.
    pub is_last: bool,
}

/// Writer of one answer. The writer cuts the answer into parts of equal length, each behind a header.
/// The last part may be shorter.
/// A part begins as soon as the server has its first byte. The length of the stream is therefore known in advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Writer {
    copy: CopyId,
    priority: u8,
    /// Largest possible length of the answer, in bytes.
    of: u64,
    /// Length of a part, in bytes.
    part: u64,
    /// Bytes of the answer that the server has.
    ready: u64,
    /// Bytes of the answer that were passed to the transport.
    written: u64,
    /// Limit of the bytes that may be passed to the transport; `None`: no limit.
    send_space: Option<SendSpace>,
}

impl Writer {
    /// Creates the writer of the answer to `ask`, in parts of `part` bytes (at least 1).
    /// If answers carry windows (`send_space` is set), a part has at most [`TELLING_PART`] bytes.
    /// Without a send space, all bytes are passed to the transport immediately.
    pub fn new(ask: &RequestHeader, part: u64, send_space: Option<SendSpace>) -> Self {
        let longest = match send_space {
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
            send_space,
        }
    }

    /// Sets the class of all later headers.
    pub const fn set_priority(&mut self, priority: u8) {
        self.priority = priority;
    }

    /// Class of the answer.
    pub const fn priority(&self) -> u8 {
        self.priority
    }

    /// Records that the server has `bytes` more bytes of the answer.
    pub fn add(&mut self, bytes: u64) {
        self.ready = self.ready.saturating_add(bytes).min(self.of);
    }

    /// Sets the limit of the bytes that may be passed to the transport.
    pub const fn set_send_space(&mut self, send_space: SendSpace) {
        self.send_space = Some(send_space);
    }

    /// Returns the next bytes for the stream, or `None` if the server has no more bytes or the send space is used up.
    pub fn write(&mut self) -> Option<Written> {
        let is_full = self
            .send_space
            .is_some_and(|send_space| send_space.bytes == 0);
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
            window: self.send_space.map(|send_space| send_space.window),
        });
        self.written = self.ready.min(end);
        let header_bytes = header.as_ref().map_or(0, Framed::header_bytes);
        let bytes = header_bytes + (self.written - offset);
        if let Some(send_space) = &mut self.send_space {
            send_space.bytes = send_space.bytes.saturating_sub(bytes);
        }
        Some(Written {
            header,
            bytes,
            is_last: self.written == self.of,
        })
    }

    /// Length of the whole stream in bytes, with all headers, if the client requests the whole object.
    pub fn stream_bytes(&self) -> u64 {
        let headers = self.of.div_ceil(self.part);
        let headers = headers.saturating_mul(ANSWER_BYTES as u64);
        self.of.saturating_add(headers)
    }

    /// Returns how many of the `sent` bytes of the stream are bytes of the object, not of headers.
    /// Headers are subtracted once, so retransmitted bytes count as bytes of the object.
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
