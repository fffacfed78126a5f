//! Messages that carry requests: sent block by block while they become ready, and given up at either end.

use super::{Host, Outlook};
use crate::receiver_driven::{SessionKey, Side, Streams};
use crate::scdp::Codec;
use crate::{FlowStats, Message};
use tailcut_units::{FlowId, Time};

impl<C: Codec> Streams for Host<C> {
    fn report_arrivals(&mut self) {
        self.register.reports = true;
    }

    fn open(&mut self, now: Time, message: Message, ready: u64, below: bool) {
        self.forget(now);
        let tuple = self.directory.unused(message.dst);
        let outlook = Outlook::to_one(tuple, &self.config);
        if let Some(key) = self.open_sender(now, message, outlook)
            && let Some(sender) = self.senders.get_mut(key)
        {
            sender.set_ready(ready);
            sender.set_below(below);
            self.register.outgoing.insert(message.flow, key);
            self.settle_sender(key);
        }
    }

    fn extend(&mut self, _now: Time, flow: FlowId, bytes: u64) {
        if let Some((key, sender)) = self.outgoing(flow) {
            sender.set_ready(bytes);
            self.settle_sender(key);
        }
    }

    fn set_below(&mut self, _now: Time, flow: FlowId, below: bool) {
        if let Some((key, sender)) = self.outgoing(flow) {
            sender.set_below(below);
            self.settle_sender(key);
        }
    }

    fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let key = *self.register.outgoing.get(&flow)?;
        self.close_sender(now, key)
    }

    fn refuse(&mut self, now: Time, flow: FlowId) {
        if let Some(key) = self.register.incoming.remove(&flow)
            && let Some(receiver) = self.receivers.get_mut(key)
        {
            receiver.refuse();
            self.open -= 1;
            self.census.waiting += 1;
            self.directory.wait(now, Side::Receiver, key);
        }
    }

    fn cost(&self, flow: FlowId) -> Option<FlowStats> {
        let key = *self.register.outgoing.get(&flow)?;
        self.senders.get(key).map(|sender| sender.stats)
    }
}

impl<C: Codec> Host<C> {
    /// Sends no more of a session. Gives what it has cost.
    pub(super) fn close_sender(&mut self, now: Time, key: SessionKey) -> Option<FlowStats> {
        let sender = self.senders.get_mut(key).filter(|sender| !sender.closed)?;
        let (flow, stats) = (sender.task().flow, sender.stats);
        sender.close();
        self.register.outgoing.remove(&flow);
        self.open -= 1;
        self.directory.wait(now, Side::Sender, key);
        Some(stats)
    }
}
