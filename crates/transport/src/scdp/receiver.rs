//! One session at its receiver (SCDP paper, section IV-C, Algorithm 2).

mod crediting;
mod decoding;
mod pulling;
mod reading;

use super::common::block::{Block, State};
use super::common::codec::Codec;
use super::common::header::{MAX_ESI, ScdpHeader};
use super::common::object::Object;
use super::config::{Delivery, Mode, ScdpConfig};
use super::credit::line::Line;
use super::paper::source::Source;
use crate::receiver_driven::SessionKey;
use crate::{Condition, PathPin, Receipt, Segment, Share};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use reading::Reader;
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// What the host calls the session.
    key: SessionKey,
    flow: FlowId,
    pin: PathPin,
    object: Object,
    /// The hosts that send, in the order in which they were heard.
    sources: Vec<Source>,
    /// The same where it gives them credits, else none.
    lines: Vec<Line>,
    last_credits: u32,
    /// The source that is asked next.
    turn: usize,
    /// Whether others receive the same symbols.
    in_group: bool,
    /// Whether its application collects it from several senders.
    is_collected: bool,
    /// The first block that is not whole, and those after it that symbols have been asked of.
    first: u32,
    blocks: VecDeque<Block>,
    /// How many blocks, from the first, may be open by now.
    openable: u32,
    /// The application, where it is told of blocks.
    reader: Option<Box<Reader>>,
    receipt: Receipt,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
    /// Whether nothing that was asked for has come yet, and the sender's address may be forged.
    pub(crate) half_open: bool,
    /// Whether what arrives is below all classes.
    pub(crate) below: bool,
    /// Blocks that the application has been told of.
    told: u32,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    /// When a packet last arrived.
    pub(crate) heard_at: Time,
    pub(crate) complete: bool,
}

impl Receiver {
    /// The session that the SYN symbol `segment` (or its header) opens; `None` when its options make
    /// no sense, or where one block is more than the application takes. Its first source is to
    /// [join](Self::join).
    pub(crate) fn new(
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
        config: &ScdpConfig,
    ) -> Option<Self> {
        let object = Object::from_options(header.length, header.symbol, header.blocks)?;
        let delivery = config.delivery;
        if !object.is_within(&config.limits) {
            return None;
        }
        let reader = match delivery {
            Delivery::Whole => None,
            Delivery::Blocks { order, window } => Some(Reader::new(order, window, &object)?),
        };
        let openable = match &reader {
            Some(reader) => reader.openable(&object),
            None => object.blocks(),
        };
        Some(Self {
            key: SessionKey::NONE,
            flow: segment.flow,
            pin: if header.pinned {
                segment.path
            } else {
                PathPin::NONE
            },
            object,
            openable,
            reader,
            sources: Vec::new(),
            lines: Vec::new(),
            last_credits: 0,
            turn: 0,
            in_group: segment.tuple.dst.is_group(),
            is_collected: false,
            first: 0,
            blocks: VecDeque::new(),
            receipt: Receipt::default(),
            in_pull_queue: false,
            half_open: false,
            below: false,
            told: 0,
            timer_at: Time::MAX,
            heard_at: now,
            complete: false,
        })
    }

