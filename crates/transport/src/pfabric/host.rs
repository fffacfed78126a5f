//! pFabric of one host: its flows, the order in which they send, and their timers.

use super::config::PFabricConfig;
use super::header::{PFabricHeader, PFabricKind};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::ndp::Task;
use crate::receiver_driven::{Receiving, SessionKey, SessionTable, Side, arm};
use crate::{ConfigError, Event, FlowStats, Header, Message, Segment, Transport};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Time};

/// pFabric of one host, as a [`Transport`]. It never replicates flows, even if the message requests it.
#[derive(Debug)]
pub struct Host {
    config: PFabricConfig,
    table: SessionTable<Sender, Receiver>,
    /// Sessions that may send, by the remaining bytes of their flows.
    ready: BTreeSet<(u64, SessionKey)>,
}

impl Host {
    /// Returns the pFabric transport of the host with the number `host`.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: PFabricConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            table: SessionTable::new(host, config.port, config.time_wait),
            ready: BTreeSet::new(),
        })
    }

    /// Returns the parameters.
    pub fn config(&self) -> &PFabricConfig {
        &self.config
    }

    /// Returns the number of flows that this host sends or receives and that have not ended.
    /// Flows in time-wait are not counted.
    pub fn open_flows(&self) -> usize {
        self.table.open
    }

    /// Returns the number of dropped segments that were invalid or belonged to no flow.
    pub fn ignored(&self) -> u64 {
        self.table.ignored
    }

    /// Sets the first number for flows that this host receives after this call.
    /// The host itself numbers incoming flows, and [`Event::Opened`] reports each number with the origin of the flow.
    /// By default, a flow keeps the number from its sender, and independent senders may use the same number.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.table.directory.name_incoming(first);
    }

    /// Processes a data packet or a probe as a receiver.
    fn on_packet(&mut self, now: Time, segment: &Segment, header: &PFabricHeader) {
        let slot = match self.table.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => slot,
            None if segment.tuple.dst == self.table.host && header.packets > 0 => {
                // Finished sessions are removed when a new session opens, so no timer is needed for them.
                self.table.forget(now, |_| {});
                let flow = self.table.directory.name(segment, &mut self.table.events);
                let receiver = Receiver::new(now, flow, segment, header);
                self.table.add_receiver(receiver).slot
            }
            _ => {
                self.table.ignored += 1;
                return;
            }
        };
        let Some((key, receiver)) = self.table.receivers.at(slot) else {
            return;
        };
        if receiver.session() != segment.flow {
            self.on_other_session(now, key, segment, header);
            return;
        }
        let was_complete = receiver.is_complete();
        let Some(answer) = receiver.on_packet(now, header) else {
            self.table.ignored += 1;
            return;
        };
        self.table.control.push_back(answer);
        if receiver.is_complete() && !was_complete {
            let flow = receiver.flow();
            self.table.complete(now, key, flow);
        }
    }

    /// Processes a packet whose addresses belong to the session at `key`, but whose session number differs.
    /// The new session may replace the old session.
    #[cold]
    fn on_other_session(
        &mut self,
        now: Time,
        key: SessionKey,
        segment: &Segment,
        header: &PFabricHeader,
    ) {
        if self.table.make_way(now, key, header.packets > 0) {
            self.on_packet(now, segment, header);
        }
    }

    /// Processes an ACK as a sender.
    fn on_ack(&mut self, now: Time, segment: &Segment, header: &PFabricHeader) {
        let Some((key, sender)) = self.table.sender_of(segment) else {
            return;
        };
        if !sender.on_ack(now, header, &self.config) {
            self.table.ignored += 1;
            return;
        }
        if sender.is_complete() {
            self.table.end(now, key, Event::Closed);
        }
        // A session that has ended also needs this call. The call removes the session from the ready queue.
        self.settle(key);
    }

    /// Updates a sender's entry in the ready queue, and its timer. Must be called after each input to the sender.
    #[inline]
    fn settle(&mut self, key: SessionKey) {
        let Some(sender) = self.table.senders.get_mut(key) else {
            return;
        };
        let wanted = sender
            .can_send(&self.config)
            .then(|| sender.remaining(&self.config));
        // The queue is sorted by remaining bytes, so an entry with a changed number must be replaced.
        if wanted != sender.queued {
            if let Some(before) = sender.queued {
                self.ready.remove(&(before, key));
            }
            if let Some(remaining) = wanted {
                self.ready.insert((remaining, key));
            }
            sender.queued = wanted;
        }
        let deadline = Some(sender.deadline);
        arm(&mut self.table.timers, key, sender, deadline);
    }
}

impl Transport for Host {
    /// Submits a message. If all ports are in use, the flow fails immediately.
    fn submit(&mut self, now: Time, message: Message) {
        // Sessions whose time-wait has ended free their ports before a port is chosen.
        self.table.forget(now, |_| {});
        let Some(tuple) = self.table.directory.unused(message.dst) else {
            self.table.fail(message.flow);
            return;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            bytes: message.bytes,
            pin: message.path,
        };
        let key = self.table.add_sender(Sender::new(task, &self.config));
        self.settle(key);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let (key, stats) = self.table.cancel(now, flow)?;
        // This call removes the session from the queue of sessions that may send.
        self.settle(key);
        Some(stats)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let Header::PFabric(header) = &segment.header else {
            self.table.ignored += 1;
            return;
        };
        match header.kind {
            PFabricKind::Data | PFabricKind::Probe => self.on_packet(now, &segment, header),
            PFabricKind::Ack | PFabricKind::ProbeAck => self.on_ack(now, &segment, header),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        while let Some(key) = self.table.next_due(now) {
            let Some(sender) = self.table.senders.get_mut(key) else {
                continue;
            };
            // The deadline may have moved to a later time since the timer entry was added.
            if sender.deadline <= now {
                sender.on_timeout(now, &self.config);
            }
            self.settle(key);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // ACKs leave first, because they have the highest rank.
        if let Some(control) = self.table.control.pop_front() {
            return Some(control);
        }
        while let Some(&(remaining, key)) = self.ready.first() {
            let Some(sender) = self.table.senders.get_mut(key) else {
                self.ready.remove(&(remaining, key));
                continue;
            };
            let segment = sender.transmit(now, &self.config);
            self.settle(key);
            if segment.is_some() {
                return segment;
            }
        }
        None
    }

    #[inline]
    fn has_transmit(&self) -> bool {
        !self.table.control.is_empty() || !self.ready.is_empty()
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.table.events.pop_front()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.table.timers.next()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.table.unfinished()
    }
}
