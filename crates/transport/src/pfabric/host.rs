//! A host's pFabric: its flows, the order in which they send, their timers.

use super::config::PFabricConfig;
use super::header::{PFabricHeader, PFabricKind};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::ndp::Task;
use crate::receiver_driven::{Directory, SessionKey, Sessions, Side};
use crate::tcp::timers::Timers;
use crate::{ConfigError, Event, FlowStats, Header, Message, Segment, Transport};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Time};

/// [`Transport`] by pFabric. Flows are not replicated, whatever the message says.
#[derive(Debug)]
pub struct Host {
    host: HostId,
    config: PFabricConfig,
    directory: Directory,
    senders: Sessions<Sender>,
    receivers: Sessions<Receiver>,
    /// Senders that may send, by what remains of their flows.
    ready: BTreeSet<(u64, SessionKey)>,
    /// ACKs, which leave before data.
    control: VecDeque<Segment>,
    timers: Timers,
    events: VecDeque<Event>,
    open: usize,
    ignored: u64,
}

impl Host {
    /// The pFabric of `host`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: PFabricConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            host,
            config,
            directory: Directory::new(host, config.port, config.time_wait),
            senders: Sessions::new(),
            receivers: Sessions::new(),
            ready: BTreeSet::new(),
            control: VecDeque::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            open: 0,
            ignored: 0,
        })
    }

    /// The parameters.
    pub fn config(&self) -> &PFabricConfig {
        &self.config
    }

    /// Flows that this host sends or receives and that have not ended, those in time-wait not counted.
    pub fn open_flows(&self) -> usize {
        self.open
    }

    /// Segments that were dropped because they belong to no flow or make no sense.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// From now on this host has names of its own for the flows that it receives, counted from
    /// `first`; [`Event::Opened`] tells each with its origin. Before, a flow has the name that its
    /// sender gave it: two senders that know nothing of each other may give the same one.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.directory.name_incoming(first);
    }

    /// Data or a probe, for this host as a receiver.
    fn on_packet(&mut self, now: Time, segment: &Segment, header: &PFabricHeader) {
        let slot = match self.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => slot,
            None if segment.tuple.dst == self.host && header.packets > 0 => {
                self.forget(now);
                let flow = self.directory.name(segment, &mut self.events);
                let receiver = Receiver::new(now, flow, segment, header);
                let tuple = *receiver.tuple();
                let key = self.receivers.insert(receiver);
                self.directory.enter(&tuple, Side::Receiver, key);
                self.open += 1;
                key.slot
            }
            _ => {
                self.ignored += 1;
                return;
            }
        };
        let Some((key, receiver)) = self.receivers.at(slot) else {
            return;
        };
        if receiver.session() != segment.flow {
            self.on_other_session(now, key, segment, header);
            return;
        }
        let was_complete = receiver.is_complete();
        let Some(answer) = receiver.on_packet(now, header) else {
            self.ignored += 1;
            return;
        };
        self.control.push_back(answer);
        if receiver.is_complete() && !was_complete {
            self.open -= 1;
            self.events.push_back(Event::Completed(receiver.flow()));
            self.directory.wait(now, Side::Receiver, key);
        }
    }

    /// A packet of another session at the addresses of the one at `key`. It may take its place.
    #[cold]
    fn on_other_session(
        &mut self,
        now: Time,
        key: SessionKey,
        segment: &Segment,
        header: &PFabricHeader,
    ) {
        let replaced = self.receivers.get(key).filter(|receiver| {
            let (complete, heard_at) = (receiver.is_complete(), receiver.heard_at);
            let may_be = self.directory.may_be_replaced(now, complete, heard_at);
            may_be && header.packets > 0
        });
        let Some(receiver) = replaced else {
            self.ignored += 1;
            return;
        };
        self.open -= usize::from(!receiver.is_complete());
        self.directory.remove(receiver.tuple());
        self.receivers.remove(key);
        self.on_packet(now, segment, header);
    }

    /// An ACK, for this host as a sender.
    fn on_ack(&mut self, now: Time, segment: &Segment, header: &PFabricHeader) {
        let Some((Side::Sender, slot)) = self.directory.arriving(&segment.tuple) else {
            self.ignored += 1;
            return;
        };
        let Some((key, sender)) = self.senders.at(slot) else {
            return;
        };
        if sender.closed {
            return;
        }
        if sender.task().flow != segment.flow {
            self.ignored += 1;
            return;
        }
        if !sender.on_ack(now, header, &self.config) {
            self.ignored += 1;
            return;
        }
        if sender.is_complete() {
            sender.close();
            let event = Event::Closed(sender.task().flow, sender.stats);
            self.events.push_back(event);
            self.open -= 1;
            self.directory.wait(now, Side::Sender, key);
        }
        self.settle(key);
    }

    /// After any input to a sender: its place among those that may send, and its timer.
    #[inline]
    fn settle(&mut self, key: SessionKey) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        let wanted = sender
            .can_send(&self.config)
            .then(|| sender.remaining(&self.config));
        if wanted != sender.queued {
            if let Some(before) = sender.queued {
                self.ready.remove(&(before, key));
            }
            if let Some(remaining) = wanted {
                self.ready.insert((remaining, key));
            }
            sender.queued = wanted;
        }
        if sender.deadline < sender.timer_at {
            sender.timer_at = sender.deadline;
            self.timers.insert(sender.deadline, key);
        }
    }

    /// Removes sessions whose time-wait is over.
    fn forget(&mut self, now: Time) {
        self.directory.forget(
            now,
            &mut self.senders,
            |sender| sender.task().tuple,
            &mut self.receivers,
            |receiver| (*receiver.tuple(), receiver.heard_at),
        );
    }
}

impl Transport for Host {
    /// A message for which every port is in use fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        self.forget(now);
        let Some(tuple) = self.directory.unused(message.dst) else {
            let failed = Event::Failed(message.flow, FlowStats::default());
            self.events.push_back(failed);
            return;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            bytes: message.bytes,
            pin: message.path,
        };
        let key = self.senders.insert(Sender::new(task, &self.config));
        self.directory.enter(&tuple, Side::Sender, key);
        self.open += 1;
        self.events.push_back(Event::Established(message.flow));
        self.settle(key);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let is_it = |sender: &Sender| !sender.closed && sender.task().flow == flow;
        let key = self.senders.find(is_it)?;
        let sender = self.senders.get_mut(key)?;
        let stats = sender.stats;
        sender.close();
        self.open -= 1;
        self.directory.wait(now, Side::Sender, key);
        self.settle(key);
        Some(stats)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let Header::PFabric(header) = &segment.header else {
            self.ignored += 1;
            return;
        };
        match header.kind {
            PFabricKind::Data | PFabricKind::Probe => self.on_packet(now, &segment, header),
            PFabricKind::Ack | PFabricKind::ProbeAck => self.on_ack(now, &segment, header),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        while let Some((at, key)) = self.timers.pop_due(now) {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            if at != sender.timer_at {
                continue;
            }
            sender.timer_at = Time::MAX;
            if sender.deadline <= now {
                sender.on_timeout(now, &self.config);
            }
            self.settle(key);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(control) = self.control.pop_front() {
            return Some(control);
        }
        while let Some(&(remaining, key)) = self.ready.first() {
            let Some(sender) = self.senders.get_mut(key) else {
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
        !self.control.is_empty() || !self.ready.is_empty()
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.senders.iter().filter(|sender| !sender.closed);
        open.map(|sender| (sender.task().flow, sender.stats))
            .collect()
    }
}
