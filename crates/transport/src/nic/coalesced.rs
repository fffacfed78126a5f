//! Receive interrupt coalescing: the NIC raises an interrupt after so many frames, or so long after the
//! first of them, and the host then handles all of them at once (HULL paper, section 2; `rx-frames` and
//! `rx-usecs` of ethtool).

use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::vec::Vec;
use tailcut_units::{Duration, FlowId, Time};

/// When a NIC interrupts its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coalescing {
    /// Frames an interrupt, at least 1; 1 is no coalescing.
    pub frames: u32,
    /// The longest that the first frame waits for others.
    pub timeout: Duration,
}

/// `T` behind a NIC that coalesces interrupts.
#[derive(Debug)]
pub struct Coalesced<T> {
    inner: T,
    config: Coalescing,
    waiting: Vec<Segment>,
    /// When the frames that wait are handed over whatever their number.
    deadline: Option<Time>,
    interrupts: u64,
}

impl<T: Transport> Coalesced<T> {
    /// `inner` behind such a NIC.
    pub const fn new(inner: T, config: Coalescing) -> Self {
        Self {
            inner,
            config,
            waiting: Vec::new(),
            deadline: None,
            interrupts: 0,
        }
    }

    /// The transport behind the NIC.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
    /// Interrupts so far.
    pub const fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn interrupt(&mut self, now: Time) {
        self.interrupts += 1;
        self.deadline = None;
        for segment in self.waiting.drain(..) {
            self.inner.on_segment(now, segment);
        }
    }
}

impl<T: Transport> Transport for Coalesced<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.waiting.push(segment);
        if self.waiting.len() as u64 >= u64::from(self.config.frames) {
            self.interrupt(now);
        } else if self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.config.timeout));
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.interrupt(now);
        }
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.inner.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        Time::earlier(self.deadline, self.inner.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.inner.unfinished()
    }
}
