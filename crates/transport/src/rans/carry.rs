//! What carries copies of requests in a network, whatever the transport.

use super::carrier::ToldWindow;
use crate::tcp::Role;
use crate::{FlowStats, Header, Segment, Transport};
use core::fmt::Debug;
use tailcut_units::{FiveTuple, FlowId, HostId, Time, mix64};

/// The bit of a flow's number that tells copies of requests from other flows.
const COPY: u32 = 1 << 30;
/// The bit that tells the word that a copy is not wanted any more from the copy.
const WORD: u32 = 1 << 29;

/// The flow that carries copy `number`, below 2^29, of all copies in a run.
pub const fn flow_of_copy(number: u32) -> FlowId {
    FlowId(COPY | number)
}

/// The flow that carries the word that copy `number` is not wanted any more.
pub(super) const fn word_of_copy(number: u32) -> FlowId {
    FlowId(COPY | WORD | number)
}

/// Whether a flow carries such a word.
pub(super) const fn is_word(flow: FlowId) -> bool {
    flow.0 & (COPY | WORD) == COPY | WORD
}

/// The number of the copy that a flow carries or is about; `None` for other flows.
pub const fn copy_of_flow(flow: FlowId) -> Option<u32> {
    match flow.0 & COPY {
        0 => None,
        _ => Some(flow.0 & !(COPY | WORD)),
    }
}

/// The key by which a switch knows the segments of a copy that go one way: over TCP those of a connection,
/// else those of a flow. Never 0.
pub fn purge_key(segment: &Segment) -> u64 {
    match &segment.header {
        Header::Tcp(_) => key_of_connection(&segment.tuple),
        _ => key_of_copy(segment.flow, segment.tuple.src),
    }
}

/// The key of the segments that one takes along, which tells a server that a copy is not wanted any more:
/// those of the copy that come the other way. 0 for a segment that says nothing of the kind.
pub fn purges(segment: &Segment) -> u64 {
    let Some(number) = copy_of_flow(segment.flow) else {
        return 0;
    };
    if is_word(segment.flow) {
        return match segment.payload {
            0 => 0,
            _ => key_of_copy(flow_of_copy(number), segment.tuple.dst),
        };
    }
    match segment.is_reset() {
        true => key_of_connection(&segment.tuple.reversed()),
        false => 0,
    }
}

fn key_of_connection(tuple: &FiveTuple) -> u64 {
    let hosts = u64::from(tuple.src.0) << 32 | u64::from(tuple.dst.0);
    let ports = u64::from(tuple.src_port) << 16 | u64::from(tuple.dst_port);
    mix64(mix64(hosts) ^ ports).max(1)
}

fn key_of_copy(flow: FlowId, src: HostId) -> u64 {
    mix64(u64::from(flow.0) << 32 | u64::from(src.0)).max(1)
}

/// A copy of a request, as a client sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The copy's number in the run.
    pub number: u32,
    /// To whom.
    pub server: HostId,
    /// [`HIGH`](super::HIGH) or [`LOW`](super::LOW).
    pub class: u8,
    /// Bytes of the message.
    pub bytes: u64,
}

/// A part of an answer, as a server sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// To whom.
    pub client: HostId,
    /// [`HIGH`](super::HIGH) or [`LOW`](super::LOW).
    pub class: u8,
    /// Bytes of this part.
    pub bytes: u64,
    /// Bytes of all parts together, at most.
    pub of: u64,
    /// Whether no part follows.
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

/// What happened to a copy at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyChange<H> {
    /// At the server: it can answer on this.
    Accepted(H),
    /// At the server, where messages keep their boundaries: one more of the client's has arrived.
    Message,
    /// So many bytes of the other end have arrived in order.
    Delivered {
        /// In all.
        total: u64,
    },
    /// At the client: the answer is whole.
    Whole,
    /// It is over.
    Ended {
        /// Which end this is: the client's opens.
        role: Role,
        /// What it has cost this end.
        stats: FlowStats,
        /// How.
        end: End,
    },
}

/// What happened to a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyEvent<H> {
    /// The copy's number.
    pub number: u32,
    /// What happened.
    pub change: CopyChange<H>,
}

/// One host's transport, which also carries copies of requests: as a client's asks, as a server's answers.
/// As a [`Transport`] it sends flows that are no requests, in classes above that of low copies.
pub trait Carry: Transport {
    /// One end of what carries a copy.
    type Handle: Copy + Debug;

    /// The client sends a copy; `None` where that is not possible.
    fn ask(&mut self, now: Time, ask: Ask) -> Option<Self::Handle>;

    /// The client sends a message of `bytes` more about a copy.
    fn say(&mut self, now: Time, copy: Self::Handle, bytes: u64);

    /// The client says nothing more about a copy.
    fn finish(&mut self, now: Time, copy: Self::Handle);

    /// The server sends a part of its answer.
    fn answer(&mut self, now: Time, copy: Self::Handle, answer: Answer);

    /// What this end sends from now on has `class`. Gives its name from then on.
    fn set_class(&mut self, now: Time, copy: Self::Handle, class: u8) -> Self::Handle;

    /// The client wants no more of a copy: the server is told.
    fn reset(&mut self, now: Time, copy: Self::Handle);

    /// Payload bytes that the server has sent of an answer so far, those sent again included.
    fn payload_sent(&self, copy: Self::Handle) -> Option<u64>;

    /// What happened to copies, in order for each.
    fn poll_copy(&mut self) -> Option<CopyEvent<Self::Handle>>;

    /// The next window that an answer has told of, once its segment has left. Only where senders have windows.
    fn poll_told(&mut self) -> Option<ToldWindow> {
        None
    }
}
