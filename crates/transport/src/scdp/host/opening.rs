//! Start of sessions at a host that receives.

use super::Host;
use crate::receiver_driven::{SessionKey, Side};
use crate::scdp::Codec;
use crate::scdp::common::header::ScdpHeader;
use crate::scdp::config::Delivery;
use crate::scdp::receiver::Receiver;
use crate::{Segment, Transport};
use tailcut_units::{FiveTuple, Time};

impl<C: Codec> Host<C> {
    /// Processes a symbol that is invalid for the session at `key`, which has the same addresses.
    /// The symbol may be the first of a new session, which then replaces the old session.
    #[cold]
    pub(super) fn on_nonsense(
        &mut self,
        now: Time,
        key: SessionKey,
        segment: &Segment,
        header: &ScdpHeader,
    ) {
        let replaced = self.table.receivers.get(key).filter(|receiver| {
            let (complete, heard_at) = (receiver.complete, receiver.heard_at);
            header.syn
                && !receiver.is_collected()
                && receiver.is_met_by_another(segment)
                && self
                    .table
                    .directory
                    .may_be_replaced(now, complete, heard_at)
        });
        let Some(receiver) = replaced else {
            self.table.ignored += 1;
            return;
        };
        if !receiver.complete {
            self.give_up_receiver(key);
        } else {
            self.drop_receiver(key);
        }
        // The old session is removed, so the segment now opens the new session.
        self.on_segment(now, *segment);
    }

    /// Processes an offer in credit mode: the sender has an object for this host.
    pub(super) fn on_offer(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let known = match self.table.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            Some(_) => None,
            None => {
                match self.on_new_source(now, segment, header) {
                    Some(slot) => self.settle_slot(now, slot, segment),
                    None => self.table.ignored += 1,
                }
                return;
            }
        };
        let Some((key, receiver)) = known.and_then(|slot| self.table.receivers.at(slot)) else {
            self.table.ignored += 1;
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

    /// Updates a session after a source has joined, possibly after the end of the session.
    fn settle_slot(&mut self, now: Time, slot: u32, segment: &Segment) {
        match self.table.receivers.at(slot) {
            Some((key, receiver)) if receiver.complete => self.repeat_done(key, segment),
            Some((key, _)) => self.settle_receiver(now, key),
            None => {}
        }
    }

    /// Processes a status: the number of symbols that a sender has sent.
    pub(super) fn on_status(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let slot = match self.table.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            _ => None,
        };
        let Some((key, receiver)) = slot.and_then(|slot| self.table.receivers.at(slot)) else {
            self.table.ignored += 1;
            return;
        };
        if !receiver.on_status(now, segment, header, &self.config) {
            self.table.ignored += 1;
        } else if receiver.complete {
            self.repeat_done(key, segment);
        } else {
            self.settle_receiver(now, key);
        }
    }

    /// Repeats the final report, because the sender of `segment` has not received it.
    pub(super) fn repeat_done(&mut self, key: SessionKey, segment: &Segment) {
        let to = segment.tuple.reversed().dst;
        if let Some(receiver) = self.table.receivers.get(key) {
            self.table
                .control
                .extend(receiver.done().filter(|done| done.tuple.dst == to));
        }
    }

    /// Processes the first symbol of a source. The symbol opens a session, or joins a session with several senders.
    /// Returns the slot of the session if the symbol is valid.
    pub(super) fn on_new_source(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
    ) -> Option<u32> {
        let to = segment.tuple.dst;
        let tuple = FiveTuple {
            src: self.table.host,
            ..segment.tuple.reversed()
        };
        if to != self.table.host && !to.is_group() {
            return None;
        }
        let collected = match self.collections.get(&tuple.src_port) {
            None if tuple.src_port != self.config.port => return None,
            collected => collected.copied(),
        };
        let known = collected.and_then(|collection| collection.session);
        let key = if let Some(key) = known {
            // The limits of sessions do not apply here, because `join` limits the number of sources.
            let receiver = self.table.receivers.get_mut(key)?;
            receiver
                .join(now, tuple, segment.flow, header, &self.config)
                .then_some(key)?
        } else {
            let limits = self.config.limits;
            if self.table.receivers.len() >= limits.sessions as usize {
                // This call may free sessions whose time-wait has ended.
                self.forget(now);
            }
            let sessions = self.table.receivers.len();
            // The application requested a collected object itself, so its sessions are never half-open.
            let is_vouched = self.is_vouched || collected.is_some();
            if !self
                .census
                .has_room(&limits, sessions, tuple.dst, is_vouched)
            {
                return None;
            }
            // The limits are checked before the session is created, so that packets above the limits use no memory.
            let mut receiver = Receiver::new(now, segment, header, &self.config)?;
            if !receiver.join(now, tuple, segment.flow, header, &self.config) {
                return None;
            }
            let flow = match collected {
                Some(collection) => collection.flow,
                None => self.table.directory.name(segment, &mut self.table.events),
            };
            // Finished sessions are removed when a new session opens, so no timer is needed for them.
            self.forget(now);
            // A collected object has counted as open since the request of the application.
            self.table.open += usize::from(collected.is_none());
            receiver.half_open = !is_vouched;
            self.census.half_open += u32::from(!is_vouched);
            self.census.enter(&limits, tuple.dst);
            let key = self.table.receivers.insert(receiver);
            if let Some(receiver) = self.table.receivers.get_mut(key) {
                receiver.set_names(key, flow, collected.is_some());
            }
            if self.table.register.reports || self.config.delivery != Delivery::Whole {
                self.table.register.incoming.insert(flow, key);
            }
            key
        };
        if let Some(collection) = self.collections.get_mut(&tuple.src_port) {
            collection.session = Some(key);
        }
        self.table.directory.enter(&tuple, Side::Receiver, key);
        Some(key.slot)
    }
}
