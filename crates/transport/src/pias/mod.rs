//! PIAS (Bai et al., "Information-agnostic flow scheduling for commodity data centers", NSDI 2015).
//! PIAS is DCTCP whose packets have a priority class. The class depends on the number of bytes that the flow has sent.
//! Switches have strict priority and one ECN threshold per port.
//! So short flows finish in the high classes, although no host knows flow sizes in advance.
//!
//! [`Tags`] are a part of TCP's parameters ([`TcpConfig::tags`](crate::tcp::TcpConfig::tags)).
//! Replicated flows are tagged too, because they use TCP.
//! Each connection sets the class of a segment when the segment leaves, by the stream offset of its first byte.
//! Segments without data (SYN, RST, pure ACKs of a receiver) have offset 0, and so the highest class.
//! A host serves its own connections in the order of their classes.
//!
//! Deviations
//! - A retransmission keeps its first class, because the class depends on the offset.
//!   With classes by offset, bytes that are sent again do not count twice. The authors' simulation code does the same.
//!   The kernel module of PIAS's authors also counts new bytes only.
//!   The authors' kernel module tags a retransmission by all bytes that the flow has sent so far.
//! - A flow that starves in a low class stays there, as in the authors' simulation code.
//!   The authors' kernel module counts from zero again after several timeouts in a row ([`Tags::relief_after`]).
//! - Each connection of a replicated flow counts separately.

use crate::receiver_driven::Demotion;
use core::num::NonZeroU32;

/// Rule by which connections of a host choose the priority class of their segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Thresholds of sent bytes, which determine the class.
    pub demotion: Demotion,
    /// Whether bytes that are sent again count again.
    pub resends_count: bool,
    /// Whether the host serves its connections in strict order of class. Otherwise the connections take turns.
    pub in_order: bool,
    /// Number of timeouts in a row after which the flow returns to the highest class.
    /// A flow that returns to the highest class counts its sent bytes from zero. `None`: flows never return.
    pub relief_after: Option<NonZeroU32>,
}

impl Tags {
    /// Returns whether the count of sent bytes starts again after this number of timeouts in a row.
    pub(crate) fn relieves(&self, timeouts: u8) -> bool {
        self.relief_after
            .is_some_and(|after| u32::from(timeouts).is_multiple_of(after.get()))
    }

    /// Returns the class of a segment at `offset` of its stream.
    /// `sent` is the number of bytes that the connection has sent before this segment, including retransmissions.
    #[inline]
    pub fn class(&self, offset: u64, sent: u64) -> u8 {
        let bytes = if self.resends_count { sent } else { offset };
        self.demotion.class(bytes)
    }
}
