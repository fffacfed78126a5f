//! A host's SCDP: its sessions, the pull queue of its interface, its timers.

use super::codec::Codec;
use super::config::ScdpConfig;
use super::header::{ScdpHeader, ScdpKind};
use super::object::Object;
use super::receiver::Receiver;
use super::sender::{Sender, Task};
use crate::receiver_driven::{Directory, PullQueue, SessionKey, Sessions, Side};
use crate::tcp::ConfigError;
use crate::tcp::timers::Timers;
use crate::{Condition, Event, FlowStats, Header, Message, Segment, Transport};
use alloc::collections::VecDeque;
use tailcut_units::{FiveTuple, HostId, Time};

/// [`Transport`] by SCDP: each message is one object in one session. Flows are not replicated,
/// whatever the message says. [`FlowStats::retransmissions`] counts repair symbols.
#[derive(Debug)]
pub struct Host<C> {
    host: HostId,
    config: ScdpConfig,
    codec: C,
    directory: Directory,
    senders: Sessions<Sender>,
    receivers: Sessions<Receiver>,
    /// Senders that may send, in turn.
    ready: VecDeque<SessionKey>,
    /// Pulls, which leave before symbols.
    control: VecDeque<Segment>,
    pulls: PullQueue,
    sender_timers: Timers,
    receiver_timers: Timers,
    events: VecDeque<Event>,
    open: usize,
    ignored: u64,
}

impl<C: Codec> Host<C> {
    /// The SCDP of `host`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: ScdpConfig, codec: C) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            host,
            config,
            codec,
            directory: Directory::new(host, config.time_wait),
            senders: Sessions::new(),
            receivers: Sessions::new(),
            ready: VecDeque::new(),
            control: VecDeque::new(),
            pulls: PullQueue::new(config.pull_interval),
            sender_timers: Timers::default(),
            receiver_timers: Timers::default(),
            events: VecDeque::new(),
            open: 0,
            ignored: 0,
        })
    }

    /// Sessions that this host sends or receives in and that have not ended, those in time-wait not
    /// counted.
    pub fn open_sessions(&self) -> usize {
        self.open
    }

    /// Segments that were dropped because they belong to no session or make no sense.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The codec.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// A symbol, or the header of one, for this host as a receiver.
    fn on_symbol(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let slot = match self.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => slot,
            None if header.syn && segment.tuple.dst == self.host => {
                let Some(receiver) = Receiver::new(now, segment, header) else {
                    self.ignored += 1;
                    return;
                };
                self.forget(now);
                let key = self.receivers.insert(receiver);
                let tuple = segment.tuple.reversed();
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
        let was_complete = receiver.complete;
        let trimmed = segment.condition == Condition::Trimmed;
        if !receiver.on_symbol(now, header, trimmed, &mut self.codec, &self.config) {
            self.ignored += 1;
            return;
        }
        if was_complete {
            self.control.push_back(receiver.done());
            return;
        }
        self.settle_receiver(now, key);
    }

    /// After any input to a receiver that was not complete: its end, its place in the pull queue, its
    /// timer.
    fn settle_receiver(&mut self, now: Time, key: SessionKey) {
        let Some(receiver) = self.receivers.get_mut(key) else {
            return;
        };
        if receiver.complete {
            self.open -= 1;
            self.events.push_back(Event::Completed(receiver.flow()));
            self.control.push_back(receiver.done());
            receiver.release();
            self.directory.wait(now, Side::Receiver, key);
            return;
        }
        if !receiver.in_pull_queue && receiver.can_pull() {
            if self.pulls.take_if_idle(now) {
                self.control.push_back(receiver.pull(now));
            }
            if receiver.can_pull() {
                receiver.in_pull_queue = true;
                self.pulls.enter(key);
            }
        }
        if let Some(deadline) = receiver.deadline(&self.config)
            && deadline < receiver.timer_at
        {
            receiver.timer_at = deadline;
            self.receiver_timers.insert(deadline, key);
        }
    }

    /// Sends the pulls that may leave now.
    fn release_pulls(&mut self, now: Time) {
        while let Some(key) = self.pulls.turn(now) {
            let Some(receiver) = self.receivers.get_mut(key) else {
                continue;
            };
            receiver.in_pull_queue = false;
            if receiver.can_pull() {
                self.control.push_back(receiver.pull(now));
                self.pulls.sent(now);
            }
            if !receiver.complete {
                self.settle_receiver(now, key);
            }
        }
    }

    /// A word of a receiver, for this host as a sender.
    fn on_feedback(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
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
        if header.kind == ScdpKind::Done {
            if sender.on_done(now) {
                self.end(now, key, Event::Closed);
            }
            return;
        }
        if !sender.on_pull(now, header, &self.config) {
            self.ignored += 1;
        }
        self.settle_sender(key);
    }

    /// After any input to a sender: its place among those that may send, and its timer.
    #[inline]
    fn settle_sender(&mut self, key: SessionKey) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        if !sender.queued && sender.can_send() {
            sender.queued = true;
            self.ready.push_back(key);
        }
        if let Some(deadline) = sender.deadline(&self.config)
            && deadline < sender.timer_at
        {
            sender.timer_at = deadline;
            self.sender_timers.insert(deadline, key);
        }
    }

    /// A sender's session has ended.
    fn end(
        &mut self,
        now: Time,
        key: SessionKey,
        event: fn(tailcut_units::FlowId, FlowStats) -> Event,
    ) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        sender.close();
        self.events
            .push_back(event(sender.task().flow, sender.stats));
        self.open -= 1;
        self.directory.wait(now, Side::Sender, key);
    }

    /// Removes sessions whose time-wait is over.
    fn forget(&mut self, now: Time) {
        while let Some((side, key)) = self.directory.waited(now) {
            match side {
                Side::Sender => {
                    if let Some(sender) = self.senders.remove(key) {
                        self.directory.remove(&sender.task().tuple);
                    }
                }
                Side::Receiver => {
                    let Some(receiver) = self.receivers.get_mut(key) else {
                        continue;
                    };
                    if now.since(receiver.heard_at) < self.config.time_wait {
                        self.directory.wait(now, side, key);
                    } else {
                        self.drop_receiver(key);
                    }
                }
            }
        }
    }

    fn drop_receiver(&mut self, key: SessionKey) {
        if let Some(receiver) = self.receivers.remove(key) {
            for tuple in receiver.tuples() {
                self.directory.remove(tuple);
            }
        }
    }

    fn run_sender_timers(&mut self, now: Time) {
        while let Some((at, key)) = self.sender_timers.pop_due(now) {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            if at != sender.timer_at {
                continue;
            }
            sender.timer_at = Time::MAX;
            let due = sender.deadline(&self.config).is_some_and(|due| due <= now);
            if due && !sender.on_timeout(&self.config) {
                self.end(now, key, Event::Failed);
            }
            self.settle_sender(key);
        }
    }

    fn run_receiver_timers(&mut self, now: Time) {
        while let Some((at, key)) = self.receiver_timers.pop_due(now) {
            let Some(receiver) = self.receivers.get_mut(key) else {
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
                .deadline(&self.config)
                .is_some_and(|due| due <= now);
            if due && !receiver.on_timeout(now, &mut self.codec, &self.config) {
                self.open -= 1;
                self.drop_receiver(key);
                continue;
            }
            self.settle_receiver(now, key);
        }
    }
}

