//! Endpoints of a copy's stream: one at the client, and one at the server.

use super::reader::{Headers, Read, Reader};
use super::writer::{Writer, Written};
use crate::answer::AnswerHeader;
use crate::client::Client;
use crate::header::{CopyId, Purpose, RequestHeader};
use crate::send_space::SendSpace;
use tailcut_units::Time;

/// Endpoint of a copy at the client. It reads the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientEnd {
    copy: CopyId,
    reader: Reader<AnswerHeader>,
}

impl ClientEnd {
    /// Creates the endpoint at a client that has requested `copy`.
    pub fn new(copy: CopyId) -> Self {
        Self {
            copy,
            reader: Reader::default(),
        }
    }

    /// Copy of this stream.
    pub const fn copy(&self) -> CopyId {
        self.copy
    }

    /// Reads all new data in the first `total` bytes of the stream, and passes windows and body bytes to `client`.
    ///
    /// # Errors
    /// The errors of [`Headers::next`].
    pub fn on_arrived<S: Headers<Header = AnswerHeader>>(
        &mut self,
        now: Time,
        total: u64,
        headers: &mut S,
        client: &mut Client,
    ) -> Result<(), S::Error> {
        self.reader.arrived(total);
        while let Some(read) = self.reader.read(headers)? {
            match read {
                Read::Header(header) => {
                    if let Some(window) = header.window {
                        client.on_window(self.copy, window);
                    }
                }
                Read::Body(bytes) => {
                    client.on_bytes(now, self.copy, bytes);
                }
            }
        }
        Ok(())
    }
}

/// Endpoint of a copy at the server. The endpoint reads the client's messages, and writes the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerEnd {
    reader: Reader<RequestHeader>,
    /// Longest part of an answer, in bytes.
    part: u64,
    /// Limit of the bytes that may be passed to the transport, if answers carry windows.
    send_space: Option<SendSpace>,
    /// First message of the client, and the writer of the answer. `None` until the message has arrived.
    answer: Option<(RequestHeader, Writer)>,
}

impl ServerEnd {
    /// Creates the endpoint at the server for an accepted stream.
    /// The server answers in parts of `part` bytes, at least 1.
    /// If answers carry windows (`send_space` is set), a part has at most [`TELLING_PART`](super::TELLING_PART) bytes.
    pub fn new(part: u64, send_space: Option<SendSpace>) -> Self {
        Self {
            reader: Reader::default(),
            part,
            send_space,
            answer: None,
        }
    }

    /// Records that the first `total` bytes of the client's stream have arrived.
    pub fn on_arrived(&mut self, total: u64) {
        self.reader.arrived(total);
    }

    /// Records that the client's next message has arrived, with a length of `bytes` bytes.
    pub fn on_message_arrived(&mut self, bytes: u64) {
        self.reader.arrived_more(bytes);
    }

    /// Returns the next message for the server, after its whole body has arrived.
    ///
    /// # Errors
    /// The errors of [`Headers::next`].
    pub fn read<S: Headers<Header = RequestHeader>>(
        &mut self,
        headers: &mut S,
    ) -> Result<Option<RequestHeader>, S::Error> {
        let message = self.reader.read_whole(headers)?;
        if let Some(header) = message {
            match (header.purpose, &mut self.answer) {
                (Purpose::Ask, answer @ None) => {
                    *answer = Some((header, Writer::new(&header, self.part, self.send_space)));
                }
                (Purpose::Reprioritise, Some((_, writer))) => {
                    writer.set_priority(header.priority);
                }
                _ => {}
            }
        }
        Ok(message)
    }

    /// Returns the client's first message, after it has arrived.
    pub fn ask(&self) -> Option<RequestHeader> {
        self.answer.map(|(ask, _)| ask)
    }

    /// Sets the limit of the bytes that may be passed to the transport.
    pub fn set_send_space(&mut self, send_space: SendSpace) {
        self.send_space = Some(send_space);
        if let Some((_, writer)) = &mut self.answer {
            writer.set_send_space(send_space);
        }
    }

    /// Records that the server has `bytes` more bytes of the answer.
    pub fn add(&mut self, bytes: u64) {
        if let Some((_, writer)) = &mut self.answer {
            writer.add(bytes);
        }
    }

    /// Returns the next bytes for the stream, or `None` if the server has no more bytes or the send space is used up.
    pub fn write(&mut self) -> Option<Written> {
        self.answer.as_mut().and_then(|(_, writer)| writer.write())
    }

    /// Class of the answer. It is the highest class until the first message has arrived.
    pub fn priority(&self) -> u8 {
        self.answer.map_or(0, |(_, writer)| writer.priority())
    }

    /// Returns the number of bytes, with all headers, of an answer that contains the whole object.
    pub fn stream_bytes(&self) -> u64 {
        self.answer.map_or(0, |(_, writer)| writer.stream_bytes())
    }

    /// Returns how many of the `sent` bytes of the stream are bytes of the object, not of headers.
    /// Headers are subtracted once, so retransmitted bytes count as bytes of the object.
    pub fn object_bytes(&self, sent: u64) -> u64 {
        let answer = self.answer.as_ref();
        answer.map_or(0, |(_, writer)| writer.object_bytes(sent))
    }
}
