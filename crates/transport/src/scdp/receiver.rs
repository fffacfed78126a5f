//! Receiving half of one session (SCDP paper, section IV-C, Algorithm 2).

mod crediting;
mod decoding;
mod pulling;
mod reading;

use super::common::block::{Block, State};
use super::common::codec::Codec;
use super::common::header::{MAX_ESI, ScdpHeader};
use super::common::object::Object;
use super::config::{Delivery, Mode, ScdpConfig};
use super::credit::credited_sender::CreditedSender;
use super::paper::source::Source;
use crate::receiver_driven::Receiving;
use crate::receiver_driven::SessionKey;
use crate::{Condition, PathPin, Receipt, Segment, Share};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use reading::Reader;
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Key of the session in the table of the host.
    key: SessionKey,
    flow: FlowId,
    pin: PathPin,
    object: Object,
    /// Sending hosts, in the order in which their first packets arrived.
    sources: Vec<Source>,
    /// Credit state of each source, in the order of `sources`. Empty if the host is not in credit mode.
    lines: Vec<CreditedSender>,
    last_credits: u32,
    /// Position of the source from which the next symbol is requested.
    turn: usize,
    /// Whether other receivers get the same symbols.
    in_group: bool,
    /// Whether the application collects the object from several senders.
    is_collected: bool,
    /// First block that is not complete.
    first: u32,
    /// Open blocks, starting with `first`. Symbols of these blocks were requested.
    blocks: VecDeque<Block>,
    /// Number of blocks, counted from the first, that may be open now.
    openable: u32,
    /// State of an application that reads single blocks.
    reader: Option<Box<Reader>>,
    receipt: Receipt,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
    /// Whether no requested symbol has arrived yet. Before the first arrival, the sender's address may be forged.
    pub(crate) half_open: bool,
    /// Whether the arriving packets have the class below all other classes.
    pub(crate) below: bool,
    /// Number of blocks that were reported to the application.
    told: u32,
    /// Time of the earliest entry of the session in the timer queue.
    pub(crate) timer_at: Time,
    /// Arrival time of the latest packet.
    pub(crate) heard_at: Time,
    pub(crate) complete: bool,
}

impl Receiver {
    /// Returns the session that the SYN symbol `segment` (or its trimmed header) opens.
    /// Returns `None` if the options are invalid, or if one block is larger than the application's window.
    /// The caller adds the first source to the new receiver with [`join`](Self::join).
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

