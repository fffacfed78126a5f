//! A host's own queue: a FIFO of a length between its transport and its link, as Linux's `pfifo_fast`
//! (1,000 packets by default) or the device queue of ns-3 (100 packets).
//!
//! The host fills it by pulling: after whatever happens, it takes segments from the transport while there
//! is room, and each then waits behind all that were taken before it. So a flow with a large window stands
//! in the way of all others of its host, where a transport that is asked only when the link is free
//! serves them in turn. Nothing is dropped: what finds no room stays with its connection, as under Linux's
//! push-back (TCP small queues, 3.6 and later).
//!
//! Deviations
//! - Linux before 3.6 and ns-3 drop at a full queue, and Linux then reduces the window of the flow.
//! - TCP small queues bound the share of each connection too, to about two large sends.
//! - A large send is one packet to Linux and as many as it has segments here.

use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use tailcut_units::{FlowId, Time};

/// `T` behind a FIFO.
#[derive(Debug)]
pub struct Queued<T> {
    inner: T,
    waiting: VecDeque<Segment>,
    length: usize,
}

impl<T: Transport> Queued<T> {
    /// `inner` behind a FIFO of `length` packets.
    pub fn new(inner: T, length: NonZeroU32) -> Self {
        Self {
            inner,
            waiting: VecDeque::new(),
            length: length.get() as usize,
        }
    }

    /// The transport behind the FIFO.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
    /// Packets that wait.
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

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
        self.fill(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Events that the application has polled since may have brought something.
        self.fill(now);
        let first = self.waiting.pop_front();
        self.fill(now);
        first
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
