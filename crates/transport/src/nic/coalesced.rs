//! Receive interrupt coalescing: the NIC raises an interrupt after so many frames, or so long after the
//! first of them, and the host then handles all of them at once (HULL paper, section 2; `rx-frames` and
//! `rx-usecs` of ethtool).
//!
//! Generic receive offload, if it is on: the stack merges what one interrupt brings of a TCP connection
//! into segments of up to 64 KB before TCP sees them (Linux, since 2.6.29), so that TCP acknowledges
//! them together. Merged are segments of data that follow each other and whose headers say the same,
//! ECN field included; a FIN ends one, and so does a segment shorter than the first.
//!
//! Deviations: Linux may go on with what came after the interrupt while its processor is busy, and then
//! merges more; there is no processor here.

use crate::tcp::TcpFlags;
use crate::{Event, FlowStats, Header, Message, NotShared, Part, Segment, Transport};
use alloc::vec::Vec;
use tailcut_units::{Duration, FlowId, Time};

/// When a NIC interrupts its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coalescing {
    /// Frames an interrupt, at least 1; 1 is no coalescing.
    pub frames: u32,
    /// The longest that the first frame waits for others.
    pub timeout: Duration,
    /// Whether what an interrupt brings is merged (generic receive offload).
    pub merge: bool,
}

impl Default for Coalescing {
    /// None: an interrupt a frame. With more frames the first waits for 100 us at most; the sources give
    /// no value.
    fn default() -> Self {
        Self {
            frames: 1,
            timeout: Duration::from_us(100),
            merge: false,
        }
    }
}

/// The payload of a merged segment at most: what an IP packet holds, less 40 B of headers.
const MOST_MERGED: u32 = 65_495;
/// Connections whose segments are merged at one time (`MAX_GRO_SKBS` of Linux).
const MERGED_AT_ONCE: usize = 8;

/// A segment that others may be merged into.
#[derive(Debug)]
struct Merged {
    segment: Segment,
    /// Payload of its first part: a shorter one is the last.
    part: u32,
    open: bool,
}

impl Merged {
    /// The first part; `None` where nothing can be merged into it.
    fn new(segment: Segment) -> Option<Self> {
        let Header::Tcp(header) = &segment.header else {
            return None;
        };
        let plain = header.flags == TcpFlags::ACK && segment.payload > 0;
        plain.then_some(Self {
            segment,
            part: segment.payload,
            open: true,
        })
    }

    /// Takes another segment of the connection. False where it does not follow, or says something else.
    fn absorb(&mut self, next: &Segment) -> bool {
        let (Header::Tcp(before), Header::Tcp(header)) = (&mut self.segment.header, &next.header)
        else {
            return false;
        };
        let follows = before.offset.wrapping_add(u64::from(self.segment.payload)) == header.offset;
        let ends = header.flags == TcpFlags::ACK.with(TcpFlags::FIN);
        let alike = (header.flags == TcpFlags::ACK || ends)
            && (header.ack, header.sack) == (before.ack, before.sack)
            && next.ecn == self.segment.ecn;
        let fits = (1..=self.part).contains(&next.payload)
            && self.segment.payload.saturating_add(next.payload) <= MOST_MERGED;
        if !(self.open && follows && alike && fits) {
            return false;
        }
        before.flags = header.flags;
        self.segment.payload += next.payload;
        self.open = !ends && next.payload == self.part;
        true
    }
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
        if self.config.merge {
            self.hand_over_merged(now);
        }
        for segment in self.waiting.drain(..) {
            self.inner.on_segment(now, segment);
        }
    }

    /// Hands over what waits, merged. The segments of a connection keep their order.
    fn hand_over_merged(&mut self, now: Time) {
        let mut held: Vec<Merged> = Vec::new();
        for segment in self.waiting.drain(..) {
            let of_connection = |merged: &Merged| merged.segment.tuple == segment.tuple;
            if let Some(at) = held.iter().position(of_connection) {
                if held[at].absorb(&segment) {
                    continue;
                }
                let before = held.remove(at);
                self.inner.on_segment(now, before.segment);
            }
            let Some(merged) = Merged::new(segment) else {
                self.inner.on_segment(now, segment);
                continue;
            };
            if held.len() == MERGED_AT_ONCE {
                let oldest = held.remove(0);
                self.inner.on_segment(now, oldest.segment);
            }
            held.push(merged);
        }
        for merged in held {
            self.inner.on_segment(now, merged.segment);
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

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn reprioritise(&mut self, now: Time, flow: FlowId, class: u8) {
        self.inner.reprioritise(now, flow, class);
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
