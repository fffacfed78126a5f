//! Orders and events about copies of requests, between an application and a transport.

use crate::FlowStats;
use tailcut_requests::SendSpace;
use tailcut_units::{FlowId, HostId};

/// Bit of a flow number that marks a copy of a request.
const COPY: u32 = 1 << 30;
/// Bit of a flow number that marks the message that cancels a copy.
const WORD: u32 = 1 << 29;

/// Returns the flow that transfers copy `number`. The number is below 2^29 and unique in a run.
pub const fn flow_of_copy(number: u32) -> FlowId {
    FlowId(COPY | number)
}

/// Returns the flow of the message that cancels copy `number`.
pub(crate) const fn word_of_copy(number: u32) -> FlowId {
    FlowId(COPY | WORD | number)
}

/// Returns whether a flow is a message that cancels a copy.
pub(crate) const fn is_word(flow: FlowId) -> bool {
    flow.0 & (COPY | WORD) == COPY | WORD
}

/// Returns the number of the copy that a flow transfers or cancels; `None` for other flows.
pub const fn copy_of_flow(flow: FlowId) -> Option<u32> {
    match flow.0 & COPY {
        0 => None,
        _ => Some(flow.0 & !(COPY | WORD)),
    }
}

/// Copy of a request that a client sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// Number of the copy in the run.
    pub number: u32,
    /// Server that receives the copy.
    pub server: HostId,
    /// Class: [`HIGH`](tailcut_requests::HIGH) or [`LOW`](tailcut_requests::LOW).
    pub class: u8,
    /// Bytes of the message, including its header.
    pub bytes: u64,
}

/// Next part of an answer that a server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Client that receives the answer.
    pub client: HostId,
    /// Class: [`HIGH`](tailcut_requests::HIGH) or [`LOW`](tailcut_requests::LOW).
    pub class: u8,
    /// Bytes of this part, including headers.
    pub bytes: u64,
    /// Upper bound of the size of the whole answer in bytes, including headers.
    pub of: u64,
    /// Whether this part is the last part of the answer.
    pub is_last: bool,
}

/// Reason why a copy ended at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Both ends have received all data.
    Whole,
    /// The client cancelled the copy.
    Purged,
    /// The copy failed after too many retransmissions.
    Failed,
}

/// Ends of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The end that sends the request.
    Client,
    /// The end that answers.
    Server,
}

/// Order of an application about a copy that its host sends or answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyOrder {
    /// The client sends the copy.
    Ask(Ask),
    /// The client sends another message of `bytes` about copy `number`.
    Say {
        /// Number of the copy.
        number: u32,
        /// Bytes of the message, including its header.
        bytes: u64,
    },
    /// The client sends no further message about copy `number`.
    Finish {
        /// Number of the copy.
        number: u32,
    },
    /// The server sends the next part of its answer to copy `number`.
    Answer {
        /// Number of the copy.
        number: u32,
        /// Next part of the answer.
        answer: Answer,
    },
    /// Sets the class of all later segments of copy `number` that this end sends.
    SetClass {
        /// Number of the copy.
        number: u32,
        /// New class.
        class: u8,
    },
    /// The client cancels copy `number`, and the server is notified.
    Reset {
        /// Number of the copy.
        number: u32,
    },
}

/// Event of a copy at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyNews {
    /// At the server: the copy has arrived and can be answered.
    Accepted {
        /// Space in which the application may write. `None`: no window is reported, and all may be written.
        room: Option<SendSpace>,
    },
    /// At the server, if messages keep their boundaries: another message of the client has arrived.
    Message,
    /// Bytes from the other end have arrived in order.
    Delivered {
        /// Total number of bytes that have arrived.
        total: u64,
    },
    /// At the server, if windows are reported: the application may write more.
    Room(SendSpace),
    /// At the client: the answer is complete.
    Whole,
    /// The copy has ended at this end.
    Ended {
        /// Side of this host in the copy.
        side: Side,
        /// Cost of the copy at this end.
        stats: FlowStats,
        /// Reason of the end.
        end: End,
    },
}

/// Error of a host that cannot transfer a copy.
/// The design of the host does not support copies of requests, or the host cannot accept this copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the host cannot carry this copy of a request")]
pub struct NotCarried;
