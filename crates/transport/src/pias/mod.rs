//! PIAS (Bai et al., "Information-agnostic flow scheduling for commodity data centers", NSDI 2015):
//! DCTCP whose packets carry a priority class by how much their flow has sent, over switches with
//! strict priority and one ECN threshold a port. Short flows finish in the high classes without anyone
//! knowing sizes in advance.
//!
//! [`Tagged`] is a layer over any TCP transport, so that replicated flows are tagged too: it sets the
//! class of each segment as it leaves, from the stream offset of its first byte. Everything that is not
//! data of a flow under way (SYN, pure ACKs of a receiver) has offset 0 and so the highest class.
//!
//! Deviations
//! - A segment that is sent again has the class that it had at first, since the class follows from the
//!   offset; so bytes sent again do not count twice. The authors' simulation code does the same, their
//!   kernel module tags it by all that the flow has sent.
//! - Both connections of a replicated flow count on their own.

use crate::receiver_driven::Demotion;
use crate::{Event, FlowStats, Header, Message, NotShared, Part, Segment, Transport};
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// Tags what `T` sends.
#[derive(Debug)]
pub struct Tagged<T> {
    inner: T,
    demotion: Demotion,
}

impl<T> Tagged<T> {
    /// `inner` with classes by `demotion`.
    pub const fn new(inner: T, demotion: Demotion) -> Self {
        Self { inner, demotion }
    }

    /// The transport that is tagged.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
}

impl<T: Transport> Transport for Tagged<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = self.inner.poll_transmit(now)?;
        if let Header::Tcp(header) = &segment.header {
            segment.priority = self.demotion.class(header.offset);
        }
        Some(segment)
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.inner.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.inner.unfinished()
    }
}
