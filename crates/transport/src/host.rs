//! Interface between the transport of a host and its driver.

use crate::copies::{CopyNews, CopyOrder, NotCarried, flow_of_copy};
use crate::{FlowStats, Message, NotShared, Part, Receipt, Segment, Straggler};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Rate, Time};

/// Transport of one host. Its methods belong to three groups. The application calls `submit` and `poll_event`.
/// The network calls `on_segment` and `poll_transmit`. The clock calls `on_timeout` and `next_timeout`.
///
/// After each input the driver calls `poll_transmit` while the NIC accepts segments.
/// After the segments, the driver calls `poll_event` until the result is `None`, and reads `next_timeout` again.
/// `now` never decreases.
pub trait Transport {
    /// Sends `message` as one flow.
    fn submit(&mut self, now: Time, message: Message);
    /// Starts the role of this host in a transfer with several senders or receivers.
    ///
    /// # Errors
    /// The design does not support transfers with several senders or receivers.
    /// Without such transfers, the application must use a separate flow for each receiver or sender.
    fn take_part(&mut self, _now: Time, _part: Part<'_>) -> Result<(), NotShared> {
        Err(NotShared)
    }
    /// Executes an order from the application about a copy of a request.
    ///
    /// # Errors
    /// The design does not support requests, or the host cannot accept this copy.
    fn carry(&mut self, _now: Time, _order: CopyOrder) -> Result<(), NotCarried> {
        Err(NotCarried)
    }
    /// Cancels a flow that this host sends: data that has not left is never sent.
    /// Returns the cost of the flow, and no event follows.
    /// Returns `None` if the flow is not open, or if the design cannot cancel flows. TCP sends a reset to the receiver.
    /// With other transports the receiver drops the flow after a timeout.
    fn cancel(&mut self, _now: Time, _flow: FlowId) -> Option<FlowStats> {
        None
    }
    /// Sets the class of all later segments of a flow that this host sends. Class 0 is the highest.
    /// Transports choose classes themselves and ignore this call.
    /// The layer [`Classified`](crate::Classified) applies the class.
    fn reprioritise(&mut self, _now: Time, _flow: FlowId, _class: u8) {}
    /// Changes the total rate of the links of this host.
    /// The driver calls this method when the rate changes during a run, and then polls as after any other input.
    /// `overhead` is the number of bytes of a segment on the wire in addition to its payload.
    /// Transports that pace by the rate of the link use the new rate. Other transports ignore the call.
    fn set_line_rate(&mut self, _now: Time, _rate: Rate, _overhead: u32) {}
    /// Handles a segment that the network delivered to this host.
    fn on_segment(&mut self, now: Time, segment: Segment);
    /// Runs the timers that are due. The driver calls this method at or after `next_timeout`.
    /// An early call does nothing.
    fn on_timeout(&mut self, now: Time);
    /// Returns the next segment for the NIC, or `None` if there is nothing to send.
    /// The driver calls this method only when the NIC can begin a transmission at `now`.
    /// The transport therefore chooses among its flows at the last moment.
    fn poll_transmit(&mut self, now: Time) -> Option<Segment>;
    /// Returns whether `poll_transmit` would return a segment. `true` may be wrong, but `false` is always right.
    /// Drivers call this method after every packet, so the method must be cheap.
    fn has_transmit(&self) -> bool;
    /// Returns the next event for the application, in order.
    fn poll_event(&mut self) -> Option<Event>;
    /// Returns the time at which `on_timeout` must be called, if any.
    /// The time may be earlier than needed, but never later.
    fn next_timeout(&self) -> Option<Time>;
    /// Prefetches the state that the next input needs. The call has no effect on results.
    /// The input is a segment that arrives soon, or `None` for a NIC that becomes free soon.
    /// Only drivers of networks that exceed the processor's cache call this method.
    fn prefetch(&self, _arriving: Option<&Segment>) {}
    /// Returns the cost so far of each flow that this host sends and whose end was not yet reported.
    /// A driver needs the costs of open flows if it stops before the flows end.
    /// The list includes answers to copies of requests, by [`flow_of_copy`](crate::copies::flow_of_copy).
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)>;
}

/// Transport of a host whose design is chosen at run time.
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
    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        (**self).set_line_rate(now, rate, overhead);
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
    fn prefetch(&self, arriving: Option<&Segment>) {
        (**self).prefetch(arriving);
    }
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        (**self).unfinished()
    }
}

/// Event that a transport reports to its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// At a receiver that assigns its own numbers to incoming flows: a flow has begun.
    Opened(FlowId, Origin),
    /// At the sender: the first connection of the flow has finished its handshake.
    Established(FlowId),
    /// At the receiver: every byte of the flow has been delivered, once and in order.
    Completed(FlowId),
    /// At the sender: every connection of the flow has ended. No more data of the flow is sent.
    Closed(FlowId, FlowStats),
    /// The flow has failed at its sender.
    /// A handshake or data was retransmitted too often, or the peer reset every connection.
    /// A receiver reports this event too if it collects from several senders or reports blocks.
    Failed(FlowId, FlowStats),
    /// At a receiver that reports arrivals: number of bytes of the flow that have arrived in order.
    Arrived(FlowId, u64),
    /// At a receiver that reports blocks: this block is complete. Each block is reported once.
    Block(FlowId, BlockRange),
    /// At a receiver of a transfer with several ends: its statistics. This event comes just before `Completed`.
    /// At a receiver that collects from several senders this event may also come before `Failed`.
    Received(FlowId, Receipt),
    /// At a receiver of a transfer with several ends, after `Completed`: a symbol has arrived too late.
    /// The symbol may be trimmed.
    Late(FlowId),
    /// At the sender of a transfer with several receivers: this receiver delays the others.
    Straggling(FlowId, Straggler),
    /// At either end of a copy of a request: the state of the copy with this number has changed.
    Copy(u32, CopyNews),
}

impl Event {
    /// Returns the flow that the event concerns.
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

/// Origin of an incoming flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Addresses of the arriving segments.
    pub tuple: FiveTuple,
    /// Number of the flow at the sender. Answers contain this number.
    pub session: FlowId,
}

/// Block of an object: its number and its byte range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    /// Number of the block, from 0.
    pub block: u32,
    /// Offset of the first byte of the block.
    pub from: u64,
    /// Offset one past the last byte of the block.
    pub to: u64,
}
