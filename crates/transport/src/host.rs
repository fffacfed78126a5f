//! The interface between a host's transport and whatever drives it.

use crate::copies::{CopyNews, CopyOrder, NotCarried, flow_of_copy};
use crate::{FlowStats, Message, NotShared, Part, Receipt, Segment, Straggler};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Time};

/// One host's transport. Methods fall in three groups: the application's (`submit`,
/// `poll_event`), the network's (`on_segment`, `poll_transmit`) and the clock's (`on_timeout`,
/// `next_timeout`).
///
/// The driver calls one input, then drains `poll_transmit` as the NIC has room and `poll_event`
/// until `None`, then asks `next_timeout` again. `now` never goes back.
pub trait Transport {
    /// The application sends `message` as one flow.
    fn submit(&mut self, now: Time, message: Message);
    /// The application gives this host its part in a transfer with several ends.
    ///
    /// # Errors
    /// The design has none: the application is to send to each receiver, or fetch from each sender,
    /// by itself.
    fn take_part(&mut self, _now: Time, _part: Part<'_>) -> Result<(), NotShared> {
        Err(NotShared)
    }
    /// The application orders something about a copy of a request.
    ///
    /// # Errors
    /// The design carries no requests, or cannot take this copy.
    fn carry(&mut self, _now: Time, _order: CopyOrder) -> Result<(), NotCarried> {
        Err(NotCarried)
    }
    /// The application wants no more of a flow that this host sends: what has not left does not leave.
    /// Gives what the flow has cost; no event follows. `None`: no such flow is open, or the design
    /// cannot take flows back. TCP tells the receiver; others let it forget the flow in its own time.
    fn cancel(&mut self, _now: Time, _flow: FlowId) -> Option<FlowStats> {
        None
    }
    /// What leaves from now on of a flow that this host sends has `class`, 0 being the highest. Transports
    /// choose classes themselves; [`Classified`](crate::Classified) is the layer that obeys.
    fn reprioritise(&mut self, _now: Time, _flow: FlowId, _class: u8) {}
    /// The network delivered `segment` to this host.
    fn on_segment(&mut self, now: Time, segment: Segment);
    /// `now` is at or past `next_timeout`. A call that comes early does nothing.
    fn on_timeout(&mut self, now: Time);
    /// The next segment for the NIC, asked only when the NIC can start sending it at `now`, so that
    /// the choice among flows binds at the last moment. `None` when there is nothing to send.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;
    /// Whether `poll_transmit` would give a segment. May say yes where it then gives none; never
    /// says no where it would give one. Must be cheap: drivers ask it after every packet.
    fn has_transmit(&self) -> bool;
    /// What the application should know, in order.
    fn poll_event(&mut self) -> Option<Event>;
    /// When `on_timeout` wants to be called, if ever. May be earlier than needed, never later.
    fn next_timeout(&self) -> Option<Time>;
    /// What the flows that this host sends have cost so far, those of which it has not said that they
    /// ended: for a driver that stops before they do. Answers to copies of requests are among them, by
    /// [`flow_of_copy`](crate::copies::flow_of_copy).
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)>;
}

/// A host whose kind is chosen at run time.
impl<T: Transport + ?Sized> Transport for Box<T> {
    fn submit(&mut self, now: Time, message: Message) {
        (**self).submit(now, message);
    }
    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        (**self).take_part(now, part)
    }
    fn carry(&mut self, now: Time, order: CopyOrder) -> Result<(), NotCarried> {
        (**self).carry(now, order)
    }
    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        (**self).cancel(now, flow)
    }
    fn reprioritise(&mut self, now: Time, flow: FlowId, class: u8) {
        (**self).reprioritise(now, flow, class);
    }
    fn on_segment(&mut self, now: Time, segment: Segment) {
        (**self).on_segment(now, segment);
    }
    fn on_timeout(&mut self, now: Time) {
        (**self).on_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        (**self).poll_transmit(now)
    }
    fn has_transmit(&self) -> bool {
        (**self).has_transmit()
    }
    fn poll_event(&mut self) -> Option<Event> {
        (**self).poll_event()
    }
    fn next_timeout(&self) -> Option<Time> {
        (**self).next_timeout()
    }
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        (**self).unfinished()
    }
}

/// What a transport tells its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// At a receiver that has names of its own for what comes: a flow has begun, from there.
    Opened(FlowId, Origin),
    /// At the sender: the first connection of the flow finished its handshake.
    Established(FlowId),
    /// At the receiver: every byte of the flow has been delivered, once, in order.
    Completed(FlowId),
    /// At the sender: every connection of the flow has ended; nothing of it is sent any more.
    Closed(FlowId, FlowStats),
    /// At the sender: the flow was given up (handshake or data retransmitted too often, or reset
    /// by the peer on every connection). At a receiver that collects from several senders, or is
    /// told of blocks: it was given up there.
    Failed(FlowId, FlowStats),
    /// At a receiver, where arrivals are reported: so many bytes of the flow have arrived in order.
    Arrived(FlowId, u64),
    /// At a receiver whose application is told of blocks: this one is whole, and not told of
    /// before.
    Block(FlowId, BlockRange),
    /// At a receiver of a transfer with several ends, before `Completed` (or `Failed`, where it collects
    /// from several senders): what it took.
    Received(FlowId, Receipt),
    /// At a receiver of a transfer with several ends, after `Completed`: a symbol came too late, whole
    /// or trimmed.
    Late(FlowId),
    /// At the sender of a transfer with several receivers: this one holds the others up.
    Straggling(FlowId, Straggler),
    /// At either end of a copy of a request, by its number: what happened to it.
    Copy(u32, CopyNews),
}

impl Event {
    /// The flow that it is about.
    pub const fn flow(&self) -> FlowId {
        match self {
            Self::Opened(flow, _)
            | Self::Established(flow)
            | Self::Completed(flow)
            | Self::Closed(flow, _)
            | Self::Failed(flow, _)
            | Self::Arrived(flow, _)
            | Self::Block(flow, _)
            | Self::Received(flow, _)
            | Self::Late(flow)
            | Self::Straggling(flow, _) => *flow,
            Self::Copy(number, _) => flow_of_copy(*number),
        }
    }
}

/// Where a flow comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The addresses of what arrives.
    pub tuple: FiveTuple,
    /// The sender's name of the flow, by which it knows answers.
    pub session: FlowId,
}

/// A block of an object: its number and the bytes that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    /// From 0.
    pub block: u32,
    /// Its first byte.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
}
