//! The two ends of a copy's stream.

use super::reader::{Headers, Read, Reader};
use super::writer::{Writer, Written};
use crate::answer::AnswerHeader;
use crate::client::Client;
use crate::header::{CopyId, Purpose, RequestHeader};
use crate::room::Room;
use tailcut_units::Time;

/// The client's end of a copy: reads its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientEnd {
    copy: CopyId,
    reader: Reader<AnswerHeader>,
}

impl ClientEnd {
    /// The end that has asked for `copy`.
    pub fn new(copy: CopyId) -> Self {
        Self {
            copy,
            reader: Reader::default(),
        }
    }

    /// The copy.
    pub const fn copy(&self) -> CopyId {
        self.copy
    }

    /// The first `total` bytes of the stream have arrived. `client` is told what they say and bring.
    ///
    /// # Errors
    /// Those of [`Headers::next`].
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

/// The server's end of a copy: reads the client's messages, and writes the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerEnd {
    reader: Reader<RequestHeader>,
    /// Bytes of the answer's parts, at most.
    part: u64,
    /// How much may be handed over, where answers tell windows.
    room: Option<Room>,
    /// The answer and what asked for it, once that is here.
    answer: Option<(RequestHeader, Writer)>,
}

impl ServerEnd {
    /// An end that has been accepted. It answers in parts of `part` bytes, at least 1; where windows are
    /// told (`room`), in parts of at most [`TELLING_PART`](super::TELLING_PART).
    pub fn new(part: u64, room: Option<Room>) -> Self {
        Self {
            reader: Reader::default(),
            part,
            room,
            answer: None,
        }
    }

    /// The first `total` bytes of the client's stream have arrived.
    pub fn on_arrived(&mut self, total: u64) {
        self.reader.arrived(total);
    }

    /// The next message of the client's has arrived, which is of `bytes` bytes.
    pub fn on_message_arrived(&mut self, bytes: u64) {
        self.reader.arrived_more(bytes);
    }

    /// The next message that is here with all that follows it, for the server.
    ///
    /// # Errors
    /// Those of [`Headers::next`].
    pub fn read<S: Headers<Header = RequestHeader>>(
        &mut self,
        headers: &mut S,
    ) -> Result<Option<RequestHeader>, S::Error> {
        let message = self.reader.read_whole(headers)?;
        if let Some(header) = message {
            match (header.purpose, &mut self.answer) {
                (Purpose::Ask, answer @ None) => {
                    *answer = Some((header, Writer::new(&header, self.part, self.room)));
                }
                (Purpose::Reprioritise, Some((_, writer))) => {
                    writer.set_priority(header.priority);
                }
                _ => {}
            }
        }
        Ok(message)
    }

    /// What was asked, once that is here.
    pub fn ask(&self) -> Option<RequestHeader> {
        self.answer.map(|(ask, _)| ask)
    }

    /// More of the answer may be handed over.
    pub fn set_room(&mut self, room: Room) {
        self.room = Some(room);
        if let Some((_, writer)) = &mut self.answer {
            writer.set_room(room);
        }
    }

    /// The server has `bytes` more of the answer.
    pub fn add(&mut self, bytes: u64) {
        if let Some((_, writer)) = &mut self.answer {
            writer.add(bytes);
        }
    }

    /// What goes into the stream next; `None` until the server has more, or there is room.
    pub fn write(&mut self) -> Option<Written> {
        self.answer.as_mut().and_then(|(_, writer)| writer.write())
    }

    /// The answer's class. That of the highest class before there is one.
    pub fn priority(&self) -> u8 {
        self.answer.map_or(0, |(_, writer)| writer.priority())
    }

    /// Bytes of the whole answer with every header, where all is answered that may be asked for.
    pub fn stream_bytes(&self) -> u64 {
        self.answer.map_or(0, |(_, writer)| writer.stream_bytes())
    }

    /// Bytes of the object among `sent` bytes of the answer that were sent: without the headers that lie in
    /// so many bytes from the front, each counted once. What was sent again counts.
    pub fn object_bytes(&self, sent: u64) -> u64 {
        let answer = self.answer.as_ref();
        answer.map_or(0, |(_, writer)| writer.object_bytes(sent))
    }
}
