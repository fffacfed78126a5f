//! State of one copy of a request, and the headers of its messages.

use super::super::aggregation::Aggregation;
use super::super::header::{ByteRange, CopyId, Order, Purpose, RequestHeader, RequestId};
use super::super::sharing::Sharing;
use super::Pending;
use tailcut_units::HostId;

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
