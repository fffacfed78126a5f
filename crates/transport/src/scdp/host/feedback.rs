//! Packets from receivers, at a host that sends.

use super::Host;
use crate::Segment;
use crate::scdp::Codec;
use crate::scdp::common::header::{CreditHeader, ScdpHeader, ScdpKind};
use tailcut_units::{Duration, FiveTuple, Time};

impl<C: Codec> Host<C> {
    /// Sender: processes credits from a receiver.
    pub(super) fn on_credit(&mut self, now: Time, segment: &Segment, header: &CreditHeader) {
        let Some((key, sender)) = self.table.sender_of(segment) else {
            return;
        };
        if !sender.on_credit(now, segment.tuple.src, header) {
            self.table.ignored += 1;
        }
        self.settle_sender(key);
    }

    /// Sender: returns the time for which the other receivers have waited for one receiver.
    /// `tuple` has the addresses of its answers. Only counted for senders with credits.
    pub fn held_up_by(&mut self, tuple: &FiveTuple) -> Option<Duration> {
        let sender = self.table.answered(tuple)?;
        Some(sender.held_up_by(tuple.src))
    }

    /// Sender: processes a pull or the final report of a receiver.
    pub(super) fn on_feedback(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let Some((key, sender)) = self.table.sender_of(segment) else {
            return;
        };
        let from = segment.tuple.src;
        if header.kind == ScdpKind::Done {
            if sender.on_done(now, from) {
                self.end_well(now, key);
                return;
            }
        } else if !sender.on_pull(now, from, header, &self.config) {
            self.table.ignored += 1;
        }
        self.settle_sender(key);
    }
}
