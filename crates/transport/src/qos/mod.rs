//! Two classes by flow size: the "ideal" two-priority QoS scheme that HULL is compared with (slides of
//! the HULL paper, NSDI 2012). Small flows go before large ones at every switch, because their hosts
//! know sizes in advance and say so; what carries them is TCP as it is.
//!
//! [`Classified`] is a layer over any transport: it sets the class of each segment as it leaves. Data and
//! handshakes of large flows are in the lower class; small flows, and whatever a receiver answers, in
//! the higher.
//!
//! Deviations: the slides say no more of it than that it is ideal and has two priorities; which flows
//! are small, which TCP, and that a class cannot take the other's buffer are ours.

use crate::{Event, FlowStats, Message, Segment, Transport};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// The class of large flows' segments; that of all others is 0.
const LOW: u8 = 1;

/// `T` with two classes.
#[derive(Debug)]
pub struct Classified<T> {
    inner: T,
    /// Flows under so many bytes are small.
    small_below: u64,
    /// Large flows that this host sends and that have not ended.
    large: BTreeSet<FlowId>,
}

impl<T> Classified<T> {
    /// `inner` with flows under `small_below` bytes in the higher class.
    pub const fn new(inner: T, small_below: u64) -> Self {
        Self {
            inner,
            small_below,
            large: BTreeSet::new(),
        }
    }

    /// The transport that is classified.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
}

impl<T: Transport> Transport for Classified<T> {
    fn submit(&mut self, now: Time, message: Message) {
        if message.bytes >= self.small_below {
            self.large.insert(message.flow);
        }
        self.inner.submit(now, message);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let cost = self.inner.cancel(now, flow);
        self.large.remove(&flow);
        cost
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = self.inner.poll_transmit(now)?;
        if self.large.contains(&segment.flow) {
            segment.priority = LOW;
        }
        Some(segment)
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.inner.poll_event()?;
        if let Event::Closed(flow, _) | Event::Failed(flow, _) = event {
            self.large.remove(&flow);
        }
        Some(event)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.inner.unfinished()
    }
}
