//! Queue of the host: a FIFO of limited length between its transport and its link.
//! Examples are Linux's `pfifo_fast` (1,000 packets by default) and the device queue of ns-3 (100 packets).
//!
//! After every input the host takes segments from the transport until the queue is full.
//! Each segment in the queue waits behind all earlier segments.
//! So a flow with a large window delays all other flows of its host.
//! Without a queue, the driver polls a transport only when the link is free.
//! A transport without a queue serves its flows in turn. The queue drops nothing.
//! If the queue is full, segments stay with their connection.
//! Linux has the same back-pressure (TCP small queues, 3.6 and later).
//!
//! Deviations
//! - Linux before 3.6 and ns-3 drop packets when the queue is full. After a drop Linux reduces the window of the flow.
//! - TCP small queues also limit the packets of each connection, to about two large sends.
//! - A large send counts as one packet in Linux. Here each segment of a large send counts.

use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use tailcut_units::{FlowId, Rate, Time};

/// Transport `T` behind a FIFO queue.
#[derive(Debug)]
pub struct Queued<T> {
    inner: T,
    waiting: VecDeque<Segment>,
    length: usize,
}

impl<T: Transport> Queued<T> {
    /// Places `inner` behind a FIFO queue of `length` packets.
    pub fn new(inner: T, length: NonZeroU32) -> Self {
        Self {
            inner,
            waiting: VecDeque::new(),
            length: length.get() as usize,
        }
    }

    /// Returns the transport behind the FIFO queue.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
    /// Returns the number of waiting packets.
    pub fn backlog(&self) -> usize {
        self.waiting.len()
    }

    fn fill(&mut self, now: Time) {
        while self.waiting.len() < self.length {
            let Some(segment) = self.inner.poll_transmit(now) else {
                break;
            };
            self.waiting.push_back(segment);
        }
    }
}

impl<T: Transport> Transport for Queued<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
        self.fill(now);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        let taken = self.inner.take_part(now, part);
        self.fill(now);
        taken
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn reprioritise(&mut self, now: Time, flow: FlowId, class: u8) {
        self.inner.reprioritise(now, flow, class);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
        self.fill(now);
    }

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
        self.fill(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Calls of `poll_event` since the last input may have created segments.
        self.fill(now);
        let first = self.waiting.pop_front();
        // After the removal the queue has space for another segment.
        self.fill(now);
        first
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
    }

    fn has_transmit(&self) -> bool {
        !self.waiting.is_empty() || self.inner.has_transmit()
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
