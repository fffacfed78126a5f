//! A host's SCDP: its sessions, the pull queue of its interface, its timers.

mod driven;
mod feedback;
mod opening;
mod streams;
mod timers;

use super::common::codec::Codec;
use super::common::header::{ScdpHeader, ScdpKind};
use super::common::limits::Census;
use super::common::object::Object;
use super::config::{Mode, ScdpConfig};
use super::receiver::Receiver;
use super::sender::{Sender, Task};
use crate::receiver_driven::{Directory, PullQueue, Register, SessionKey, Sessions, Side};
use crate::tcp::timers::Timers;
use crate::turns::Turns;
use crate::{
    Condition, ConfigError, Event, FlowStats, Header, Message, NotShared, Part, Segment, Share,
    Stragglers, Transport,
};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, HostId, Time};

/// An object that is collected from several senders.
#[derive(Clone, Copy, Debug)]
struct Collection {
    flow: FlowId,
    /// The session, once a sender has been heard.
    session: Option<SessionKey>,
    /// When it is given up if no sender has been heard.
    until: Time,
}

impl Collection {
    /// The key of the timer of the one at `port`: that of no receiver.
    const fn timer(port: u16) -> SessionKey {
        SessionKey {
            slot: u32::MAX,
            generation: port as u32,
        }
    }
}

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
    /// Senders that may send, by class.
    ready: Turns<SessionKey>,
    /// Pulls, which leave before symbols.
    control: VecDeque<Segment>,
    pulls: PullQueue,
    /// Ports at which objects are collected from several senders.
    collections: BTreeMap<u16, Collection>,
    sender_timers: Timers,
    receiver_timers: Timers,
    events: VecDeque<Event>,
    register: Register,
    open: usize,
    census: Census,
    /// Whether the driver vouches for the address that a segment comes from.
    is_vouched: bool,
    ignored: u64,
}

/// What a sender's session has beside its message.
#[derive(Clone, Copy, Debug)]
struct Outlook<'a> {
    tuple: Option<FiveTuple>,
    /// None listed for the message's destination.
    receivers: &'a [HostId],
    stragglers: Option<Stragglers>,
    share: Share,
    window: u32,
}

