//! Receive interrupt coalescing.
//! The NIC raises an interrupt after a number of frames, or at a fixed time after the first of these frames.
//! After an interrupt the host handles all waiting frames together (HULL paper, section 2; `rx-frames`, `rx-usecs`).
//!
//! With generic receive offload, the network stack merges frames of the same interrupt and the same TCP connection.
//! TCP receives merged segments of up to 64 KB (Linux, since 2.6.29), and acknowledges the frames together.
//! The stack merges consecutive data segments with equal headers, including the ECN field.
//! A merged segment ends with a FIN, or with a segment that is shorter than its first segment.
//!
//! Deviations: if the processor is busy, Linux may also merge frames that arrive after the interrupt.
//! The layer for interrupt coalescing models no processor.

use crate::tcp::TcpFlags;
use crate::{Event, FlowStats, Header, Message, NotShared, Part, Segment, Transport};
use alloc::vec::Vec;
use tailcut_units::{Duration, FlowId, Rate, Time};

/// Parameters of interrupt coalescing in a NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coalescing {
    /// Number of frames per interrupt, at least 1. The value 1 turns coalescing off.
    pub frames: u32,
    /// Longest time for which the first frame waits for other frames.
    pub timeout: Duration,
    /// Whether the frames of an interrupt are merged (generic receive offload).
    pub merge: bool,
}

impl Default for Coalescing {
    /// Returns the parameters of a NIC without coalescing: one frame per interrupt.
    /// With more `frames`, the first frame waits for at most 100 us. The sources give no value for this time.
    fn default() -> Self {
        Self {
            frames: 1,
            timeout: Duration::from_us(100),
            merge: false,
        }
    }
}

/// Largest payload of a merged segment in bytes: the maximum of an IP packet without 40 B of headers.
const MOST_MERGED: u32 = 65_495;
/// Number of connections whose segments are merged at the same time (`MAX_GRO_SKBS` of Linux).
const MERGED_AT_ONCE: usize = 8;

/// Segment into which later segments may be merged.
#[derive(Debug)]
struct Merged {
    segment: Segment,
    /// Payload bytes of the first part of the segment. A part with fewer bytes is the last part.
    part: u32,
    open: bool,
}

impl Merged {
    /// Creates a merged segment from its first part. Returns `None` if nothing can be merged into this part.
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

    /// Merges the next segment of the connection.
    /// Returns `false` if the next segment does not follow directly, or if its header differs.
    fn absorb(&mut self, next: &Segment) -> bool {
        let (Header::Tcp(before), Header::Tcp(header)) = (&mut self.segment.header, &next.header)
        else {
            return false;
        };
        // A segment from the network can have any offset, so the addition must not overflow.
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
        // The FIN of the last part applies to the merged segment.
        before.flags = header.flags;
        self.segment.payload += next.payload;
        // A FIN or a shorter part ends the merged segment.
        self.open = !ends && next.payload == self.part;
        true
    }
}

/// Transport `T` behind a NIC that coalesces interrupts.
#[derive(Debug)]
pub struct Coalesced<T> {
    inner: T,
    config: Coalescing,
    waiting: Vec<Segment>,
    /// Latest time at which the waiting frames are delivered, even if there are fewer than `frames`.
    deadline: Option<Time>,
    interrupts: u64,
}

impl<T: Transport> Coalesced<T> {
    /// Places `inner` behind a NIC that coalesces interrupts.
    pub const fn new(inner: T, config: Coalescing) -> Self {
        Self {
            inner,
            config,
            waiting: Vec::new(),
            deadline: None,
            interrupts: 0,
        }
    }

    /// Returns the transport behind the NIC.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
    /// Returns the number of interrupts so far.
    pub const fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn interrupt(&mut self, now: Time) {
        self.interrupts += 1;
        self.deadline = None;
        if self.config.merge {
            self.hand_over_merged(now);
        }
        // With `merge`, the list is already empty here.
        for segment in self.waiting.drain(..) {
            self.inner.on_segment(now, segment);
        }
    }

    /// Merges and delivers the waiting segments. The segments of a connection keep their order.
    fn hand_over_merged(&mut self, now: Time) {
        let mut held: Vec<Merged> = Vec::new();
        for segment in self.waiting.drain(..) {
            let of_connection = |merged: &Merged| merged.segment.tuple == segment.tuple;
            if let Some(at) = held.iter().position(of_connection) {
                if held[at].absorb(&segment) {
                    continue;
                }
                // The merged segment is delivered before this segment, so that the order of the stream stays.
                let before = held.remove(at);
                self.inner.on_segment(now, before.segment);
            }
            let Some(merged) = Merged::new(segment) else {
                self.inner.on_segment(now, segment);
                continue;
            };
            if held.len() == MERGED_AT_ONCE {
                // The oldest merged segment is delivered to free an entry, as in Linux.
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

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        // Frames are delivered before timers expire. So an ACK among the frames prevents a retransmission timeout.
        if self.deadline.is_some_and(|at| at <= now) {
            self.interrupt(now);
        }
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
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
