//! What time brings a host's sessions: symbols sent again, stragglers, sessions that are given up.

use super::{Collection, Host};
use crate::receiver_driven::SessionKey;
use crate::scdp::Codec;
use crate::{Event, FlowStats, Receipt};
use tailcut_units::{FlowId, Time};

impl<C: Codec> Host<C> {
    pub(super) fn run_sender_timers(&mut self, now: Time) {
        while let Some((at, key)) = self.sender_timers.pop_due(now) {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            if at != sender.timer_at {
                continue;
            }
            sender.timer_at = Time::MAX;
            if sender.closed {
                continue;
            }
            let flow = sender.task().flow;
            let found = sender.find_stragglers(now);
            let found = found.into_iter().map(|one| Event::Straggling(flow, one));
            self.events.extend(found);
            if sender.is_over() {
                let ends = if sender.delivered {
                    Event::Closed
                } else {
                    Event::Failed
                };
                self.end(now, key, ends);
            } else if !sender.on_timeout(now, &self.config) {
                self.end(now, key, Event::Failed);
            }
            self.settle_sender(key);
        }
    }

    /// The timer `key` was due at `at`: an object that is collected is given up if nothing of it was heard.
    fn give_up_collection(&mut self, at: Time, key: SessionKey) {
        let port = key.generation as u16;
        let Some(collection) = self.collections.get(&port) else {
            return;
        };
        let is_over = collection.session.is_none() && collection.until == at;
        if key == Collection::timer(port) && is_over {
            self.events
                .extend(failed(collection.flow, Receipt::default()));
            self.collections.remove(&port);
            self.open -= 1;
        }
    }

    /// Nothing more is expected of a session that is not complete.
    pub(super) fn give_up_receiver(&mut self, key: SessionKey) {
        let Some(receiver) = self.receivers.get_mut(key) else {
            return;
        };
        self.open -= 1;
        let flow = receiver.flow();
        if receiver.is_collected() {
            let receipt = receiver.receipt().unwrap_or_default();
            self.events.extend(failed(flow, receipt));
        } else if receiver.has_reader() {
            let failed = Event::Failed(flow, FlowStats::default());
            self.events.push_back(failed);
        }
        self.register.incoming.remove(&flow);
        self.drop_receiver(key);
    }

    pub(super) fn run_receiver_timers(&mut self, now: Time) {
        while let Some((at, key)) = self.receiver_timers.pop_due(now) {
            let Some(receiver) = self.receivers.get_mut(key) else {
                self.give_up_collection(at, key);
                continue;
            };
            if at != receiver.timer_at {
                continue;
            }
            receiver.timer_at = Time::MAX;
            if receiver.complete {
                continue;
            }
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

/// What a receiver that collects from several senders tells when it gives up.
fn failed(flow: FlowId, receipt: Receipt) -> [Event; 2] {
    [
        Event::Received(flow, receipt),
        Event::Failed(flow, FlowStats::default()),
    ]
}
