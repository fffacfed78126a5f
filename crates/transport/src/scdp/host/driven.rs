//! What a driver with a clock and threads of its own does with a host, beside carrying its
//! segments.

use super::Host;
use crate::receiver_driven::Side;
use crate::scdp::{Balance, Codec, Job};
use crate::{Segment, Transport};
use tailcut_units::{FiveTuple, FlowId, Rate, Time};

impl<C: Codec> Host<C> {
    /// The codec, for a driver that asks it what to do.
    pub fn codec_mut(&mut self) -> &mut C {
        &mut self.codec
    }

    /// A segment from an address that the driver knows not to be forged, for example by a token: the
    /// session that it opens is not counted as half-open.
    pub fn on_vouched(&mut self, now: Time, segment: Segment) {
        self.is_vouched = true;
        self.on_segment(now, segment);
        self.is_vouched = false;
    }

    /// Sessions in which nothing that this host has asked for has come yet. At
    /// [`Limits::half_open`](crate::scdp::Limits::half_open) no more are opened, but by
    /// [`on_vouched`](Self::on_vouched).
    pub fn half_open(&self) -> usize {
        self.census.half_open as usize
    }

    /// The driver has ended a decoding that has [begun](crate::scdp::Decoding::Begun): the block is
    /// whole, or it takes another symbol. Does nothing where nobody waits for that any more: all
    /// source symbols came after all, or the session has ended.
    pub fn decoded(&mut self, now: Time, job: Job, decoded: bool) {
        let Some(receiver) = self.receivers.get_mut(job.session) else {
            return;
        };
        if receiver.on_decoded(now, job.block, decoded, &mut self.codec) {
            self.settle_receiver(now, job.session);
        }
    }

    /// The application has read `bytes` bytes of blocks of an object that it was told of: blocks
    /// that it had no room for are asked for
    /// ([`Delivery::Blocks`](crate::scdp::Delivery::Blocks)).
    pub fn consume(&mut self, now: Time, flow: FlowId, bytes: u64) {
        if let Some(&key) = self.register.incoming.get(&flow)
            && let Some(receiver) = self.receivers.get_mut(key)
        {
            receiver.consume(bytes);
            self.settle_receiver(now, key);
        }
    }

    /// The flow that a segment with these addresses belongs to, where this host receives it, and
    /// how many of its blocks, from the first, are open or whole: symbols of others need not be
    /// kept. To be asked after the segment has been handed over.
    pub fn receiving(&self, arrived: &FiveTuple) -> Option<(FlowId, u32)> {
        let (side, slot) = self.directory.arriving(arrived)?;
        let receiver = self.receivers.peek(slot).filter(|_| side == Side::Receiver);
        receiver.map(|receiver| (receiver.flow(), receiver.opened()))
    }

    /// What has become of the symbols that this host has asked for, of the sender of a segment; `None`
    /// where this host does not receive from it, or without credits
    /// ([`Mode::Credit`](crate::scdp::Mode::Credit)). A session that has ended has an empty one.
    pub fn balance(&self, segment: &Segment) -> Option<Balance> {
        let (side, slot) = self.directory.arriving(&segment.tuple)?;
        let receiver = self.receivers.peek(slot).filter(|_| side == Side::Receiver);
        receiver?.balance(segment)
    }

    /// From now on this host has names of its own for the flows that it receives, counted from
    /// `first`; [`Event::Opened`](crate::Event::Opened) tells each with its origin. Before, a flow
    /// has the name that its sender gave it: two senders that know nothing of each other may give
    /// the same one.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.directory.name_incoming(first);
    }

    /// Objects that this host sends from now on have symbols of so many bytes, 1 to 65,535. Those that are
    /// on their way keep theirs.
    pub fn set_symbol(&mut self, symbol: u32) {
        self.config.symbol = symbol.clamp(1, 65_535);
    }

    /// While pulls are held, those that could leave at once wait in the queue: a driver holds them while it
    /// hands over segments that have arrived together, so that one pull gives the credits for all of them.
    /// Those that wait leave with the next [`on_timeout`](Transport::on_timeout).
    pub fn hold_pulls(&mut self, is_held: bool) {
        self.pulls.hold(is_held);
    }

    /// From now on pulls ask for as much as fills `rate`, in which each packet takes `overhead`
    /// bytes beside its payload (headers, preamble and gap). Those that wait go on at that rate,
    /// counted from the last one that was sent. Until then
    /// [`pull_interval`](crate::scdp::ScdpConfig::pull_interval) holds.
    pub fn set_pull_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        let full = u64::from(self.config.symbol) + u64::from(overhead);
        self.config.pull_interval = rate.serialisation(full);
        self.config.byte_time = rate.serialisation(1);
        self.pulls.set_interval(now, self.config.pull_interval);
    }
}
