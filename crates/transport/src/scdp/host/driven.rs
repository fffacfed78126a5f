//! What a driver with a clock and threads of its own does with a host, beside carrying its segments.

use super::Host;
use crate::scdp::{Codec, Job};
use tailcut_units::{Rate, Time};

impl<C: Codec> Host<C> {
    /// The codec, for a driver that asks it what to do.
    pub fn codec_mut(&mut self) -> &mut C {
        &mut self.codec
    }

    /// The driver has ended a decoding that has [begun](super::Decoding::Begun): the block is whole, or it
    /// takes another symbol. Does nothing where nobody waits for that any more: all source symbols came
    /// after all, or the session has ended.
    pub fn decoded(&mut self, now: Time, job: Job, decoded: bool) {
        let Some(receiver) = self.receivers.get_mut(job.session) else {
            return;
        };
        if receiver.on_decoded(now, job.block, decoded, &mut self.codec) {
            self.settle_receiver(now, job.session);
        }
    }

    /// From now on pulls ask for as much as fills `rate`, in which each packet takes `overhead` bytes
    /// beside its payload (headers, preamble and gap). Those that wait go on at that rate, counted from the
    /// last one that was sent. Until then [`pull_interval`](crate::scdp::ScdpConfig::pull_interval) holds.
    pub fn set_pull_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        let full = u64::from(self.config.symbol) + u64::from(overhead);
        self.config.pull_interval = rate.serialisation(full);
        self.config.byte_time = rate.serialisation(1);
        self.pulls.set_interval(now, self.config.pull_interval);
    }
}
