//! A copy of a request on its way: its ends, and what its segments do not carry.

use tailcut_requests::{
    AnswerHeader, Client, ClientEnd, RequestHeader, Room, ServerEnd, SideChannel,
};
use tailcut_transport::copies::Answer;
use tailcut_units::{HostId, Time};

/// A copy at its client.
pub(super) struct AtClient {
    pub host: HostId,
    /// Whether the client may say more.
    pub is_open: bool,
    pub end: ClientEnd,
}

/// A copy at its server.
pub(super) struct AtServer {
    pub host: HostId,
    pub client: HostId,
    /// Whether the server may answer.
    pub is_open: bool,
    /// From when it may on.
    pub end: Option<ServerEnd>,
}

/// A copy on its way. Segments carry no payload here: headers go beside them.
pub(super) struct Copy {
    pub client: AtClient,
    pub server: AtServer,
    pub messages: SideChannel<RequestHeader>,
    answers: SideChannel<AnswerHeader>,
}

impl Copy {
    /// One that `client` asks `server` for with `ask`, its first message.
    pub fn new(ask: RequestHeader, client: HostId, server: HostId) -> Self {
        let mut messages = SideChannel::default();
        messages.write(ask);
        Self {
            client: AtClient {
                host: client,
                is_open: true,
                end: ClientEnd::new(ask.copy),
            },
            server: AtServer {
                host: server,
                client,
                is_open: false,
                end: None,
            },
            messages,
            answers: SideChannel::default(),
        }
    }

    /// The server may answer, in parts of `part` bytes at most.
    pub fn accept(&mut self, part: u64, room: Option<Room>) {
        self.server.is_open = true;
        self.server.end = Some(ServerEnd::new(part, room));
    }

    /// The client has the first `total` bytes of the answer; `None`: all of them.
    pub fn hear_answer(&mut self, now: Time, total: Option<u64>, client: &mut Client) {
        let total = total.unwrap_or_else(|| self.answers.written());
        let end = &mut self.client.end;
        let Ok(()) = end.on_arrived(now, total, &mut self.answers, client);
    }

    /// The next message that is whole at the server.
    pub fn hear_message(&mut self) -> Option<RequestHeader> {
        let end = self.server.end.as_mut()?;
        let Ok(message) = end.read(&mut self.messages);
        message
    }

    /// What the server hands over of its answer now, if anything.
    pub fn write_answer(&mut self) -> Option<Answer> {
        let end = self.server.end.as_mut()?;
        let mut answer = Answer {
            client: self.server.client,
            class: end.priority(),
            bytes: 0,
            of: end.stream_bytes(),
            is_last: false,
        };
        while let Some(written) = end.write() {
            if let Some(header) = written.header {
                self.answers.write(header);
            }
            answer.bytes += written.bytes;
            answer.is_last = written.is_last;
        }
        (self.server.is_open && answer.bytes > 0).then_some(answer)
    }

    /// Bytes of the object among those that the server has sent.
    pub fn object_bytes(&self, sent: u64) -> u64 {
        let end = self.server.end.as_ref();
        end.map_or(0, |end| end.object_bytes(sent))
    }
}
