//! Timers of a host's sessions: timeouts, stragglers and failed sessions.

use super::{Collection, Host};
use crate::receiver_driven::{Receiving, SessionKey};
use crate::scdp::Codec;
use crate::{Event, FlowStats, Receipt};
use tailcut_units::{FlowId, Time};

impl<C: Codec> Host<C> {
    pub(super) fn run_sender_timers(&mut self, now: Time) {
        while let Some(key) = self.table.next_due(now) {
            let Some(sender) = self.table.senders.get_mut(key) else {
                continue;
            };
            if sender.closed {
                continue;
            }
            let flow = sender.task().flow;
            let found = sender.find_stragglers(now);
            let found = found.into_iter().map(|one| Event::Straggling(flow, one));
            self.table.events.extend(found);
            // The session may have ended now, because stragglers were dropped.
            if sender.is_over() {
                // If all receivers were dropped, no receiver has the object.
                let ends = if sender.delivered {
                    Event::Closed
                } else {
                    Event::Failed
                };
                self.table.end(now, key, ends);
            } else if !sender.on_timeout(now, &self.config) {
                self.table.end(now, key, Event::Failed);
            }
            self.settle_sender(key);
        }
    }

    /// Handles the timer `key` that was due at `at`. A collection fails if no packet from its senders has arrived.
    fn give_up_collection(&mut self, at: Time, key: SessionKey) {
        let port = key.generation as u16;
        // The timer of a removed receiver also reaches this code. Its key differs from the key of every collection.
        let Some(collection) = self.collections.get(&port) else {
            return;
        };
        let is_over = collection.session.is_none() && collection.until == at;
        if key == Collection::timer(port) && is_over {
            self.table
                .events
                .extend(failed(collection.flow, Receipt::default()));
            self.collections.remove(&port);
            self.table.open -= 1;
        }
    }

    /// Removes a session that is not complete, and reports its failure.
    pub(super) fn give_up_receiver(&mut self, key: SessionKey) {
        let Some(receiver) = self.table.receivers.get_mut(key) else {
            return;
        };
        self.table.open -= 1;
        // If the application collects or reads the object, it gets an event for the failure.
        // Other sessions end without an event.
        let flow = receiver.flow();
        if receiver.is_collected() {
            let receipt = receiver.receipt().unwrap_or_default();
            self.table.events.extend(failed(flow, receipt));
        } else if receiver.has_reader() {
            let failed = Event::Failed(flow, FlowStats::default());
            self.table.events.push_back(failed);
        }
        self.table.register.incoming.remove(&flow);
        self.drop_receiver(key);
    }

    pub(super) fn run_receiver_timers(&mut self, now: Time) {
        while let Some((at, key)) = self.receiver_timers.pop_due(now) {
            let Some(receiver) = self.table.receivers.get_mut(key) else {
                self.give_up_collection(at, key);
                continue;
            };
            // An entry with another time is stale, because an earlier timer of the session has replaced it.
            if at != receiver.timer_at {
                continue;
            }
            receiver.timer_at = Time::MAX;
            if receiver.complete {
                continue;
            }
            // The deadline may have moved to a later time since the timer entry was added.
            let due = receiver
                .deadline(now, &self.config)
                .is_some_and(|due| due <= now);
            if due && !receiver.on_timeout(now, &mut self.codec, &self.config) {
                self.give_up_receiver(key);
                continue;
            }
            self.settle_receiver(now, key);
        }
    }
}

/// Returns the events of a failed transfer from several senders.
fn failed(flow: FlowId, receipt: Receipt) -> [Event; 2] {
    [
        Event::Received(flow, receipt),
        Event::Failed(flow, FlowStats::default()),
    ]
}
