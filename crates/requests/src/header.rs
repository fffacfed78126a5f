//! What clients and servers say to each other.

use tailcut_units::HostId;

/// A request's number, unique within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestId(pub u32);

/// One copy of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CopyId {
    /// The request.
    pub request: RequestId,
    /// Which of its copies: 0 is the primary.
    pub copy: u8,
}

/// The high class, that of primaries.
pub const HIGH: u8 = 0;
/// The low class, that of duplicates.
pub const LOW: u8 = 1;

/// Bytes of an object, from the first to one past the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ByteRange {
    /// The first byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

/// The end of its range that a copy starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// From the first byte up.
    #[default]
    Forwards,
    /// From the last byte down: the duplicates' order where the bytes of all copies count.
    Backwards,
}

/// What a cancellation may take away at a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CancelScope {
    /// Copies that wait; what is being served goes on to its end.
    Queued,
    /// Also what is being served, at once.
    #[default]
    Running,
}

/// Bytes of the header of a client's message that no request follows.
pub const REQUEST_BYTES: usize = 36;
/// Bytes of the header of an ask.
pub const ASK_BYTES: usize = 44;

/// What a message of a client is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Asks for the object's range.
    Ask,
    /// Asks for another range, to be sent after those before.
    More,
    /// The request is done: its copy at this server is not wanted any more.
    Cancel(CancelScope),
    /// The copy has another priority from now on.
    Reprioritise,
}

impl Purpose {
    /// Bytes of the header of such a message. An ask's says how long the request is that follows it.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Ask => ASK_BYTES,
            Self::More | Self::Cancel(_) | Self::Reprioritise => REQUEST_BYTES,
        }
    }
}

/// The header of a client's message to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHeader {
    /// Which copy of which request.
    pub copy: CopyId,
    /// What the message is for.
    pub purpose: Purpose,
    /// The copy's class: [`HIGH`] or [`LOW`].
    pub priority: u8,
    /// The bytes that are asked for.
    pub range: ByteRange,
    /// Bytes of the object. Where a copy is asked for less, more may be asked for later.
    pub object: u64,
    /// Which of them come first.
    pub order: Order,
    /// Bytes of the application's request, which follow the header. Only an ask has any.
    pub body: u64,
}

/// A part of an answer, in the order that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// To whom.
    pub client: HostId,
    /// Of which copy.
    pub copy: CopyId,
    /// Its class.
    pub priority: u8,
    /// Bytes of this part.
    pub bytes: u64,
    /// Whether the answer ends with it.
    pub is_last: bool,
}