    /// A source makes itself known by a SYN symbol (or its header) of its `session`. Says whether
    /// it can be one. `tuple` is as this host sends.
    pub(crate) fn join(
        &mut self,
        now: Time,
        tuple: FiveTuple,
        session: FlowId,
        header: &ScdpHeader,
        config: &ScdpConfig,
    ) -> bool {
        let limits = &config.limits;
        let told = Object::from_options(header.length, header.symbol, header.blocks);
        let share = Share {
            index: header.share,
            of: header.senders,
        };
        let pushed = header.count;
        if told != Some(self.object)
            || share.index >= share.of
            || pushed == 0
            || share.of > limits.senders
            || pushed > limits.pushed
            || u64::from(pushed) > self.object.symbols()
            || self.sources.len() == usize::from(share.of)
        {
            return false;
        }
        let open = self.blocks.len();
        let source = Source::new(now, (tuple, session), pushed, share, open);
        self.sources.push(source);
        if let Mode::Credit(credit) = config.mode {
            let line = Line::new(now, pushed, open, credit, config.timeout);
            self.lines.push(line);
        }
        if self.complete {
            // What it sends is in vain, and not counted.
            self.lines.iter_mut().for_each(Line::release);
            return true;
        }
        let object = self.object;
        for (block, count) in object.pushes(share, pushed) {
            let Some(place) = block.checked_sub(self.first) else {
                continue;
            };
            if block >= self.openable {
                break;
            }
            let place = place as usize;
            while self.blocks.len() <= place {
                self.open_block();
            }
            if let Some(line) = self.lines.last_mut() {
                line.assign(now, place, count, true);
                continue;
            }
            self.blocks[place].coming += count;
            if let Some(source) = self.sources.last_mut() {
                source.push(now, place, count);
            }
        }
        true
    }

    pub(crate) fn flow(&self) -> FlowId {
        self.flow
    }

    /// The host calls the session `key` from now on, and its application, which may collect it
    /// from several senders, calls it `flow`.
    pub(crate) fn set_names(&mut self, key: SessionKey, flow: FlowId, is_collected: bool) {
        self.key = key;
        self.flow = flow;
        self.is_collected = is_collected;
    }

    /// Whether it has a source alone whose addresses are those of `segment`, which is of another
    /// session.
    pub(crate) fn is_met_by_another(&self, segment: &Segment) -> bool {
        matches!(&*self.sources, [only] if only.session != segment.flow)
    }

    /// Bytes of the blocks that are whole, if they are more than at the last call.
    pub(crate) fn news(&mut self) -> Option<u64> {
        let before = core::mem::replace(&mut self.told, self.first);
        (self.first > before).then(|| self.object.bytes_before(self.first))
    }

    /// The application wants no more: what still comes is answered with the word that it is done.
    pub(crate) fn refuse(&mut self) {
        self.complete = true;
        self.release();
    }

    /// What to tell of a session with several ends.
    pub(crate) fn receipt(&self) -> Option<Receipt> {
        let several = self.in_group || self.is_collected();
        several.then(|| Receipt {
            bytes: self.object.bytes_before(self.first),
            ..self.receipt
        })
    }

    /// Whether its application collects it from several senders.
    pub(crate) fn is_collected(&self) -> bool {
        self.is_collected
    }

    /// The addresses of the sources, as this host sends.
    pub(crate) fn tuples(&self) -> impl Iterator<Item = &FiveTuple> {
        self.sources.iter().map(|source| &source.tuple)
    }

    /// The source that sends `tuple`.
    #[inline]
    fn source_of(&self, tuple: &FiveTuple) -> Option<usize> {
        if self.sources.len() == 1 {
            return Some(0);
        }
        let from = (tuple.src, tuple.src_port);
        self.sources
            .iter()
            .position(|source| (source.tuple.dst, source.tuple.dst_port) == from)
    }

    /// Asks for nothing yet of the next block.
    fn open_block(&mut self) {
        let number = self.first + self.blocks.len() as u32;
        self.blocks
            .push_back(Block::new(self.object.source_symbols(number)));
        for source in &mut self.sources {
            source.open_block();
        }
        for line in &mut self.lines {
            line.open_block();
        }
        if self.reader.is_some() {
            self.count_missed(self.blocks.len() - 1);
        }
    }

