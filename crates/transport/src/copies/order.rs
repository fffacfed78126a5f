//! Copies of requests, as an application sends and answers them over a transport that carries them.

use crate::FlowStats;
use tailcut_requests::Room;
use tailcut_units::{FlowId, HostId};

/// The bit of a flow's number that tells copies of requests from other flows.
const COPY: u32 = 1 << 30;
/// The bit that tells the word that a copy is not wanted any more from the copy.
const WORD: u32 = 1 << 29;

/// The flow that carries copy `number`, below 2^29, of all copies in a run.
pub const fn flow_of_copy(number: u32) -> FlowId {
    FlowId(COPY | number)
}

/// The flow that carries the word that copy `number` is not wanted any more.
pub(crate) const fn word_of_copy(number: u32) -> FlowId {
    FlowId(COPY | WORD | number)
}

/// Whether a flow carries such a word.
pub(crate) const fn is_word(flow: FlowId) -> bool {
    flow.0 & (COPY | WORD) == COPY | WORD
}

/// The number of the copy that a flow carries or is about; `None` for other flows.
pub const fn copy_of_flow(flow: FlowId) -> Option<u32> {
    match flow.0 & COPY {
        0 => None,
        _ => Some(flow.0 & !(COPY | WORD)),
    }
}

/// A copy of a request, as a client sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The copy's number in the run.
    pub number: u32,
    /// To whom.
    pub server: HostId,
    /// [`HIGH`](tailcut_requests::HIGH) or [`LOW`](tailcut_requests::LOW).
    pub class: u8,
    /// Bytes of the message, its header included.
    pub bytes: u64,
}

/// More of an answer, as a server sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// To whom.
    pub client: HostId,
    /// [`HIGH`](tailcut_requests::HIGH) or [`LOW`](tailcut_requests::LOW).
    pub class: u8,
    /// Bytes that follow those before, headers included.
    pub bytes: u64,
    /// Bytes of the whole answer at most, headers included.
    pub of: u64,
    /// Whether the answer ends with them.
    pub is_last: bool,
}

/// How a copy ended at one end of what carried it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Both ends have all that was sent.
    Whole,
    /// The client wanted no more.
    Purged,
    /// Given up after too many retransmissions.
    Failed,
}

/// The two ends of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

/// What an application orders about a copy that its host asks for or answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyOrder {
    /// The client sends it.
    Ask(Ask),
    /// The client sends a message of `bytes` more about copy `number`.
    Say {
        /// The copy.
        number: u32,
        /// Bytes of the message, its header included.
        bytes: u64,
    },
    /// The client says nothing more about copy `number`.
    Finish {
        /// The copy.
        number: u32,
    },
    /// The server sends more of its answer to copy `number`.
    Answer {
        /// The copy.
        number: u32,
        /// What it sends.
        answer: Answer,
    },
    /// What this end sends of copy `number` from now on has `class`.
    SetClass {
        /// The copy.
        number: u32,
        /// The class.
        class: u8,
    },
    /// The client wants no more of copy `number`: the server is told.
    Reset {
        /// The copy.
        number: u32,
    },
}

/// What happened to a copy at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyNews {
    /// At the server: it can be answered.
    Accepted {
        /// How much may be handed over, where answers tell windows; `None`: all that there is.
        room: Option<Room>,
    },
    /// At the server, where messages keep their boundaries: one more of the client's has arrived.
    Message,
    /// Bytes of the other end have arrived in order.
    Delivered {
        /// In all.
        total: u64,
    },
    /// At the server, where answers tell windows: more may be handed over.
    Room(Room),
    /// At the client: the answer is whole.
    Whole,
    /// It is over at this end.
    Ended {
        /// Which end this is.
        side: Side,
        /// What it has cost this end.
        stats: FlowStats,
        /// How.
        end: End,
    },
}

/// A design that carries no copies of requests, or a copy that it could not take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this host does not carry that copy of a request")]
pub struct NotCarried;
