//! Classes of flows. The size of a flow or the application chooses the class.
//! [`Classified`] is a layer over any transport: it sets the class of each segment when the segment leaves.

use crate::copies::{CopyOrder, NotCarried};
use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Rate, Time};

/// Class of the segments of large flows, if the size determines the class.
const LOW: u8 = 1;

/// Layer over the transport `T`. It sets the classes of flows, if `T` does not choose classes itself.
#[derive(Debug)]
pub struct Classified<T> {
    inner: T,
    /// Size limit in bytes. Smaller flows keep their class, and other flows start in the lower class. `None`: no limit.
    small_below: Option<u64>,
    /// Classes that the application has set, for flows of this host that have not ended.
    classes: BTreeMap<FlowId, u8>,
}

impl<T> Classified<T> {
    /// Wraps `inner`. Flows of fewer than `small_below` bytes keep their class. Other flows start in the lower class.
    pub const fn new(inner: T, small_below: u64) -> Self {
        Self {
            inner,
            small_below: Some(small_below),
            classes: BTreeMap::new(),
        }
    }

    /// Wraps `inner`: flows keep the classes of `inner` until the application sets other classes.
    pub const fn as_told(inner: T) -> Self {
        Self {
            inner,
            small_below: None,
            classes: BTreeMap::new(),
        }
    }

    /// Returns the inner transport.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
}

impl<T: Transport> Transport for Classified<T> {
    fn submit(&mut self, now: Time, message: Message) {
        if self.small_below.is_some_and(|below| message.bytes >= below) {
            self.classes.insert(message.flow, LOW);
        }
        self.inner.submit(now, message);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }

    fn carry(&mut self, now: Time, order: CopyOrder) -> Result<(), NotCarried> {
        self.inner.carry(now, order)
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let cost = self.inner.cancel(now, flow);
        self.classes.remove(&flow);
        cost
    }

    fn reprioritise(&mut self, _now: Time, flow: FlowId, class: u8) {
        self.classes.insert(flow, class);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
    }

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
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

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
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
