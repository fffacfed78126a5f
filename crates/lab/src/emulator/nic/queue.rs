//! Frames that a host has sent and that wait for its link, as segments of a transport: what is put on top of
//! transports works on frames too.

use crate::emulator::frames::Frame;
use std::num::NonZeroU32;
use tailcut_fabric::{Hints, Packet};
use tailcut_transport::tcp::{TcpFlags, TcpHeader};
use tailcut_transport::{Event, FlowStats, Header, Message, Segment, Transport, Turns};
use tailcut_units::{FiveTuple, FlowId, Time};

/// A frame that waits, as the packet that it will be.
#[derive(Debug)]
pub struct Waiting {
    /// What switches know of it.
    pub packet: Packet,
    /// What else they are told.
    pub hints: Hints,
    /// Its bytes.
    pub frame: Frame,
    /// The addresses of the TCP segment in it; without ports where there is none.
    pub tuple: FiveTuple,
}

/// A host's frames, in the order in which they leave. The segments that it gives have the frames' addresses,
/// all of their line time as payload, and the place of the frame as their header; the frame is taken by
/// [`FrameQueue::take`] when its segment leaves the layers above. It decides nothing by what arrives.
#[derive(Debug)]
pub struct FrameQueue {
    places: Vec<Option<Waiting>>,
    free: Vec<u32>,
    /// Places whose segments have not been given yet.
    turns: Turns<u32>,
    in_order: bool,
    length: usize,
}

impl FrameQueue {
    /// Room for `length` frames, from when they come until they are taken. `in_order`: classes are served
    /// strictly, and frames of a class as they came; else all as they came.
    pub const fn new(length: NonZeroU32, in_order: bool) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            turns: Turns::new(),
            in_order,
            length: length.get() as usize,
        }
    }

    /// Puts a frame in.
    ///
    /// # Errors
    /// There is no room; the frame.
    pub fn push(&mut self, waiting: Waiting) -> Result<(), Waiting> {
        if self.places.len() - self.free.len() >= self.length {
            return Err(waiting);
        }
        let class = match self.in_order {
            true => waiting.packet.priority,
            false => 0,
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(waiting);
        self.turns.enter(place, class);
        Ok(())
    }

    /// Takes the frame of a segment that this has given. `None` for any other, and for one whose frame was
    /// taken before.
    pub fn take(&mut self, segment: &Segment) -> Option<Waiting> {
        let Header::Own([place, ..]) = segment.header else {
            return None;
        };
        let waiting = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place as u32);
        Some(waiting)
    }
}

/// The segment that a host is shown of one that has arrived: addresses and flags.
pub fn arrived(tuple: FiveTuple, flags: TcpFlags) -> Segment {
    let header = TcpHeader {
        flags,
        ..TcpHeader::default()
    };
    Segment::new(tuple, FlowId(0), 0, Header::Tcp(header))
}

impl Transport for FrameQueue {
    /// Nothing: the host's kernel sends.
    fn submit(&mut self, _: Time, _: Message) {}

    fn on_segment(&mut self, _: Time, _: Segment) {}

    fn on_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time) -> Option<Segment> {
        let place = self.turns.take()?;
        let waiting = self.places[place as usize].as_ref()?;
        let header = Header::Own([place.into(), 0, 0, 0]);
        let payload = waiting.packet.size;
        Some(Segment::new(waiting.tuple, FlowId(0), payload, header))
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
