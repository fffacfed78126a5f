//! How sessions begin at a host that receives.

use super::Host;
use crate::receiver_driven::{SessionKey, Side};
use crate::scdp::Codec;
use crate::scdp::common::header::ScdpHeader;
use crate::scdp::config::Delivery;
use crate::scdp::receiver::Receiver;
use crate::{Segment, Transport};
use tailcut_units::{FiveTuple, Time};

impl<C: Codec> Host<C> {
    /// A symbol that cannot be of the session at `key`, by whose addresses it came. It may be the
    /// first of another that takes its place.
    #[cold]
    pub(super) fn on_nonsense(
        &mut self,
        now: Time,
        key: SessionKey,
        segment: &Segment,
        header: &ScdpHeader,
    ) {
        let replaced = self.receivers.get(key).filter(|receiver| {
            let (complete, heard_at) = (receiver.complete, receiver.heard_at);
            header.syn
                && !receiver.is_collected()
                && receiver.is_met_by_another(segment)
                && self.directory.may_be_replaced(now, complete, heard_at)
        });
        let Some(receiver) = replaced else {
            self.ignored += 1;
            return;
        };
        if !receiver.complete {
            self.give_up_receiver(key);
        } else {
            self.drop_receiver(key);
        }
        self.on_segment(now, *segment);
    }

    /// A sender has an object for this host, which gives credits.
    pub(super) fn on_offer(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let known = match self.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            Some(_) => None,
            None => {
                match self.on_new_source(now, segment, header) {
                    Some(slot) => self.settle_slot(now, slot, segment),
                    None => self.ignored += 1,
                }
                return;
            }
        };
        let Some((key, receiver)) = known.and_then(|slot| self.receivers.at(slot)) else {
            self.ignored += 1;
            return;
        };
        if !receiver.on_offer_again(now, segment) {
            self.on_nonsense(now, key, segment, header);
        } else if receiver.complete {
            self.repeat_done(key, segment);
        } else {
            self.settle_receiver(now, key);
        }
    }

    /// A source has joined, perhaps after the end.
    fn settle_slot(&mut self, now: Time, slot: u32, segment: &Segment) {
        match self.receivers.at(slot) {
            Some((key, receiver)) if receiver.complete => self.repeat_done(key, segment),
            Some((key, _)) => self.settle_receiver(now, key),
            None => {}
        }
    }

    /// A sender tells how much it has sent.
    pub(super) fn on_status(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let slot = match self.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            _ => None,
        };
        let Some((key, receiver)) = slot.and_then(|slot| self.receivers.at(slot)) else {
            self.ignored += 1;
            return;
        };
        if !receiver.on_status(now, segment, header, &self.config) {
            self.ignored += 1;
        } else if receiver.complete {
            self.repeat_done(key, segment);
        } else {
            self.settle_receiver(now, key);
        }
    }

    /// The sender of `segment` does not know that the session is complete.
    pub(super) fn repeat_done(&mut self, key: SessionKey, segment: &Segment) {
        let to = segment.tuple.reversed().dst;
        if let Some(receiver) = self.receivers.get(key) {
            self.control
                .extend(receiver.done().filter(|done| done.tuple.dst == to));
        }
    }

    /// A symbol that opens a session, or comes from one more of its senders. Gives the session's
    /// slot if it makes sense.
    pub(super) fn on_new_source(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
    ) -> Option<u32> {
        let to = segment.tuple.dst;
        let tuple = FiveTuple {
            src: self.host,
            ..segment.tuple.reversed()
        };
        if to != self.host && !to.is_group() {
            return None;
        }
        let collected = match self.collections.get(&tuple.src_port) {
            None if tuple.src_port != self.config.port => return None,
            collected => collected.copied(),
        };
        let known = collected.and_then(|collection| collection.session);
        let key = if let Some(key) = known {
            let receiver = self.receivers.get_mut(key)?;
            receiver
                .join(now, tuple, segment.flow, header, &self.config)
                .then_some(key)?
        } else {
            let limits = self.config.limits;
            if self.receivers.len() >= limits.sessions as usize {
                // Some may be remembered for nothing any more.
                self.forget(now);
            }
            let sessions = self.receivers.len();
            let is_vouched = self.is_vouched || collected.is_some();
            if !self
                .census
                .has_room(&limits, sessions, tuple.dst, is_vouched)
            {
                return None;
            }
            let mut receiver = Receiver::new(now, segment, header, &self.config)?;
            if !receiver.join(now, tuple, segment.flow, header, &self.config) {
                return None;
            }
            let flow = match collected {
                Some(collection) => collection.flow,
                None => self.directory.name(segment, &mut self.events),
            };
            self.forget(now);
            self.open += usize::from(collected.is_none());
            receiver.half_open = !is_vouched;
            self.census.half_open += u32::from(!is_vouched);
            self.census.enter(&limits, tuple.dst);
            let key = self.receivers.insert(receiver);
            if let Some(receiver) = self.receivers.get_mut(key) {
                receiver.set_names(key, flow, collected.is_some());
            }
            if self.register.reports || self.config.delivery != Delivery::Whole {
                self.register.incoming.insert(flow, key);
            }
            key
        };
        if let Some(collection) = self.collections.get_mut(&tuple.src_port) {
            collection.session = Some(key);
        }
        self.directory.enter(&tuple, Side::Receiver, key);
        Some(key.slot)
    }
}
