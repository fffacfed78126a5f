//! Copy of a request in the network: its endpoint at the client, its endpoint at the server, and its headers.
//! The simulated segments do not contain the headers of copies.

use tailcut_requests::{
    AnswerHeader, Client, ClientEnd, RequestHeader, SendSpace, ServerEnd, SideChannel,
};
use tailcut_transport::copies::Answer;
use tailcut_units::{HostId, Time};

/// Endpoint of a copy at the client.
pub(super) struct AtClient {
    pub host: HostId,
    /// Whether the client can send further messages.
    pub is_open: bool,
    pub end: ClientEnd,
}

/// Endpoint of a copy at the server.
pub(super) struct AtServer {
    pub host: HostId,
    pub client: HostId,
    /// Whether the server can answer.
    pub is_open: bool,
    /// State of the server's endpoint, after the server has accepted the copy.
    pub end: Option<ServerEnd>,
}

/// Copy of a request in progress. Simulated segments carry no payload, so the headers are transferred separately.
pub(super) struct Copy {
    pub client: AtClient,
    pub server: AtServer,
    pub messages: SideChannel<RequestHeader>,
    answers: SideChannel<AnswerHeader>,
}

impl Copy {
    /// Creates a copy that `client` requests from `server`. `ask` is the first message.
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

    /// Allows the server to answer, in parts of at most `part` bytes.
    pub fn accept(&mut self, part: u64, room: Option<SendSpace>) {
        self.server.is_open = true;
        self.server.end = Some(ServerEnd::new(part, room));
    }

    /// Reports that the client has the first `total` bytes of the answer. `None` means all bytes.
    pub fn on_answer_bytes(&mut self, now: Time, total: Option<u64>, client: &mut Client) {
        let total = total.unwrap_or_else(|| self.answers.written());
        let end = &mut self.client.end;
        let Ok(()) = end.on_arrived(now, total, &mut self.answers, client);
    }

    /// Returns the next message that the server has completely received.
    pub fn read_message(&mut self) -> Option<RequestHeader> {
        let end = self.server.end.as_mut()?;
        let Ok(message) = end.read(&mut self.messages);
        message
    }

    /// Returns the part of the answer that the server passes to the transport now, if any.
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

    /// Returns how many of the sent bytes belong to the object. All other bytes are headers.
    pub fn object_bytes(&self, sent: u64) -> u64 {
        let end = self.server.end.as_ref();
        end.map_or(0, |end| end.object_bytes(sent))
    }
}
