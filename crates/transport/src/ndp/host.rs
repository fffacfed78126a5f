//! A host's NDP: its flows, the pull queue of its interface, its timers.

mod streams;

use super::config::NdpConfig;
use super::header::{NdpHeader, NdpKind};
use super::paths::Paths;
use super::receiver::Receiver;
use super::sender::{Sender, Task};
use crate::receiver_driven::{Directory, PullQueue, Register, SessionKey, Sessions, Side};
use crate::tcp::timers::Timers;
use crate::turns::Turns;
use crate::{
    Condition, ConfigError, Event, FlowStats, Header, Message, PathPin, Segment, Transport,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Rate, Time, mix64};

/// [`Transport`] by NDP. Flows are not replicated, whatever the message says.
#[derive(Debug)]
pub struct Host {
    host: HostId,
    config: NdpConfig,
    directory: Directory,
    senders: Sessions<Sender>,
    receivers: Sessions<Receiver>,
    /// Senders that may send, by class.
    ready: Turns<SessionKey>,
    /// ACKs, NACKs and pulls, which leave before data.
    control: VecDeque<Segment>,
    pulls: PullQueue,
    /// Paths of control packets.
    paths: Paths,
    timers: Timers,
    events: VecDeque<Event>,
    register: Register,
    flows: u64,
    open: usize,
    ignored: u64,
}

