//! Messages that contain requests or answers.
//! The application extends a message block by block during its transmission, and either end may stop the message.

use super::{Host, Outlook};
use crate::receiver_driven::Streams;
use crate::scdp::Codec;
use crate::scdp::receiver::Receiver;
use crate::{FlowStats, Message};
use tailcut_units::{FlowId, Time};

impl<C: Codec> Streams for Host<C> {
    fn report_arrivals(&mut self) {
        self.table.register.reports = true;
    }

    fn open(&mut self, now: Time, message: Message, ready: u64, below: bool) {
        self.forget(now);
        let tuple = self.table.directory.unused(message.dst);
        let outlook = Outlook::to_one(tuple, &self.config);
        if let Some(key) = self.open_sender(now, message, outlook)
            && let Some(sender) = self.table.senders.get_mut(key)
        {
            sender.set_ready(ready);
            sender.set_below(below);
            self.table.register.outgoing.insert(message.flow, key);
            self.settle_sender(key);
        }
    }

    fn extend(&mut self, _now: Time, flow: FlowId, bytes: u64) {
        if let Some((key, sender)) = self.table.outgoing(flow) {
            sender.set_ready(bytes);
            self.settle_sender(key);
        }
    }

    fn set_below(&mut self, _now: Time, flow: FlowId, below: bool) {
        if let Some((key, sender)) = self.table.outgoing(flow) {
            sender.set_below(below);
            self.settle_sender(key);
        }
    }

    fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.table.give_up(now, flow)
    }

    fn refuse(&mut self, now: Time, flow: FlowId) {
        let refused = self.table.refuse(now, flow, Receiver::refuse);
        // A refused session stays in memory until its time-wait ends.
        self.census.waiting += usize::from(refused);
    }

    fn cost(&self, flow: FlowId) -> Option<FlowStats> {
        self.table.cost(flow)
    }
}
