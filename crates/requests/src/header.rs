//! Messages between clients and servers of requests.

use tailcut_units::HostId;

/// Number of a request, unique within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestId(pub u32);

/// Identifier of one copy of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CopyId {
    /// Number of the request.
    pub request: RequestId,
    /// Number of the copy: 0 is the primary.
    pub copy: u8,
}

/// Class of primaries, which has high priority.
pub const HIGH: u8 = 0;
/// Class of duplicates, which has low priority.
pub const LOW: u8 = 1;

/// Range of bytes of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte.
    pub to: u64,
}

/// Order in which a copy sends the bytes of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Ascending order, from the first byte.
    #[default]
    Forwards,
    /// Descending order, from the last byte. Duplicates use this order if the bytes of all copies count.
    Backwards,
}

/// Copies that a cancellation removes at a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CancelScope {
    /// Copies that wait. A copy in service is served to its end.
    Queued,
    /// Copies that wait, and copies in service. The server stops both immediately.
    #[default]
    Running,
}

/// Length in bytes of a client's message header without a body.
pub const REQUEST_BYTES: usize = 36;
/// Length in bytes of the header of a [`Purpose::Ask`] message, which has a body.
pub const ASK_BYTES: usize = 44;

/// Purpose of a client's message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Requests the first range of the object. The application's request follows the header.
    Ask,
    /// Requests another range, which the server sends after the earlier ranges.
    More,
    /// Cancels the copy at this server, because the request is complete.
    Cancel(CancelScope),
    /// Changes the priority of the copy.
    Reprioritise,
}

impl Purpose {
    /// Returns the header's length in bytes.
    /// The header of an `Ask` is longer, because it contains the length of the body.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Ask => ASK_BYTES,
            Self::More | Self::Cancel(_) | Self::Reprioritise => REQUEST_BYTES,
        }
    }
}

/// Header of a client's message to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHeader {
    /// Copy that the message is about.
    pub copy: CopyId,
    /// Purpose of the message.
    pub purpose: Purpose,
    /// Class of the copy: [`HIGH`] or [`LOW`].
    pub priority: u8,
    /// Requested bytes.
    pub range: ByteRange,
    /// Size of the object in bytes. If `range` is shorter, the client may request more later.
    pub object: u64,
    /// Order of the bytes in the answer.
    pub order: Order,
    /// Length in bytes of the application's request, which follows the header. 0 in all messages except an `Ask`.
    pub body: u64,
}

/// Part of an answer, with its bytes in the requested order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// Receiver of the part.
    pub client: HostId,
    /// Copy that the part answers.
    pub copy: CopyId,
    /// Class of the copy.
    pub priority: u8,
    /// Bytes of this part.
    pub bytes: u64,
    /// Whether this part is the last part of the answer.
    pub is_last: bool,
}