impl Host {
    /// The NDP of `host`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: NdpConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            host,
            config,
            directory: Directory::new(host, config.port, config.time_wait),
            senders: Sessions::new(),
            receivers: Sessions::new(),
            ready: Turns::new(),
            control: VecDeque::new(),
            pulls: PullQueue::new(config.pull_interval),
            paths: Paths::new(config.paths, 0, config.seed),
            timers: Timers::default(),
            events: VecDeque::new(),
            register: Register::default(),
            flows: 0,
            open: 0,
            ignored: 0,
        })
    }

    /// Flows that this host sends or receives and that have not ended, those in time-wait not counted.
    pub fn open_flows(&self) -> usize {
        self.open
    }

    /// Flows that this host remembers, those in time-wait included.
    pub fn remembered_flows(&self) -> usize {
        self.senders.len() + self.receivers.len()
    }

    /// Segments that were dropped because they belong to no flow or make no sense.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The parameters.
    pub fn config(&self) -> &NdpConfig {
        &self.config
    }

    /// From now on this host has names of its own for the flows that it receives, counted from
    /// `first`; [`Event::Opened`] tells each with its origin. Before, a flow has the name that its
    /// sender gave it: two senders that know nothing of each other may give the same one.
    pub fn name_incoming(&mut self, first: FlowId) {
        self.directory.name_incoming(first);
    }

    /// From now on pulls ask for as much as fills `rate`, in which each packet takes `overhead`
    /// bytes beside its payload (headers, preamble and gap). Those that wait go on at that rate,
    /// counted from the last one that was sent. Until then [`NdpConfig::pull_interval`] holds.
    pub fn set_pull_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        let full = u64::from(self.config.mss) + u64::from(overhead);
        self.config.pull_interval = rate.serialisation(full);
        self.config.byte_time = rate.serialisation(1);
        self.pulls.set_interval(now, self.config.pull_interval);
    }

    /// A data packet or the header of one, for this host as a receiver.
    fn on_data(&mut self, now: Time, segment: &Segment, header: &NdpHeader) {
        let found = self.directory.arriving(&segment.tuple);
        let slot = match found {
            Some((Side::Receiver, slot)) => slot,
            None if header.first_window && segment.tuple.dst == self.host => {
                self.forget(now);
                let flow = self.directory.name(segment, &mut self.events);
                let receiver = Receiver::new(now, flow, segment, header);
                let tuple = *receiver.tuple();
                let key = self.receivers.insert(receiver);
                self.directory.enter(&tuple, Side::Receiver, key);
                self.open += 1;
                if self.register.reports {
                    self.register.incoming.insert(flow, key);
                }
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
        let was_complete = receiver.complete;
        let trimmed = segment.condition == Condition::Trimmed;
        let Some(kind) = receiver.on_data(now, header, trimmed) else {
            self.ignored += 1;
            return;
        };
        let short_by = self.config.mss.saturating_sub(segment.payload);
        let is_short = short_by > 0 && !trimmed && !was_complete;
        if is_short && receiver.last_was_pulled(self.config.initial_window) {
            self.pulls
                .refund(self.config.byte_time * u64::from(short_by));
        }
        if self.register.reports {
            receiver.below = segment.priority >= self.config.demotion.classes();
            if let Some(packets) = receiver.news() {
                let bytes = packets * u64::from(self.config.mss);
                self.events
                    .push_back(Event::Arrived(receiver.flow(), bytes));
            }
        }
        if receiver.complete && !was_complete {
            self.open -= 1;
            self.register.incoming.remove(&receiver.flow());
            self.events.push_back(Event::Completed(receiver.flow()));
            self.directory.wait(now, Side::Receiver, key);
        }
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
        self.control.push_back(answer);
    }

    /// A packet of another session at the addresses of the one at `key`. It may take its place.
    #[cold]
    fn on_other_session(
        &mut self,
        now: Time,
        key: SessionKey,
        segment: &Segment,
        header: &NdpHeader,
    ) {
        let replaced = self.receivers.get(key).filter(|receiver| {
            let (complete, heard_at) = (receiver.complete, receiver.heard_at);
            header.first_window && self.directory.may_be_replaced(now, complete, heard_at)
        });
        let Some(receiver) = replaced else {
            self.ignored += 1;
            return;
        };
        if !receiver.complete {
            self.open -= 1;
            self.register.incoming.remove(&receiver.flow());
        }
        self.directory.remove(receiver.tuple());
        self.receivers.remove(key);
        self.on_data(now, segment, header);
    }

    /// Sends the pulls that may leave now.
    fn release_pulls(&mut self, now: Time) {
        while let Some(key) = self.pulls.turn(now) {
            let Some(receiver) = self.receivers.get_mut(key) else {
                continue;
            };
            receiver.in_pull_queue = false;
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
            self.control
                .push_back(receiver.answer(NdpKind::Pull, None, own_path));
        }
    }

    /// An answer, or a header that came back, for this host as a sender.
    fn on_feedback(&mut self, now: Time, segment: &Segment, header: &NdpHeader) {
        let returned = segment.condition == Condition::Returned;
        let found = if returned {
            self.directory.returning(&segment.tuple)
        } else {
            self.directory.arriving(&segment.tuple)
        };
        let Some((Side::Sender, slot)) = found else {
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
        if returned {
            sender.on_returned(now, header, segment.path);
        } else {
            sender.on_answer(now, header, &self.config);
        }
        if sender.is_complete() {
            self.end(now, key, Event::Closed);
            return;
        }
        self.settle_sender(key);
    }

    /// A sender's flow has ended.
    fn end(&mut self, now: Time, key: SessionKey, event: fn(FlowId, FlowStats) -> Event) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        sender.close();
        let (flow, stats) = (sender.task().flow, sender.stats);
        self.events.push_back(event(flow, stats));
        self.register.outgoing.remove(&flow);
        self.open -= 1;
        self.directory.wait(now, Side::Sender, key);
    }

    /// After any input to a sender: its place among those that may send, and its timer.
    #[inline]
    fn settle_sender(&mut self, key: SessionKey) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        if !sender.queued && sender.can_send() {
            sender.queued = true;
            // Only by sending does a flow change its class, so that it keeps the one that it waits in; one
            // whose application has it change may have a turn in the class before.
            let class = sender.class(&self.config);
            let turn = if self.config.in_order { class } else { 0 };
            self.ready.enter(key, turn);
        }
        arm(&mut self.timers, key, sender, &self.config);
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

/// The path of a control packet of a flow: the one it is pinned to, else the host's next one.
#[inline]
fn own_path(paths: &mut Paths, pin: PathPin) -> PathPin {
    match pin.index() {
        Some(_) => pin,
        None => paths.choose(),
    }
}

/// Enters a sender's deadline, unless an entry stands that is due before it.
#[inline]
fn arm(timers: &mut Timers, key: SessionKey, sender: &mut Sender, config: &NdpConfig) {
    if let Some(deadline) = sender.deadline(config)
        && deadline < sender.timer_at
    {
        sender.timer_at = deadline;
        timers.insert(deadline, key);
    }
}

impl Host {
    /// Opens a session that sends `message`; `None`, and it has failed, where every port is in use.
    fn open_sender(&mut self, now: Time, message: Message) -> Option<(SessionKey, &mut Sender)> {
        self.forget(now);
        let Some(tuple) = self.directory.unused(message.dst) else {
            let failed = Event::Failed(message.flow, FlowStats::default());
            self.events.push_back(failed);
            return None;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            bytes: message.bytes,
            pin: message.path,
        };
        self.flows += 1;
        let seed = mix64(self.config.seed ^ mix64(self.flows));
        let sender = Sender::new(now, task, &self.config, seed);
        let key = self.senders.insert(sender);
        self.directory.enter(&tuple, Side::Sender, key);
        self.open += 1;
        self.events.push_back(Event::Established(message.flow));
        Some((key, self.senders.get_mut(key)?))
    }

    /// The session of a message that this host sends.
    fn outgoing(&mut self, flow: FlowId) -> Option<(SessionKey, &mut Sender)> {
        let key = *self.register.outgoing.get(&flow)?;
        Some((key, self.senders.get_mut(key)?))
    }
}

impl Transport for Host {
    /// A message for which every port is in use fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        if let Some((key, _)) = self.open_sender(now, message) {
            self.settle_sender(key);
        }
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let is_it = |sender: &Sender| !sender.closed && sender.task().flow == flow;
        let key = self.senders.find(is_it)?;
        self.close_sender(now, key)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let Header::Ndp(header) = &segment.header else {
            self.ignored += 1;
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
        while let Some((at, key)) = self.timers.pop_due(now) {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            if at != sender.timer_at {
                continue;
            }
            sender.timer_at = Time::MAX;
            let due = sender.deadline(&self.config).is_some_and(|due| due <= now);
            if due && !sender.on_timeout(now, &self.config) {
                self.end(now, key, Event::Failed);
            }
            self.settle_sender(key);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(control) = self.control.pop_front() {
            return Some(control);
        }
        while let Some(key) = self.ready.take() {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            sender.queued = false;
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
        !self.control.is_empty() || !self.ready.is_empty()
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        Time::earlier(self.timers.next(), self.pulls.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.senders.iter().filter(|sender| !sender.closed);
        open.map(|sender| (sender.task().flow, sender.stats))
            .collect()
    }
}