impl<C: Codec> Transport for Host<C> {
    /// A message for which every port is in use, or that is too long for its blocks to be numbered,
    /// fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        self.forget(now);
        let config = &self.config;
        let object = Object::new(message.bytes, config.symbol, config.block_symbols);
        let tuple: Option<FiveTuple> = self.directory.unused(message.dst);
        let (Some(object), Some(tuple)) = (object, tuple) else {
            let failed = Event::Failed(message.flow, FlowStats::default());
            self.events.push_back(failed);
            return;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            object,
            pin: message.path,
        };
        let key = self.senders.insert(Sender::new(now, task, &self.config));
        self.directory.enter(&tuple, Side::Sender, key);
        self.open += 1;
        self.events.push_back(Event::Established(message.flow));
        self.settle_sender(key);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let Header::Scdp(header) = &segment.header else {
            self.ignored += 1;
            return;
        };
        match (header.kind, segment.condition) {
            (_, Condition::Returned) => self.ignored += 1,
            (ScdpKind::Symbol, _) => self.on_symbol(now, &segment, header),
            (ScdpKind::Pull | ScdpKind::Done, _) => self.on_feedback(now, &segment, header),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.release_pulls(now);
        self.run_sender_timers(now);
        self.run_receiver_timers(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(control) = self.control.pop_front() {
            return Some(control);
        }
        while let Some(key) = self.ready.pop_front() {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            sender.queued = false;
            let segment = sender.transmit(now, &self.config);
            self.settle_sender(key);
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
        let timers = [
            self.sender_timers.next(),
            self.receiver_timers.next(),
            self.pulls.next_timeout(),
        ];
        timers.into_iter().flatten().min()
    }
}