    /// Adds a source whose SYN symbol (or trimmed header) for `session` has arrived.
    /// Returns `false` if the symbol is invalid. In `tuple` this host is the source.
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
        // A correct sender never pushes more symbols than the object has (`Object::window`).
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
            let line = CreditedSender::new(now, pushed, open, credit, config.timeout);
            self.lines.push(line);
        }
        if self.complete {
            // The session has ended, so symbols of this source are wasted. They are not counted.
            self.lines.iter_mut().for_each(CreditedSender::release);
            return true;
        }
        let object = self.object;
        for (block, count) in object.pushes(share, pushed) {
            // Blocks before `first` are complete, so their pushed symbols are not pending.
            let Some(place) = block.checked_sub(self.first) else {
                continue;
            };
            // Blocks beyond the application's window are not open.
            // Pushed symbols of blocks beyond the window are dropped and requested later.
            if block >= self.openable {
                break;
            }
            let place = place as usize;
            while self.blocks.len() <= place {
                self.open_block();
            }
            // In credit mode `lines` counts the pending symbols, and `coming` stays 0.
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

    /// Sets the key of the session, and the number of the flow for the application.
    /// `is_collected` is true if the application collects the object from several senders.
    pub(crate) fn set_names(&mut self, key: SessionKey, flow: FlowId, is_collected: bool) {
        self.key = key;
        self.flow = flow;
        self.is_collected = is_collected;
    }

    /// Returns whether `segment` belongs to another session with the same addresses.
    /// Two sessions with the same addresses are possible only if the session has a single source.
    pub(crate) fn is_met_by_another(&self, segment: &Segment) -> bool {
        matches!(&*self.sources, [only] if only.session != segment.flow)
    }

    /// Returns the total bytes of complete blocks, if the number has grown since the last call.
    pub(crate) fn news(&mut self) -> Option<u64> {
        let before = core::mem::replace(&mut self.told, self.first);
        (self.first > before).then(|| self.object.bytes_before(self.first))
    }

    /// Ends the session. Later symbols are answered with DONE.
    pub(crate) fn refuse(&mut self) {
        self.complete = true;
        self.release();
    }

    /// Returns the statistics of a session with several senders or receivers; `None` for other sessions.
    pub(crate) fn receipt(&self) -> Option<Receipt> {
        let several = self.in_group || self.is_collected();
        several.then(|| Receipt {
            bytes: self.object.bytes_before(self.first),
            ..self.receipt
        })
    }

    /// Returns whether the application collects the object from several senders.
    pub(crate) fn is_collected(&self) -> bool {
        self.is_collected
    }

    /// Returns the position of the source that sent a segment with `tuple`.
    #[inline]
    fn source_of(&self, tuple: &FiveTuple) -> Option<usize> {
        if self.sources.len() == 1 {
            // The addresses of the session identify a single source, so no search is needed.
            return Some(0);
        }
        let from = (tuple.src, tuple.src_port);
        self.sources
            .iter()
            .position(|source| (source.tuple.dst, source.tuple.dst_port) == from)
    }

    /// Opens the next block. No symbols of the block are requested yet.
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

    /// Processes a symbol or a trimmed header. Returns `false` if it is invalid.
    pub(crate) fn on_symbol<C: Codec>(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        // A session that has ended keeps no blocks in memory, so symbols of all blocks are valid for it.
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
        // A symbol that was sent to this receiver alone may have opened a session that belongs to a group.
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
            // Symbols also count while a codec decodes, because the last source symbol completes the block.
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

    /// Returns the earliest of these times: a decoding ends, or requested symbols become overdue or late.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, config: &ScdpConfig) -> Option<Time> {
        if self.complete {
            return None;
        }
        // Most sessions decode nothing. For sessions without decodings, the empty range avoids a search.
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
        // Another source replaces a late symbol only if all needed symbols are requested and no pull waits.
        if !self.has_several_sources() || self.in_pull_queue || self.is_in_need() {
            return waits;
        }
        Time::earlier(waits, self.late_at(now))
    }

    /// Returns the earliest time at which a source is overdue.
    #[inline]
    fn overdue_at(&self, config: &ScdpConfig) -> Option<Time> {
        let receiving = self.blocks.iter().any(|b| b.state == State::Receiving);
        // While a pull of this session waits in the pull queue, missing packets of the sources show no loss.
        if !receiving || self.in_pull_queue {
            return None;
        }
        // A block needs symbols and no pull waits, so a single source always has pending symbols.
        if let [only] = &*self.sources {
            return Some(only.overdue_at(config));
        }
        self.waited_for()
            .map(|at| self.sources[at].overdue_at(config))
            .min()
    }

    /// Returns the positions of the sources from which symbols are expected. A single source is always included.
    fn waited_for(&self) -> impl Iterator<Item = usize> {
        let several = self.sources.len() > 1;
        (0..self.sources.len()).filter(move |&at| !several || self.sources[at].owes())
    }

    /// Processes an expired deadline. Returns `false` if the session has failed.
    pub(crate) fn on_timeout<C: Codec>(
        &mut self,
        now: Time,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        // Decodings are finished first, because a block that they complete is not overdue.
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
                // Only new symbols can replace lost symbols, so the block will probably have to be decoded.
                block.on_loss(config.overhead);
            }
        }
        // A source that still answers can replace the symbols of the others.
        !self.sources.iter().all(|source| source.is_given_up(config))
    }

    /// Frees memory at the end of the session.
    pub(crate) fn release(&mut self) {
        self.blocks = VecDeque::new();
        self.reader = None;
        for source in &mut self.sources {
            source.release();
        }
        self.lines.iter_mut().for_each(CreditedSender::release);
    }
}

impl Receiving for Receiver {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn tuples(&self) -> impl Iterator<Item = FiveTuple> {
        self.sources.iter().map(|source| source.tuple)
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn heard_at(&self) -> Time {
        self.heard_at
    }
}
