//! Classes that an application orders. [`Reprioritised`] is a layer over any transport: from the order on,
//! what leaves of a flow has the class that its application said, whatever the transport would choose.

use crate::copies::{CopyOrder, NotCarried};
use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// `T` whose flows take classes from the application.
#[derive(Debug)]
pub struct Reprioritised<T> {
    inner: T,
    /// Flows of this host that have not ended and that have been given a class.
    classes: BTreeMap<FlowId, u8>,
}

impl<T> Reprioritised<T> {
    /// `inner`, whose own classes hold until the application orders others.
    pub const fn new(inner: T) -> Self {
        Self {
            inner,
            classes: BTreeMap::new(),
        }
    }
}

impl<T: Transport> Transport for Reprioritised<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }

    fn carry(&mut self, now: Time, order: CopyOrder) -> Result<(), NotCarried> {
        self.inner.carry(now, order)
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.classes.remove(&flow);
        self.inner.cancel(now, flow)
    }

    fn reprioritise(&mut self, _now: Time, flow: FlowId, class: u8) {
        self.classes.insert(flow, class);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = self.inner.poll_transmit(now)?;
        if let Some(class) = self.classes.get(&segment.flow) {
            segment.priority = *class;
        }
        Some(segment)
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.inner.poll_event()?;
        if let Event::Closed(flow, _) | Event::Failed(flow, _) = event {
            self.classes.remove(&flow);
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