    /// A symbol arrives, or its header if it was trimmed. Says whether it can be.
    pub(crate) fn on_symbol<C: Codec>(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        // What has ended keeps no blocks, and answers for all of them.
        let open = self.opened();
        let Some(from) = self.source_of(&segment.tuple) else {
            return false;
        };
        if self.sources[from].session != segment.flow {
            return false;
        }
        if self.gives_credits() {
            return self.on_credit_symbol(now, from, segment, header, codec, config);
        }
        if header.block >= open || header.esi >= MAX_ESI {
            return self.on_beyond(now, from, segment, header);
        }
        self.heard_at = now;
        // A session may be opened by a symbol for this receiver alone.
        let to_group = segment.tuple.dst.is_group();
        self.in_group |= to_group;
        if self.complete {
            return true;
        }
        self.receipt.symbols += 1;
        let source = &mut self.sources[from];
        source.hear(now);
        if to_group {
            source.join_group();
        }
        let place = header.block.checked_sub(self.first);
        let place = place.map(|place| place as usize);
        let was_coming = source.arrive(now, place, to_group);
        let Some(place) = place else {
            self.receipt.in_vain += 1;
            self.note_question(from, to_group);
            return true;
        };
        let block = &mut self.blocks[place];
        if was_coming {
            block.coming -= 1;
        }
        let enough = block.state != State::Receiving;
        if segment.condition == Condition::Trimmed {
            block.on_loss(config.overhead);
            self.receipt.in_vain += u32::from(enough);
        } else if block.state != State::Whole {
            let new = block.insert(header.esi);
            self.receipt.in_vain += u32::from(enough || !new);
            self.decode(now, place, codec);
        }
        if enough {
            self.note_question(from, to_group);
        }
        self.pass_on_from(Some(place));
        true
    }

    /// When a decoding is over, or symbols that were asked for are overdue or late.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, config: &ScdpConfig) -> Option<Time> {
        if self.complete {
            return None;
        }
        // Most sessions decode nothing.
        let places = match self.receipt.decoded {
            0 => 0..0,
            _ => 0..self.blocks.len(),
        };
        let decodings = self
            .blocks
            .range(places)
            .filter_map(|block| match block.state {
                State::Decoding { until, .. } => Some(until),
                State::Receiving | State::Whole => None,
            });
        if self.gives_credits() {
            let due = decodings.chain(self.lines_due_at(now, config));
            return due.min();
        }
        let waits = decodings.chain(self.overdue_at(config)).min();
        if !self.has_several_sources() || self.in_pull_queue || self.is_in_need() {
            return waits;
        }
        Time::earlier(waits, self.late_at(now))
    }

    /// When a source is overdue first.
    #[inline]
    fn overdue_at(&self, config: &ScdpConfig) -> Option<Time> {
        let receiving = self.blocks.iter().any(|b| b.state == State::Receiving);
        if !receiving || self.in_pull_queue {
            return None;
        }
        if let [only] = &*self.sources {
            return Some(only.overdue_at(config));
        }
        self.waited_for()
            .map(|at| self.sources[at].overdue_at(config))
            .min()
    }

    /// The sources that something is expected of: an only one always is.
    fn waited_for(&self) -> impl Iterator<Item = usize> {
        let several = self.sources.len() > 1;
        (0..self.sources.len()).filter(move |&at| !several || self.sources[at].owes())
    }

    /// The deadline has come. Says whether the session goes on.
    pub(crate) fn on_timeout<C: Codec>(
        &mut self,
        now: Time,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        self.finish_decodings(now, codec);
        if self.gives_credits() {
            return self.complete || self.ask_overdue(now, config);
        }
        if self.complete || self.overdue_at(config).is_none_or(|at| at > now) {
            return true;
        }
        let overdue: Vec<usize> = self
            .waited_for()
            .filter(|&at| self.sources[at].overdue_at(config) <= now)
            .collect();
        for at in overdue {
            let lost = self.sources[at].give_up_requests(now);
            for (block, lost) in self.blocks.iter_mut().zip(lost) {
                block.coming -= lost;
                block.on_loss(config.overhead);
            }
        }
        !self.sources.iter().all(|source| source.is_given_up(config))
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn release(&mut self) {
        self.blocks = VecDeque::new();
        self.reader = None;
        for source in &mut self.sources {
            source.release();
        }
        self.lines.iter_mut().for_each(Line::release);
    }
}
