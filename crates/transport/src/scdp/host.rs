//! SCDP of one host: its sessions, the pull queue of its interface, and its timers.

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
use crate::receiver_driven::{
    Directory, PullQueue, Receiving, SessionKey, SessionTable, Side, arm,
};
use crate::tcp::timers::Timers;
use crate::turns::Turns;
use crate::{
    Condition, ConfigError, Event, FlowStats, Header, Message, NotShared, Part, Segment, Share,
    Stragglers, Transport,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, HostId, Rate, Time};

/// Object that this host collects from several senders.
#[derive(Clone, Copy, Debug)]
struct Collection {
    flow: FlowId,
    /// Session of the object. `None` until a packet of a sender arrives.
    session: Option<SessionKey>,
    /// Time at which the collection fails if no packet of any sender has arrived.
    until: Time,
}

impl Collection {
    /// Returns the timer key of the collection at `port`. This key differs from the keys of all receivers.
    const fn timer(port: u16) -> SessionKey {
        SessionKey {
            slot: u32::MAX,
            generation: port as u32,
        }
    }
}

/// SCDP of one host, as a [`Transport`]. Each message is one object in one session.
/// SCDP never replicates flows, even if the message requests it. [`FlowStats::retransmissions`] counts repair symbols.
#[derive(Debug)]
pub struct Host<C> {
    config: ScdpConfig,
    codec: C,
    table: SessionTable<Sender, Receiver>,
    /// Sessions that may send, by class.
    ready: Turns<SessionKey>,
    pulls: PullQueue,
    /// Objects that are collected from several senders, by port.
    collections: BTreeMap<u16, Collection>,
    receiver_timers: Timers,
    census: Census,
    /// Whether the driver has verified the source address of the current segment.
    is_vouched: bool,
}

