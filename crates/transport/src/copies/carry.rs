//! What carries copies of requests in a network, whatever the transport.

use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy, is_word};
use crate::tcp::Role;
use crate::{FlowStats, Header, Segment, Transport};
use core::fmt::Debug;
use tailcut_requests::Room;
use tailcut_units::{FiveTuple, FlowId, HostId, Time, mix64};

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
    match segment.header.is_reset() {
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

/// What happened to a copy at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyChange<H> {
    /// At the server: it can answer.
    Accepted {
        /// The copy's name here.
        handle: H,
        /// How much may be handed over, where answers tell windows; `None`: all that there is.
        room: Option<Room>,
    },
    /// At the server, where messages keep their boundaries: one more of the client's has arrived.
    Message,
    /// So many bytes of the other end have arrived in order.
    Delivered {
        /// In all.
        total: u64,
    },
    /// At the server, where answers tell windows: more may be handed over.
    Room(Room),
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

    /// The server sends more of its answer.
    fn answer(&mut self, now: Time, copy: Self::Handle, answer: Answer);

    /// What this end sends from now on has `class`. Gives its name from then on.
    fn set_class(&mut self, now: Time, copy: Self::Handle, class: u8) -> Self::Handle;

    /// The client wants no more of a copy: the server is told.
    fn reset(&mut self, now: Time, copy: Self::Handle);

    /// Payload bytes that the server has sent of an answer so far, those sent again included.
    fn payload_sent(&self, copy: Self::Handle) -> Option<u64>;

    /// What happened to copies, in order for each.
    fn poll_copy(&mut self) -> Option<CopyEvent<Self::Handle>>;
}