impl Outlook<'_> {
    const fn to_one(tuple: Option<FiveTuple>, config: &ScdpConfig) -> Self {
        Self {
            tuple,
            receivers: &[],
            stragglers: None,
            share: Share::ALL,
            window: config.initial_window,
        }
    }
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
            directory: Directory::new(host, config.port, config.time_wait),
            senders: Sessions::new(),
            receivers: Sessions::new(),
            ready: Turns::new(),
            control: VecDeque::new(),
            pulls: PullQueue::new(config.pull_interval),
            collections: BTreeMap::new(),
            sender_timers: Timers::default(),
            receiver_timers: Timers::default(),
            events: VecDeque::new(),
            register: Register::default(),
            open: 0,
            census: Census::default(),
            is_vouched: false,
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

    /// The application has something to send: its session, unless it has failed.
    fn open_sender(
        &mut self,
        now: Time,
        message: Message,
        outlook: Outlook<'_>,
    ) -> Option<SessionKey> {
        let config = &self.config;
        let object = Object::new(message.bytes, config.symbol, config.block_symbols);
        let (Some(object), Some(tuple)) = (object, outlook.tuple) else {
            let failed = Event::Failed(message.flow, FlowStats::default());
            self.events.push_back(failed);
            return None;
        };
        let task = Task {
            flow: message.flow,
            tuple,
            object,
            pin: message.path,
            share: outlook.share,
            stragglers: outlook.stragglers,
        };
        let receivers = match outlook.receivers {
            [] => &[message.dst],
            receivers => receivers,
        };
        let sender = Sender::new(now, task, receivers, outlook.window, config.mode);
        let tuples: Vec<FiveTuple> = sender.tuples().collect();
        let key = self.senders.insert(sender);
        for tuple in &tuples {
            self.directory.enter(tuple, Side::Sender, key);
        }
        self.open += 1;
        self.events.push_back(Event::Established(message.flow));
        Some(key)
    }

    /// The same, and it may send.
    fn start_sender(&mut self, now: Time, message: Message, outlook: Outlook<'_>) {
        if let Some(key) = self.open_sender(now, message, outlook) {
            self.settle_sender(key);
        }
    }

    /// The session of a message that this host sends.
    fn outgoing(&mut self, flow: FlowId) -> Option<(SessionKey, &mut Sender)> {
        let key = *self.register.outgoing.get(&flow)?;
        Some((key, self.senders.get_mut(key)?))
    }

    /// A symbol, or the header of one, for this host as a receiver.
    fn on_symbol(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let slot = match self.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            None if header.syn => self.on_new_source(now, segment, header),
            _ => None,
        };
        let Some((key, receiver)) = slot.and_then(|slot| self.receivers.at(slot)) else {
            self.ignored += 1;
            return;
        };
        let was_complete = receiver.complete;
        if self.register.reports {
            receiver.below = segment.priority >= self.config.demotion.classes();
        }
        if !receiver.on_symbol(now, segment, header, &mut self.codec, &self.config) {
            self.on_nonsense(now, key, segment, header);
            return;
        }
        if receiver.half_open && !header.syn {
            receiver.half_open = false;
            self.census.half_open -= 1;
        }
        let short_by = self.config.symbol.saturating_sub(segment.payload);
        let is_whole = segment.condition == Condition::Whole;
        if is_whole && !header.syn && !was_complete {
            self.pulls
                .refund(self.config.byte_time * u64::from(short_by));
        }
        if was_complete {
            if receiver.receipt().is_some() {
                self.events.push_back(Event::Late(receiver.flow()));
            }
            self.repeat_done(key, segment);
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
        if self.register.reports {
            let (flow, news) = (receiver.flow(), receiver.news());
            self.events
                .extend(news.map(|bytes| Event::Arrived(flow, bytes)));
        }
        if receiver.has_reader() {
            let flow = receiver.flow();
            let blocks = core::iter::from_fn(|| receiver.next_block());
            self.events
                .extend(blocks.map(|block| Event::Block(flow, block)));
            self.control.extend(receiver.still_here(now));
        }
        if receiver.half_open && receiver.complete {
            receiver.half_open = false;
            self.census.half_open -= 1;
        }
        if receiver.complete {
            self.open -= 1;
            self.census.waiting += 1;
            self.register.incoming.remove(&receiver.flow());
            if let Some(receipt) = receiver.receipt() {
                let received = Event::Received(receiver.flow(), receipt);
                self.events.push_back(received);
            }
            self.events.push_back(Event::Completed(receiver.flow()));
            self.control.extend(receiver.done());
            receiver.release();
            self.directory.wait(now, Side::Receiver, key);
            return;
        }
        if receiver.has_several_sources() {
            self.control.extend(receiver.enough());
        }
        if !receiver.in_pull_queue && receiver.can_pull(now) {
            if self.pulls.take_if_idle(now) {
                self.control.push_back(receiver.pull(now, &self.config));
                if receiver.gives_credits() {
                    self.pulls.charge(receiver.last_credits());
                }
            }
            if receiver.can_pull(now) {
                receiver.in_pull_queue = true;
                self.pulls.enter(key, receiver.below);
            }
        }
        if let Some(deadline) = receiver.deadline(now, &self.config)
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
            if receiver.can_pull(now) {
                self.control.push_back(receiver.pull(now, &self.config));
                self.pulls.sent(now);
                if receiver.gives_credits() {
                    self.pulls.charge(receiver.last_credits());
                }
            }
            if !receiver.complete {
                self.settle_receiver(now, key);
            }
        }
    }

    /// Whether receivers give credits.
    const fn gives_credits(&self) -> bool {
        matches!(self.config.mode, Mode::Credit(_))
    }

    /// After any input to a sender: its place among those that may send, and its timer.
    #[inline]
    fn settle_sender(&mut self, key: SessionKey) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        if sender.queued.is_some() || sender.can_send() {
            let class = sender.class(&self.config);
            let turn = if self.config.in_order { class } else { 0 };
            match sender.queued.replace(turn) {
                None => self.ready.enter(key, turn),
                // A pull with FIN lifts it.
                Some(waits) if waits != turn => self.ready.change(key, waits, turn),
                Some(_) => {}
            }
        }
        if let Some(deadline) = sender.deadline(&self.config)
            && deadline < sender.timer_at
        {
            sender.timer_at = deadline;
            self.sender_timers.insert(deadline, key);
        }
    }

    /// As many receivers as there must be are done: the others, if any, are left out.
    fn end_well(&mut self, now: Time, key: SessionKey) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        let flow = sender.task().flow;
        let left_out = sender.left_out();
        self.events
            .extend(left_out.map(|straggler| Event::Straggling(flow, straggler)));
        self.end(now, key, Event::Closed);
    }

    /// A sender's session has ended.
    fn end(&mut self, now: Time, key: SessionKey, event: fn(FlowId, FlowStats) -> Event) {
        let Some(sender) = self.senders.get_mut(key) else {
            return;
        };
        sender.close();
        self.register.outgoing.remove(&sender.task().flow);
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
                        for tuple in sender.tuples() {
                            self.directory.remove(&tuple);
                        }
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
            self.census.half_open -= u32::from(receiver.half_open);
            self.census.waiting -= usize::from(receiver.complete);
            if let Some(first) = receiver.tuples().next() {
                self.census.leave(first.dst);
            }
            for tuple in receiver.tuples() {
                self.directory.remove(tuple);
                self.collections.remove(&tuple.src_port);
            }
        }
    }
}

