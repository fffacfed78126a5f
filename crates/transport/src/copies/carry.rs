//! Interface of transports that transfer copies of requests.

use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy, is_word};
use crate::tcp::Role;
use crate::{FlowStats, Header, Segment, Transport};
use core::fmt::Debug;
use tailcut_requests::SendSpace;
use tailcut_units::{FiveTuple, FlowId, HostId, Time, mix64};

/// Returns the key by which a switch recognises the segments of a copy in one direction.
/// Over TCP, the key is for the segments of a connection, otherwise for the segments of a flow. The key is never 0.
pub fn purge_key(segment: &Segment) -> u64 {
    match &segment.header {
        Header::Tcp(_) => key_of_connection(&segment.tuple),
        _ => key_of_copy(segment.flow, segment.tuple.src),
    }
}

/// Returns the key of the segments that a cancelling segment purges along its path.
/// The purged segments belong to the same copy in the opposite direction. Returns 0 for a segment that cancels nothing.
pub fn purges(segment: &Segment) -> u64 {
    let Some(number) = copy_of_flow(segment.flow) else {
        return 0;
    };
    if is_word(segment.flow) {
        return match segment.payload {
            // Control packets of the cancelling message have no payload, and cancel nothing.
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
    // The key 0 means "no key", so a hash of 0 becomes 1.
    mix64(mix64(hosts) ^ ports).max(1)
}

fn key_of_copy(flow: FlowId, src: HostId) -> u64 {
    // The key 0 means "no key", so a hash of 0 becomes 1.
    mix64(u64::from(flow.0) << 32 | u64::from(src.0)).max(1)
}

/// Event of a copy at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyChange<H> {
    /// At the server: the copy has arrived and can be answered.
    Accepted {
        /// Identifier of the copy at this end.
        handle: H,
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
    /// The copy has ended.
    Ended {
        /// Role of this host in the connection. The client is the opener.
        role: Role,
        /// Cost of the copy at this end.
        stats: FlowStats,
        /// Reason of the end.
        end: End,
    },
}

/// Event of a copy, with its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyEvent<H> {
    /// Number of the copy in the run.
    pub number: u32,
    /// Change of the copy.
    pub change: CopyChange<H>,
}

/// Transport of one host that also transfers copies of requests: a client sends copies, and a server answers them.
/// As a [`Transport`], the host sends flows that are not requests, in classes above the class of low copies.
pub trait Carry: Transport {
    /// Identifier of one end of a copy.
    type Handle: Copy + Debug;

    /// Sends a copy from the client. Returns `None` if this is not possible.
    fn ask(&mut self, now: Time, ask: Ask) -> Option<Self::Handle>;

    /// Sends another message of `bytes` about a copy, from the client.
    fn say(&mut self, now: Time, copy: Self::Handle, bytes: u64);

    /// Ends the messages of the client about a copy.
    fn finish(&mut self, now: Time, copy: Self::Handle);

    /// Sends the next part of an answer, from the server.
    fn answer(&mut self, now: Time, copy: Self::Handle, answer: Answer);

    /// Sets the class of all later segments of a copy that this end sends. Returns the new identifier of the copy.
    fn set_class(&mut self, now: Time, copy: Self::Handle, class: u8) -> Self::Handle;

    /// Cancels a copy at the client, and notifies the server.
    fn reset(&mut self, now: Time, copy: Self::Handle);

    /// Returns the payload bytes of an answer that the server has sent so far, including retransmissions.
    fn payload_sent(&self, copy: Self::Handle) -> Option<u64>;

    /// Returns the next event of a copy. Events of the same copy are in order.
    fn poll_copy(&mut self) -> Option<CopyEvent<Self::Handle>>;
}
