//! Additional interface for a driver that has its own clock and threads.

use super::Host;
use crate::receiver_driven::{Receiving, Side};
use crate::scdp::{Balance, Codec, Job};
use crate::{Segment, Transport};
use tailcut_units::{FiveTuple, FlowId, Rate, Time};

impl<C: Codec> Host<C> {
    /// Returns the codec, so that the driver can take its jobs.
    pub fn codec_mut(&mut self) -> &mut C {
        &mut self.codec
    }

    /// Processes a segment whose source address the driver has verified, for example by a token.
    /// If the segment opens a session, the session does not count as half-open.
    pub fn on_vouched(&mut self, now: Time, segment: Segment) {
        self.is_vouched = true;
        self.on_segment(now, segment);
        self.is_vouched = false;
    }

    /// Returns the number of sessions in which no requested symbol has arrived yet.
    /// At [`Limits::half_open`](crate::scdp::Limits::half_open), only [`on_vouched`](Self::on_vouched) opens sessions.
    pub fn half_open(&self) -> usize {
        self.census.half_open as usize
    }

    /// Reports the result of a decoding that has [begun](crate::scdp::Decoding::Begun).
    /// If `decoded` is false, the block needs another symbol.
    /// The call has no effect if all source symbols have arrived or the session has ended.
    pub fn decoded(&mut self, now: Time, job: Job, decoded: bool) {
        let Some(receiver) = self.table.receivers.get_mut(job.session) else {
            return;
        };
        if receiver.on_decoded(now, job.block, decoded, &mut self.codec) {
            self.settle_receiver(now, job.session);
        }
    }

    /// Reports that the application has read `bytes` more bytes of the reported blocks of an object.
    /// After this call, the host requests blocks that the application's window excluded before.
    /// The window is a field of [`Delivery::Blocks`](crate::scdp::Delivery::Blocks).
    pub fn consume(&mut self, now: Time, flow: FlowId, bytes: u64) {
        if let Some(&key) = self.table.register.incoming.get(&flow)
            && let Some(receiver) = self.table.receivers.get_mut(key)
        {
            receiver.consume(bytes);
            self.settle_receiver(now, key);
        }
    }

    /// Returns the flow of a segment with these addresses, if this host receives the flow.
    /// Also returns the number of the flow's open or complete blocks, counted from the first.
    /// The driver need not keep symbols of other blocks.
    /// The driver calls this function after the segment was processed.
    pub fn receiving(&self, arrived: &FiveTuple) -> Option<(FlowId, u32)> {
        let (side, slot) = self.table.directory.arriving(arrived)?;
        let receiver = self
            .table
            .receivers
            .peek(slot)
            .filter(|_| side == Side::Receiver);
        receiver.map(|receiver| (receiver.flow(), receiver.opened()))
    }

    /// Returns the counts of the symbols that this host has requested from the sender of a segment.
    /// Returns `None` if this host does not receive from that sender.
    /// Also returns `None` outside [`Mode::Credit`](crate::scdp::Mode::Credit).
    /// The counts of an ended session are zero.
    pub fn balance(&self, segment: &Segment) -> Option<Balance> {
        let (side, slot) = self.table.directory.arriving(&segment.tuple)?;
        let receiver = self
            .table
            .receivers
            .peek(slot)
            .filter(|_| side == Side::Receiver);
        receiver?.balance(segment)
    }

    /// Sets the first number for flows that this host receives after this call. The host itself numbers these flows.
    /// [`Event::Opened`](crate::Event::Opened) reports each number with the origin of the flow.
    /// By default, a flow keeps the number from its sender, and independent senders may use the same number.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.table.directory.name_incoming(first);
    }

    /// Sets the symbol size of objects that this host sends later, in bytes, 1 to 65,535.
    /// Objects that are already being sent keep their size.
    pub fn set_symbol(&mut self, symbol: u32) {
        self.config.symbol = symbol.clamp(1, 65_535);
    }

    /// Turns the delay of pulls on or off.
    /// While the delay is on, even pulls that could leave immediately wait in the queue.
    /// A driver turns the delay on while it passes several segments that arrived together.
    /// With the delay, one pull gives the credits for all segments that arrived together.
    /// The waiting pulls leave with the next [`on_timeout`](Transport::on_timeout).
    pub fn hold_pulls(&mut self, is_held: bool) {
        self.pulls.hold(is_held);
    }

    /// Sets the pull rate, so that the requested packets arrive at `rate`.
    /// Each packet has `overhead` bytes in addition to its payload (headers, preamble and gap).
    /// Waiting pulls continue at the new rate, counted from the last pull that was sent.
    /// Until the first call, [`pull_interval`](crate::scdp::ScdpConfig::pull_interval) applies.
    pub fn set_pull_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        let full = u64::from(self.config.symbol) + u64::from(overhead);
        self.config.pull_interval = rate.serialisation(full);
        self.config.byte_time = rate.serialisation(1);
        self.pulls.set_interval(now, self.config.pull_interval);
    }
}
