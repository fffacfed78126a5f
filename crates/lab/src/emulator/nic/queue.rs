//! Queue of frames that wait for the host's link. The queue implements the interface of a transport.
//! Layers that work on transports, such as the pacer, therefore also work on frames.

use crate::emulator::frames::Frame;
use std::num::NonZeroU32;
use tailcut_fabric::{Hints, Packet};
use tailcut_transport::tcp::{TcpFlags, TcpHeader};
use tailcut_transport::{Event, FlowStats, Header, Message, Segment, Transport, Turns};
use tailcut_units::{FiveTuple, FlowId, Time};

/// Frame in the queue, with its packet.
#[derive(Debug)]
pub struct QueuedFrame {
    /// Packet that represents the frame in the fabric.
    pub packet: Packet,
    /// Information for switches that is not part of the packet.
    pub hints: Hints,
    /// Bytes of the frame.
    pub frame: Frame,
    /// Five-tuple of the TCP segment in the frame. Other frames have no ports.
    pub tuple: FiveTuple,
}

/// Queue of a host's frames.
/// For each frame, the queue emits a segment that represents the frame in the layer above, such as the pacer.
/// The segment has the frame's addresses, and a payload length equal to the line time of the frame.
/// The header of the segment contains the number of the frame's slot.
/// When the layer emits the segment, [`FrameQueue::take`] returns the frame. Arriving segments do not affect the queue.
#[derive(Debug)]
pub struct FrameQueue {
    /// Slots for frames. A slot stays in use until [`FrameQueue::take`] removes its frame.
    slots: Vec<Option<QueuedFrame>>,
    free: Vec<u32>,
    /// Order in which the queue emits the segments of the waiting frames.
    turns: Turns<u32>,
    in_order: bool,
    length: usize,
}

impl FrameQueue {
    /// Creates a queue with `length` slots.
    /// If `in_order` is true, the queue serves classes by strict priority, and each class in order of arrival.
    /// If `in_order` is false, the queue serves all frames in order of arrival.
    pub const fn new(length: NonZeroU32, in_order: bool) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            turns: Turns::new(),
            in_order,
            length: length.get() as usize,
        }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// The queue is full. The error contains the frame.
    pub fn push(&mut self, queued: QueuedFrame) -> Result<(), QueuedFrame> {
        if self.slots.len() - self.free.len() >= self.length {
            return Err(queued);
        }
        let class = match self.in_order {
            true => queued.packet.priority,
            false => 0,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(queued);
        self.turns.enter(slot, class);
        Ok(())
    }

    /// Returns the frame that a segment represents.
    /// Returns `None` if this queue has not emitted the segment, or if the frame was already taken.
    pub fn take(&mut self, segment: &Segment) -> Option<QueuedFrame> {
        let Header::Own([slot, ..]) = segment.header else {
            return None;
        };
        let queued = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot as u32);
        Some(queued)
    }
}

/// Returns a segment that represents an arrived TCP segment in the layer above.
/// The returned segment has only addresses and flags.
pub fn arrived(tuple: FiveTuple, flags: TcpFlags) -> Segment {
    let header = TcpHeader {
        flags,
        ..TcpHeader::default()
    };
    Segment::new(tuple, FlowId(0), 0, Header::Tcp(header))
}

impl Transport for FrameQueue {
    /// Messages are ignored, because the host's kernel is the sender.
    fn submit(&mut self, _: Time, _: Message) {}

    fn on_segment(&mut self, _: Time, _: Segment) {}

    fn on_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time) -> Option<Segment> {
        let slot = self.turns.take()?;
        let queued = self.slots[slot as usize].as_ref()?;
        let header = Header::Own([slot.into(), 0, 0, 0]);
        let payload = queued.packet.size;
        Some(Segment::new(queued.tuple, FlowId(0), payload, header))
    }

    fn has_transmit(&self) -> bool {
        !self.turns.is_empty()
    }

    fn poll_event(&mut self) -> Option<Event> {
        None
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        Vec::new()
    }
}
