//! What receivers say to a host that sends.

use super::Host;
use crate::Segment;
use crate::receiver_driven::{SessionKey, Side};
use crate::scdp::Codec;
use crate::scdp::common::header::{CreditHeader, ScdpHeader, ScdpKind};
use tailcut_units::Time;

impl<C: Codec> Host<C> {
    /// The open session of this host as a sender that a word of a receiver is about.
    fn sender_of(&mut self, segment: &Segment) -> Option<SessionKey> {
        let Some((Side::Sender, slot)) = self.directory.arriving(&segment.tuple) else {
            self.ignored += 1;
            return None;
        };
        let (key, sender) = self.senders.at(slot)?;
        if sender.closed {
            return None;
        }
        if sender.task().flow != segment.flow {
            self.ignored += 1;
            return None;
        }
        Some(key)
    }

    /// Credits of a receiver, for this host as a sender.
    pub(super) fn on_credit(&mut self, now: Time, segment: &Segment, header: &CreditHeader) {
        let Some(key) = self.sender_of(segment) else {
            return;
        };
        if let Some(sender) = self.senders.get_mut(key)
            && !sender.on_credit(now, segment.tuple.src, header)
        {
            self.ignored += 1;
        }
        self.settle_sender(key);
    }

    /// A word of a receiver, for this host as a sender.
    pub(super) fn on_feedback(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let Some(key) = self.sender_of(segment) else {
            return;
        };
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        let from = segment.tuple.src;
        if header.kind == ScdpKind::Done {
            if sender.on_done(now, from) {
                self.end_well(now, key);
                return;
            }
        } else if !sender.on_pull(now, from, header, &self.config) {
            self.ignored += 1;
        }
        self.settle_sender(key);
    }
}