/// Parameters of a sending session in addition to its message.
#[derive(Clone, Copy, Debug)]
struct Outlook<'a> {
    tuple: Option<FiveTuple>,
    /// Receivers of the object. The list is empty if the destination of the message is the only receiver.
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
    /// Returns the SCDP transport of the host with the number `host`.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: ScdpConfig, codec: C) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            codec,
            table: SessionTable::new(host, config.port, config.time_wait),
            ready: Turns::new(),
            pulls: PullQueue::new(config.pull_interval),
            collections: BTreeMap::new(),
            receiver_timers: Timers::default(),
            census: Census::default(),
            is_vouched: false,
        })
    }

    /// Returns the number of open sessions in which this host sends or receives. Sessions in time-wait are not counted.
    pub fn open_sessions(&self) -> usize {
        self.table.open
    }

    /// Returns the number of dropped segments that were invalid or belonged to no session.
    pub fn ignored(&self) -> u64 {
        self.table.ignored
    }

    /// Returns the codec.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// Opens a session that sends `message`. Returns the key of the session, or `None` if the flow has failed.
    fn open_sender(
        &mut self,
        now: Time,
        message: Message,
        outlook: Outlook<'_>,
    ) -> Option<SessionKey> {
        let config = &self.config;
        let object = Object::new(message.bytes, config.symbol, config.block_symbols);
        let (Some(object), Some(tuple)) = (object, outlook.tuple) else {
            self.table.fail(message.flow);
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
        Some(self.table.add_sender(sender))
    }

    /// Opens a session that sends `message`, and adds it to the ready queue.
    fn start_sender(&mut self, now: Time, message: Message, outlook: Outlook<'_>) {
        if let Some(key) = self.open_sender(now, message, outlook) {
            self.settle_sender(key);
        }
    }

    /// Processes a symbol or a trimmed header as a receiver.
    fn on_symbol(&mut self, now: Time, segment: &Segment, header: &ScdpHeader) {
        let slot = match self.table.directory.arriving(&segment.tuple) {
            Some((Side::Receiver, slot)) => Some(slot),
            None if header.syn => self.on_new_source(now, segment, header),
            _ => None,
        };
        let Some((key, receiver)) = slot.and_then(|slot| self.table.receivers.at(slot)) else {
            self.table.ignored += 1;
            return;
        };
        let was_complete = receiver.complete;
        if self.table.register.reports {
            // Messages that were opened with `below` use the class below all classes of the demotion.
            receiver.below = segment.priority >= self.config.demotion.classes();
        }
        if !receiver.on_symbol(now, segment, header, &mut self.codec, &self.config) {
            self.on_nonsense(now, key, segment, header);
            return;
        }
        // A requested symbol proves that the sender receives packets at its address.
        if receiver.half_open && !header.syn {
            receiver.half_open = false;
            self.census.half_open -= 1;
        }
        // Every pull reserves the time of a full symbol. A short symbol returns the time that it does not need.
        // Pushed symbols need no pull, so they return no time. A trimmed symbol returns no time either.
        // A trimmed symbol met a full queue, and earlier pulls would bring more symbols to that queue.
        // Symbols after the end of a session return no time, so the next pulls may leave late.
        let short_by = self.config.symbol.saturating_sub(segment.payload);
        let is_whole = segment.condition == Condition::Whole;
        if is_whole && !header.syn && !was_complete {
            self.pulls
                .refund(self.config.byte_time * u64::from(short_by));
        }
        if was_complete {
            if receiver.receipt().is_some() {
                self.table.events.push_back(Event::Late(receiver.flow()));
            }
            self.repeat_done(key, segment);
            return;
        }
        self.settle_receiver(now, key);
    }

    /// Updates a receiver that was not complete: its end, its entry in the pull queue, and its timer.
    /// This function must be called after each input to the receiver.
    fn settle_receiver(&mut self, now: Time, key: SessionKey) {
        let Some(receiver) = self.table.receivers.get_mut(key) else {
            return;
        };
        // Arrivals and blocks are reported before the end of the flow.
        if self.table.register.reports {
            let (flow, news) = (receiver.flow(), receiver.news());
            self.table
                .events
                .extend(news.map(|bytes| Event::Arrived(flow, bytes)));
        }
        if receiver.has_reader() {
            let flow = receiver.flow();
            let blocks = core::iter::from_fn(|| receiver.next_block());
            self.table
                .events
                .extend(blocks.map(|block| Event::Block(flow, block)));
            self.table.control.extend(receiver.still_here(now));
        }
        // Pushed symbols alone may complete a short object, before any requested symbol arrives.
        if receiver.half_open && receiver.complete {
            receiver.half_open = false;
            self.census.half_open -= 1;
        }
        if receiver.complete {
            self.census.waiting += 1;
            let flow = receiver.flow();
            if let Some(receipt) = receiver.receipt() {
                let received = Event::Received(flow, receipt);
                self.table.events.push_back(received);
            }
            self.table.control.extend(receiver.done());
            receiver.release();
            self.table.complete(now, key, flow);
            return;
        }
        // Other sources have replaced the symbols of late sources.
        // A late source may therefore have pending requests for symbols that are no longer needed.
        if receiver.has_several_sources() {
            self.table.control.extend(receiver.enough());
        }
        if !receiver.in_pull_queue && receiver.can_pull(now) {
            // An idle interface sends one pull immediately.
            // Further pulls wait, so that the link can transfer their symbols without a queue.
            if self.pulls.take_if_idle(now) {
                self.table
                    .control
                    .push_back(receiver.pull(now, &self.config));
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

    /// Sends all pulls that are due.
    fn release_pulls(&mut self, now: Time) {
        while let Some(key) = self.pulls.turn(now) {
            let Some(receiver) = self.table.receivers.get_mut(key) else {
                continue;
            };
            receiver.in_pull_queue = false;
            if receiver.can_pull(now) {
                self.table
                    .control
                    .push_back(receiver.pull(now, &self.config));
                self.pulls.sent(now);
                // One pull gives several credits, and their symbols need more time on the link than one symbol.
                if receiver.gives_credits() {
                    self.pulls.charge(receiver.last_credits());
                }
            }
            if !receiver.complete {
                self.settle_receiver(now, key);
            }
        }
    }

    /// Returns whether this host uses credit mode.
    const fn gives_credits(&self) -> bool {
        matches!(self.config.mode, Mode::Credit(_))
    }

    /// Updates a sender's entry in the ready queue, and its timer. Must be called after each input to the sender.
    #[inline]
    fn settle_sender(&mut self, key: SessionKey) {
        let Some(sender) = self.table.senders.get_mut(key) else {
            return;
        };
        if sender.queued.is_some() || sender.can_send() {
            let class = sender.class(&self.config);
            let turn = if self.config.in_order { class } else { 0 };
            match sender.queued.replace(turn) {
                None => self.ready.enter(key, turn),
                // A pull with FIN raises the class of a waiting session.
                Some(waits) if waits != turn => self.ready.change(key, waits, turn),
                Some(_) => {}
            }
        }
        let deadline = sender.deadline(&self.config);
        arm(&mut self.table.timers, key, sender, deadline);
    }

    /// Ends a session successfully. Enough receivers are done, and the other receivers are reported as dropped.
    fn end_well(&mut self, now: Time, key: SessionKey) {
        let Some(sender) = self.table.senders.get_mut(key) else {
            return;
        };
        let flow = sender.task().flow;
        let left_out = sender.left_out();
        self.table
            .events
            .extend(left_out.map(|straggler| Event::Straggling(flow, straggler)));
        self.table.end(now, key, Event::Closed);
    }

    /// Removes sessions whose time-wait has ended.
    /// Hosts remove ended sessions when a session opens, so no timer is needed.
    fn forget(&mut self, now: Time) {
        let (census, collections) = (&mut self.census, &mut self.collections);
        self.table
            .forget(now, |receiver| leave(census, collections, receiver));
    }

    fn drop_receiver(&mut self, key: SessionKey) {
        let (census, collections) = (&mut self.census, &mut self.collections);
        self.table
            .remove_receiver(key, |receiver| leave(census, collections, receiver));
    }
}

/// Removes a receiver from the counts, and its ports from the collected objects.
fn leave(census: &mut Census, collections: &mut BTreeMap<u16, Collection>, receiver: &Receiver) {
    census.half_open -= u32::from(receiver.half_open);
    census.waiting -= usize::from(receiver.complete);
    if let Some(first) = receiver.tuples().next() {
        census.leave(first.dst);
    }
    for tuple in receiver.tuples() {
        collections.remove(&tuple.src_port);
    }
}

impl<C: Codec> Transport for Host<C> {
    /// Submits a message. The flow fails immediately if all ports are in use, or if the object has too many blocks.
    fn submit(&mut self, now: Time, message: Message) {
        self.forget(now);
        let tuple = self.table.directory.unused(message.dst);
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
                let tuple = self.table.directory.unused_with_all(receivers, config.port);
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
                let tuple = self.table.directory.unused_with_all(&[message.dst], port);
                let outlook = Outlook {
                    share,
                    window: config.shared_window,
                    ..Outlook::to_one(tuple, config)
                };
                self.start_sender(now, message, outlook);
            }
            Part::Collect { flow, port } => {
                let free = (1_024..Directory::FIRST_OUTGOING).contains(&port);
                // Ports below 1,024 are reserved, and outgoing sessions use the ports above this range.
                let usable = free && port != config.port;
                if !usable || self.collections.contains_key(&port) {
                    // The application gets the failure as an event of the flow, as for a message if no port is free.
                    self.table.fail(flow);
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
                self.table.open += 1;
            }
        }
        Ok(())
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.table.cancel(now, flow).map(|(_, stats)| stats)
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.set_pull_rate(now, rate, overhead);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let header = match &segment.header {
            Header::Scdp(header) => header,
            Header::Credit(header) if self.gives_credits() => {
                self.on_credit(now, &segment, header);
                return;
            }
            _ => {
                self.table.ignored += 1;
                return;
            }
        };
        match (header.kind, segment.condition) {
            (_, Condition::Returned) => self.table.ignored += 1,
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
                self.table.ignored += 1;
            }
        }
    }

    fn on_timeout(&mut self, now: Time) {
        // Pulls leave first. A pull for new symbols restarts the timeout of its session, and this timeout may be due.
        self.release_pulls(now);
        self.run_sender_timers(now);
        self.run_receiver_timers(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Control packets leave first, because a delayed pull would delay the other host.
        if let Some(control) = self.table.control.pop_front() {
            return Some(control);
        }
        while let Some(key) = self.ready.take() {
            let Some(sender) = self.table.senders.get_mut(key) else {
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
        !self.table.control.is_empty() || !self.ready.is_empty()
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.table.events.pop_front()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let timer = Time::earlier(self.table.timers.next(), self.receiver_timers.next());
        Time::earlier(timer, self.pulls.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.table.unfinished()
    }
}
