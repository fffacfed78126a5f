//! Messages that contain requests or answers.
//! The application extends a message while it is sent, and either end may stop it.

use super::Host;
use crate::ndp::receiver::Receiver;
use crate::receiver_driven::Streams;
use crate::{FlowStats, Message};
use tailcut_units::{FlowId, Time};

impl Streams for Host {
    fn report_arrivals(&mut self) {
        self.table.register.reports = true;
    }

    fn open(&mut self, now: Time, message: Message, ready: u64, below: bool) {
        let config = self.config;
        if let Some((key, sender)) = self.open_sender(now, message) {
            sender.set_ready(ready, &config);
            sender.set_below(below);
            self.table.register.outgoing.insert(message.flow, key);
            self.settle_sender(key);
        }
    }

    fn extend(&mut self, _now: Time, flow: FlowId, bytes: u64) {
        let config = self.config;
        if let Some((key, sender)) = self.table.outgoing(flow) {
            sender.set_ready(bytes, &config);
            self.settle_sender(key);
        }
    }

    fn set_below(&mut self, _now: Time, flow: FlowId, below: bool) {
        if let Some((_, sender)) = self.table.outgoing(flow) {
            sender.set_below(below);
        }
    }

    fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.table.give_up(now, flow)
    }

    fn refuse(&mut self, now: Time, flow: FlowId) {
        self.table.refuse(now, flow, Receiver::refuse);
    }

    fn cost(&self, flow: FlowId) -> Option<FlowStats> {
        self.table.cost(flow)
    }
}