impl<C: Codec> Transport for Host<C> {
    /// A message for which every port is in use, or that is too long for its blocks to be numbered,
    /// fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        self.forget(now);
        let tuple = self.directory.unused(message.dst);
        let outlook = Outlook::to_one(tuple, &self.config);
        self.start_sender(now, message, outlook);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.forget(now);
        let config = &self.config;
        match part {
            Part::Spread {
                message,
                receivers,
                stragglers,
            } => {
                let tuple = self.directory.unused_with_all(receivers, config.port);
                let tuple = tuple.map(|tuple| FiveTuple {
                    dst: message.dst,
                    ..tuple
                });
                let outlook = Outlook {
                    receivers,
                    stragglers: Some(stragglers),
                    ..Outlook::to_one(tuple, config)
                };
                self.start_sender(now, message, outlook);
            }
            Part::Share {
                message,
                port,
                share,
            } => {
                let tuple = self.directory.unused_with_all(&[message.dst], port);
                let outlook = Outlook {
                    share,
                    window: config.shared_window,
                    ..Outlook::to_one(tuple, config)
                };
                self.start_sender(now, message, outlook);
            }
            Part::Collect { flow, port } => {
                let free = (1_024..Directory::FIRST_OUTGOING).contains(&port);
                let usable = free && port != config.port;
                if !usable || self.collections.contains_key(&port) {
                    let failed = Event::Failed(flow, FlowStats::default());
                    self.events.push_back(failed);
                    return Ok(());
                }
                let collection = Collection {
                    flow,
                    session: None,
                    until: config.given_up_at(now),
                };
                if collection.until < Time::MAX {
                    let timer = Collection::timer(port);
                    self.receiver_timers.insert(collection.until, timer);
                }
                self.collections.insert(port, collection);
                self.open += 1;
            }
        }
        Ok(())
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let is_it = |sender: &Sender| !sender.closed && sender.task().flow == flow;
        let key = self.senders.find(is_it)?;
        self.close_sender(now, key)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let header = match &segment.header {
            Header::Scdp(header) => header,
            Header::Credit(header) if self.gives_credits() => {
                self.on_credit(now, &segment, header);
                return;
            }
            _ => {
                self.ignored += 1;
                return;
            }
        };
        match (header.kind, segment.condition) {
            (_, Condition::Returned) => self.ignored += 1,
            (ScdpKind::Symbol, _) if !self.gives_credits() => {
                self.on_symbol(now, &segment, header);
            }
            (ScdpKind::Credited, _) if self.gives_credits() => {
                self.on_symbol(now, &segment, header);
            }
            (ScdpKind::Pull | ScdpKind::Done, _) => self.on_feedback(now, &segment, header),
            (ScdpKind::Offer, _) if self.gives_credits() => self.on_offer(now, &segment, header),
            (ScdpKind::Status, _) if self.gives_credits() => {
                self.on_status(now, &segment, header);
            }
            (ScdpKind::Symbol | ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status, _) => {
                self.ignored += 1;
            }
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
        while let Some(key) = self.ready.take() {
            let Some(sender) = self.senders.get_mut(key) else {
                continue;
            };
            sender.queued = None;
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
        let timer = Time::earlier(self.sender_timers.next(), self.receiver_timers.next());
        Time::earlier(timer, self.pulls.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.senders.iter().filter(|sender| !sender.closed);
        open.map(|sender| (sender.task().flow, sender.stats))
            .collect()
    }
}
