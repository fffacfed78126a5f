//! PIAS (Bai et al., "Information-agnostic flow scheduling for commodity data centers", NSDI 2015):
//! DCTCP whose packets carry a priority class by how much their flow has sent, over switches with
//! strict priority and one ECN threshold a port. Short flows finish in the high classes without anyone
//! knowing sizes in advance.
//!
//! [`Tags`] are part of TCP's parameters ([`TcpConfig::tags`](crate::tcp::TcpConfig::tags)), so that replicated
//! flows are tagged too: each connection sets the class of a segment as it leaves, by the stream offset of
//! its first byte. Everything that is not data of a flow under way (SYN, RST, pure ACKs of a receiver) has
//! offset 0 and so the highest class. A host serves its own connections in the same order.
//!
//! Deviations
//! - A segment that is sent again has the class that it had at first, since the class follows from the
//!   offset; so bytes sent again do not count twice. The authors' simulation code does the same, their
//!   kernel module tags it by all that the flow has sent ([`Tags::resends_count`]).
//! - Both connections of a replicated flow count on their own.

use crate::receiver_driven::Demotion;

/// How connections of a host tag what they send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// Classes by bytes sent.
    pub demotion: Demotion,
    /// Whether bytes that are sent again count as sent once more.
    pub resends_count: bool,
    /// Whether the host serves its connections by class, strictly; else all of them in turn.
    pub in_order: bool,
}

impl Tags {
    /// The class of a segment at `offset` of its stream, before which the connection has sent `sent` bytes,
    /// those sent again included.
    #[inline]
    pub fn class(&self, offset: u64, sent: u64) -> u8 {
        let bytes = if self.resends_count { sent } else { offset };
        self.demotion.class(bytes)
    }
}
