//! State of a request that is not complete.

use super::aggregation::Aggregation;
use super::header::{ByteRange, CopyId, Order, Purpose, RequestHeader, RequestId};
use super::policy::{MAX_COPIES, Policy};
use super::sharing::Sharing;
use tailcut_units::{HostId, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct CopyState {
    pub server: HostId,
    pub priority: u8,
    pub received: u64,
    /// Latest congestion window that the server reported, in bytes.
    pub window: Option<u64>,
    /// Whether a request for this copy was sent to the server.
    pub is_known: bool,
}

impl CopyState {
    /// Progress of the copy in bytes, for the comparison of two copies.
    /// With `by_window`, the progress is the latest congestion window. Otherwise it is the number of bytes received.
    pub fn standing(&self, by_window: bool) -> u64 {
        match by_window {
            true => self.window.unwrap_or(0),
            false => self.received,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub policy: Policy,
    pub bytes: u64,
    pub start: Time,
    pub copies: [CopyState; MAX_COPIES],
    /// Largest number of copies that can be sent: one for each server in use.
    pub servers: u8,
    /// Number of copies that were sent.
    pub sent: u8,
    /// Number of copies whose answer has arrived completely.
    pub whole: u8,
    /// Number of copies that have failed and will not answer.
    pub failed: u8,
    /// Time at which the next copy is due.
    pub due: Option<Time>,
    /// Ranges of all copies, if the bytes of all copies count.
    pub sharing: Option<Sharing>,
    /// Time at which a copy without work may take work from another copy.
    pub idle: Option<Time>,
}

/// Returns the header of a message about one copy, and the server that receives the message.
pub(super) fn header(
    pending: &Pending,
    request: RequestId,
    copy: u8,
    purpose: Purpose,
) -> (HostId, RequestHeader) {
    let state = &pending.copies[usize::from(copy)];
    let order = match &pending.sharing {
        Some(Sharing::Meet(_)) => Aggregation::order(copy),
        Some(Sharing::Ranges(_)) | None => Order::Forwards,
    };
    let message = RequestHeader {
        copy: CopyId { request, copy },
        purpose,
        priority: state.priority,
        range: ByteRange {
            from: 0,
            to: pending.bytes,
        },
        object: pending.bytes,
        order,
        body: 0,
    };
    (state.server, message)
}
