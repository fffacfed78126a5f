//! NDP of one host: its flows, the pull queue of its interface, and its timers.

mod streams;

use super::config::NdpConfig;
use super::header::{NdpHeader, NdpKind};
use super::paths::Paths;
use super::receiver::Receiver;
use super::sender::{Sender, Task};
use crate::receiver_driven::{PullQueue, Receiving, SessionKey, SessionTable, Side, arm};
use crate::turns::Turns;
use crate::{
    Condition, ConfigError, Event, FlowStats, Header, Message, PathPin, Segment, Transport,
};
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Rate, Time, mix64};

/// NDP of one host, as a [`Transport`]. It never replicates flows, even if the message requests it.
#[derive(Debug)]
pub struct Host {
    config: NdpConfig,
    table: SessionTable<Sender, Receiver>,
    /// Sessions that may send, by class.
    ready: Turns<SessionKey>,
    pulls: PullQueue,
    /// Paths that control packets of this host use.
    paths: Paths,
    flows: u64,
}

impl Host {
    /// Returns the NDP transport of the host with the number `host`.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: NdpConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            table: SessionTable::new(host, config.port, config.time_wait),
            ready: Turns::new(),
            pulls: PullQueue::new(config.pull_interval),
            paths: Paths::new(config.paths, 0, config.seed),
            flows: 0,
        })
    }

    /// Returns the number of flows that this host sends or receives and that have not ended.
    /// Flows in time-wait are not counted.
    pub fn open_flows(&self) -> usize {
        self.table.open
    }

    /// Returns the number of flows for which this host keeps state, including flows in time-wait.
    pub fn remembered_flows(&self) -> usize {
        self.table.senders.len() + self.table.receivers.len()
    }

    /// Returns the number of dropped segments that were invalid or belonged to no flow.
    pub fn ignored(&self) -> u64 {
        self.table.ignored
    }

    /// Returns the parameters.
    pub fn config(&self) -> &NdpConfig {
        &self.config
    }

    /// Sets the first number for flows that this host receives after this call.
    /// The host itself numbers incoming flows, and [`Event::Opened`] reports each number with the origin of the flow.
    /// By default, a flow keeps the number from its sender, and independent senders may use the same number.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.table.directory.name_incoming(first);
    }

    /// Sets the pull rate, so that the requested packets arrive at `rate`.
    /// Each packet has `overhead` bytes in addition to its payload (headers, preamble and gap).
    /// Waiting pulls continue at the new rate, counted from the last pull that was sent.
    /// Until the first call, [`NdpConfig::pull_interval`] applies.
    pub fn set_pull_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        let full = u64::from(self.config.mss) + u64::from(overhead);
        self.config.pull_interval = rate.serialisation(full);
        self.config.byte_time = rate.serialisation(1);
        self.pulls.set_interval(now, self.config.pull_interval);
    }

    /// Processes a data packet or a trimmed header as a receiver.
    fn on_data(&mut self, now: Time, segment: &Segment, header: &NdpHeader) {
        let found = self.table.directory.arriving(&segment.tuple);
        let slot = match found {
            Some((Side::Receiver, slot)) => slot,
            // Any packet of the first window may open the session, because paths reorder packets.
            None if header.first_window && segment.tuple.dst == self.table.host => {
                // Finished sessions are removed when a new session opens, so no timer is needed for them.
                self.table.forget(now, |_| {});
                let flow = self.table.directory.name(segment, &mut self.table.events);
                let receiver = Receiver::new(now, flow, segment, header);
                let key = self.table.add_receiver(receiver);
                if self.table.register.reports {
                    self.table.register.incoming.insert(flow, key);
                }
                key.slot
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
        let was_complete = receiver.complete;
        let trimmed = segment.condition == Condition::Trimmed;
        let Some(kind) = receiver.on_data(now, header, trimmed) else {
            self.table.ignored += 1;
            return;
        };
        // Every pull reserves the time of a full packet. A short packet returns the time that it does not need.
        // For a trimmed packet, the pull queue gets no time back.
        // A trimmed packet met a full queue, and earlier pulls would bring more packets to that queue.
        // Packets after the end of a flow return no time either, so the next pulls may leave late.
        let short_by = self.config.mss.saturating_sub(segment.payload);
        let is_short = short_by > 0 && !trimmed && !was_complete;
        // The packets of the first window need no pull, so no time was reserved for them.
        if is_short && receiver.last_was_pulled(self.config.initial_window) {
            self.pulls
                .refund(self.config.byte_time * u64::from(short_by));
        }
        if self.table.register.reports {
            // Copies of low class are below all classes of NDP.
            receiver.below = segment.priority >= self.config.demotion.classes();
            if let Some(packets) = receiver.news() {
                let bytes = packets * u64::from(self.config.mss);
                self.table
                    .events
                    .push_back(Event::Arrived(receiver.flow(), bytes));
            }
        }
        // The pull must be counted before the answer is built, so that the answer can contain the new count.
        if receiver.pending > 0 && !receiver.in_pull_queue {
            if self.pulls.take_if_idle(now) {
                receiver.count_pull();
            }
            if receiver.pending > 0 {
                receiver.in_pull_queue = true;
                self.pulls.enter(key, receiver.below);
            }
        }
        let own_path = own_path(&mut self.paths, receiver.pin());
        let answer = receiver.answer(kind, Some((header, segment.path)), own_path);
        self.table.control.push_back(answer);
        if receiver.complete && !was_complete {
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
        header: &NdpHeader,
    ) {
        if self.table.make_way(now, key, header.first_window) {
            self.on_data(now, segment, header);
        }
    }

    /// Sends all pulls that are due.
    fn release_pulls(&mut self, now: Time) {
        while let Some(key) = self.pulls.turn(now) {
            let Some(receiver) = self.table.receivers.get_mut(key) else {
                continue;
            };
            receiver.in_pull_queue = false;
            // The receiver may have learned the end of the flow while this pull waited. Then the pull is not needed.
            if receiver.pending == 0 {
                continue;
            }
            receiver.count_pull();
            if receiver.pending > 0 {
                receiver.in_pull_queue = true;
                self.pulls.enter(key, receiver.below);
            }
            self.pulls.sent(now);
            let own_path = own_path(&mut self.paths, receiver.pin());
            self.table
                .control
                .push_back(receiver.answer(NdpKind::Pull, None, own_path));
        }
    }

    /// Processes an answer, or a returned header, as a sender.
    fn on_feedback(&mut self, now: Time, segment: &Segment, header: &NdpHeader) {
        let Some((key, sender)) = self.table.sender_of(segment) else {
            return;
        };
        if segment.condition == Condition::Returned {
            sender.on_returned(now, header, segment.path);
        } else {
            sender.on_answer(now, header, &self.config);
        }
        if sender.is_complete() {
            self.table.end(now, key, Event::Closed);
            return;
        }
        self.settle_sender(key);
    }

    /// Updates a sender's entry in the ready queue, and its timer. Must be called after each input to the sender.
    #[inline]
    fn settle_sender(&mut self, key: SessionKey) {
        let Some(sender) = self.table.senders.get_mut(key) else {
            return;
        };
        if !sender.queued && sender.can_send() {
            sender.queued = true;
            // A flow changes its class only when it sends, so the class of a waiting flow is correct.
            // Only the application may change the class of a waiting flow (`set_below`).
            // A flow may get one turn in its old class after a change of its class.
            let class = sender.class(&self.config);
            let turn = if self.config.in_order { class } else { 0 };
            self.ready.enter(key, turn);
        }
        let deadline = sender.deadline(&self.config);
        arm(&mut self.table.timers, key, sender, deadline);
    }
}

/// Returns the path of a control packet: the path that the flow must use, or the host's next path.
#[inline]
fn own_path(paths: &mut Paths, pin: PathPin) -> PathPin {
    match pin.index() {
        Some(_) => pin,
        None => paths.choose(),
    }
}

impl Host {
    /// Opens a session that sends `message`. If all ports are in use, the flow fails and the function returns `None`.
    fn open_sender(&mut self, now: Time, message: Message) -> Option<(SessionKey, &mut Sender)> {
        // Sessions whose time-wait has ended free their ports before a port is chosen.
        self.table.forget(now, |_| {});
        let Some(tuple) = self.table.directory.unused(message.dst) else {
            self.table.fail(message.flow);
            return None;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            bytes: message.bytes,
            pin: message.path,
        };
        self.flows += 1;
        // Each flow has its own random order of paths.
        let seed = mix64(self.config.seed ^ mix64(self.flows));
        let sender = Sender::new(now, task, &self.config, seed);
        let key = self.table.add_sender(sender);
        Some((key, self.table.senders.get_mut(key)?))
    }
}

impl Transport for Host {
    /// Submits a message. If all ports are in use, the flow fails immediately.
    fn submit(&mut self, now: Time, message: Message) {
        if let Some((key, _)) = self.open_sender(now, message) {
            self.settle_sender(key);
        }
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.table.cancel(now, flow).map(|(_, stats)| stats)
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.set_pull_rate(now, rate, overhead);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let Header::Ndp(header) = &segment.header else {
            self.table.ignored += 1;
            return;
        };
        if header.kind == NdpKind::Data && segment.condition != Condition::Returned {
            self.on_data(now, &segment, header);
        } else {
            self.on_feedback(now, &segment, header);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.release_pulls(now);
        while let Some(key) = self.table.next_due(now) {
            let Some(sender) = self.table.senders.get_mut(key) else {
                continue;
            };
            // The deadline may have moved to a later time since the timer entry was added.
            let due = sender.deadline(&self.config).is_some_and(|due| due <= now);
            if due && !sender.on_timeout(now, &self.config) {
                self.table.end(now, key, Event::Failed);
            }
            self.settle_sender(key);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Control packets leave first, because a delayed ACK or pull would delay the other host.
        if let Some(control) = self.table.control.pop_front() {
            return Some(control);
        }
        while let Some(key) = self.ready.take() {
            let Some(sender) = self.table.senders.get_mut(key) else {
                continue;
            };
            sender.queued = false;
            // There may be nothing to send, because an ACK has arrived while the sender waited.
            let segment = sender.transmit(now, &self.config);
            if segment.is_some() {
                self.settle_sender(key);
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
        Time::earlier(self.table.timers.next(), self.pulls.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.table.unfinished()
    }
}
