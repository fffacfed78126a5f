//! One session at its receiver (SCDP paper, section IV-C, Algorithm 2).

use super::block::{Block, State};
use super::codec::{Attempt, Codec};
use super::config::{MAX_WINDOW, ScdpConfig};
use super::header::{MAX_ESI, ScdpHeader, ScdpKind};
use super::object::Object;
use super::source::{Judge, Source};
use crate::receiver_driven::SERVICE_PORT;
use crate::{Condition, Ecn, Header, PathPin, Receipt, Segment, Share};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    flow: FlowId,
    pin: PathPin,
    object: Object,
    /// The hosts that send, in the order in which they were heard.
    sources: Vec<Source>,
    /// The source that is asked next.
    turn: usize,
    /// Whether others receive the same symbols.
    in_group: bool,
    /// The first block that is not whole, and those after it that symbols have been asked of.
    first: u32,
    blocks: VecDeque<Block>,
    receipt: Receipt,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
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
    /// no sense. Its first source is to [join](Self::join).
    pub(crate) fn new(
        now: Time,
        flow: FlowId,
        segment: &Segment,
        header: &ScdpHeader,
    ) -> Option<Self> {
        Some(Self {
            flow,
            pin: if header.pinned {
                segment.path
            } else {
                PathPin::NONE
            },
            object: Object::from_options(header.length, header.symbol, header.blocks)?,
            sources: Vec::new(),
            turn: 0,
            in_group: segment.tuple.dst.is_group(),
            first: 0,
            blocks: VecDeque::new(),
            receipt: Receipt::default(),
            in_pull_queue: false,
            below: false,
            told: 0,
            timer_at: Time::MAX,
            heard_at: now,
            complete: false,
        })
    }

    /// A source makes itself known by a SYN symbol (or its header). Says whether it can be one.
    pub(crate) fn join(&mut self, now: Time, tuple: FiveTuple, header: &ScdpHeader) -> bool {
        let told = Object::from_options(header.length, header.symbol, header.blocks);
        let share = Share {
            index: header.share,
            of: header.senders,
        };
        let pushed = header.count;
        if told != Some(self.object)
            || share.index >= share.of
            || pushed == 0
            || pushed > MAX_WINDOW
            || u64::from(pushed) > self.object.symbols()
            || self.sources.len() == usize::from(share.of)
        {
            return false;
        }
        let open = self.blocks.len();
        let source = Source::new(now, tuple, pushed, share, open);
        self.sources.push(source);
        if self.complete {
            return true;
        }
        let object = self.object;
        for (block, count) in object.pushes(share, pushed) {
            let Some(place) = block.checked_sub(self.first) else {
                continue;
            };
            let place = place as usize;
            while self.blocks.len() <= place {
                self.open_block();
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

    /// Whether symbols come from several senders.
    pub(crate) fn is_collected(&self) -> bool {
        let first = self.sources.first();
        first.is_some_and(|source| source.tuple.src_port != SERVICE_PORT)
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
    fn open_block(&mut self) -> &mut Block {
        let number = self.first + self.blocks.len() as u32;
        self.blocks
            .push_back(Block::new(self.object.source_symbols(number)));
        for source in &mut self.sources {
            source.open_block();
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
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
        let open = match self.complete {
            true => self.object.blocks(),
            false => self.first + self.blocks.len() as u32,
        };
        let Some(from) = self.source_of(&segment.tuple) else {
            return false;
        };
        if header.block >= open || header.esi >= MAX_ESI {
            return false;
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
        self.pass_on_whole_blocks();
        true
    }

    /// Has a block decoded, if it has enough symbols.
    fn decode<C: Codec>(&mut self, now: Time, place: usize, codec: &mut C) {
        let block = &mut self.blocks[place];
        while block.is_decodable() {
            let number = self.first + place as u32;
            self.receipt.decoded += 1;
            let decoding = codec.decode(&Attempt {
                now,
                session: self.sources[0].tuple.reversed(),
                block: number,
                source_symbols: self.object.source_symbols(number),
                missing: block.missing(),
                received: block.received(),
                symbol: self.object.symbol(),
            });
            let until = now.saturating_add(decoding.takes);
            if until > now {
                block.state = State::Decoding {
                    until,
                    decoded: decoding.decoded,
                };
            } else if decoding.decoded {
                block.state = State::Whole;
            } else {
                block.on_failure();
            }
        }
    }

    /// Decodings that are over by now.
    fn finish_decodings<C: Codec>(&mut self, now: Time, codec: &mut C) {
        for place in 0..self.blocks.len() {
            let block = &mut self.blocks[place];
            let State::Decoding { until, decoded } = block.state else {
                continue;
            };
            if until > now {
                continue;
            }
            if decoded {
                block.state = State::Whole;
            } else {
                block.on_failure();
                for source in &mut self.sources {
                    source.wait_from(now);
                }
                self.decode(now, place, codec);
            }
        }
        self.pass_on_whole_blocks();
    }

    fn pass_on_whole_blocks(&mut self) {
        while let Some(block) = self.blocks.front() {
            if block.state != State::Whole {
                return;
            }
            self.blocks.pop_front();
            self.first += 1;
            for source in &mut self.sources {
                source.close_block();
            }
        }
        self.complete = self.first == self.object.blocks();
    }

    /// Whether a pull may be sent: symbols are needed, and some source has less than its window of them
    /// on its way; or what is owed is late, and another source has room for it.
    #[inline]
    pub(crate) fn can_pull(&self, now: Time) -> bool {
        if self.complete {
            return false;
        }
        if self.lacks_pull() {
            return true;
        }
        if let [only] = &*self.sources {
            return only.has_room() && self.is_in_need();
        }
        if self.is_in_need() {
            self.next_source().is_some()
        } else {
            self.find_overdue(now).is_some()
        }
    }

    /// Whether a pull is to be sent again: a group has one sender.
    #[inline]
    fn lacks_pull(&self) -> bool {
        self.in_group && self.sources[0].lacks_pull()
    }

    /// The source whose turn it is. One that owes symbols for too long is not asked while others are
    /// there; what it still sends is welcome, and brings it back.
    #[inline]
    fn next_source(&self) -> Option<usize> {
        if let [only] = &*self.sources {
            return only.has_room().then_some(0);
        }
        self.next_source_that(|_| true)
    }

    /// The source whose turn it is of those that `may` be asked.
    fn next_source_that(&self, may: impl Fn(&Source) -> bool) -> Option<usize> {
        let all_silent = self.sources.iter().all(Source::is_silent);
        let count = self.sources.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&at| {
                let source = &self.sources[at];
                source.has_room() && (all_silent || !source.is_silent()) && may(source)
            })
    }

    /// The source to ask for a symbol of the block at `place`, if any has room: one that has source symbols
    /// of it left, if it can be, so that the block need not be decoded.
    #[inline]
    fn next_source_for(&self, place: usize) -> Option<usize> {
        if self.sources.len() > 1 {
            let k = self.object.source_symbols(self.first + place as u32);
            let of_source = self.next_source_that(|source| source.has_source_symbols(place, k));
            if of_source.is_some() {
                return of_source;
            }
        }
        self.next_source()
    }

    /// What sources that are several are measured by: the fastest, which may take twice as long.
    fn judge(&self, now: Time) -> Option<Judge> {
        let answers_in = self.sources.iter().filter_map(Source::answers_in);
        let fastest = answers_in.min()?;
        let patience = fastest * 2;
        Some(Judge { now, patience })
    }

    /// Where nothing is needed beside what is on its way, and there are several sources: whether some of
    /// that is late. Gives the block to ask for a symbol of, and the source to ask.
    #[inline(never)]
    fn find_overdue(&self, now: Time) -> Option<(usize, usize)> {
        let judge = self.judge(now)?;
        let late = |place| {
            let sources = self.sources.iter();
            sources.map(|source| source.late_of(place, judge)).sum()
        };
        let mut blocks = self.blocks.iter().enumerate();
        let place = blocks.position(|(place, block)| block.needs_without(late(place)) > 0)?;
        let at = self.next_source_that(|source| !source.is_behind(judge))?;
        Some((place, at))
    }

    /// Whether a symbol is needed that has not been asked for.
    #[inline]
    fn is_in_need(&self) -> bool {
        self.has_unopened() || self.blocks.iter().any(|block| block.needs() > 0)
    }

    /// Whether there are blocks that nothing has been asked of.
    #[inline]
    fn has_unopened(&self) -> bool {
        self.first + (self.blocks.len() as u32) < self.object.blocks()
    }

    /// A pull, for the first block that needs a symbol. To be called only if one may be sent.
    pub(crate) fn pull(&mut self, now: Time, config: &ScdpConfig) -> Segment {
        if self.lacks_pull() {
            let asked = self.sources[0].pull_again(now);
            return self.pull_of(now, 0, self.first, asked);
        }
        let needed = self.blocks.iter().position(|block| block.needs() > 0);
        let overdue = match needed {
            None if self.has_several_sources() && !self.has_unopened() => self.find_overdue(now),
            _ => None,
        };
        let (place, at) = overdue.unwrap_or_else(|| {
            let place = needed.unwrap_or_else(|| {
                self.open_block();
                self.blocks.len() - 1
            });
            (place, self.next_source_for(place).unwrap_or(0))
        });
        self.turn = if at + 1 < self.sources.len() {
            at + 1
        } else {
            0
        };
        let number = self.first + place as u32;
        let k = self.object.source_symbols(number);
        let (pull, repair) = self.sources[at].ask(now, place, k);
        let block = &mut self.blocks[place];
        block.coming += 1;
        if repair {
            // It will have to be decoded.
            block.on_loss(config.overhead);
        }
        self.pull_of(now, at, number, pull)
    }

    /// The pull that was just counted at a source, for a block of which so many symbols were asked of it.
    fn pull_of(&self, now: Time, source: usize, block: u32, pull: u32) -> Segment {
        let header = ScdpHeader {
            kind: ScdpKind::Pull,
            fin: !self.is_in_need() && !self.lacks_pull() && !self.is_overdue(now),
            block,
            pull,
            count: self.sources[source].pulls(),
            blocks: self.first,
            ..ScdpHeader::default()
        };
        self.control(source, header)
    }

    /// Whether another source is to be asked for what is late.
    #[inline]
    fn is_overdue(&self, now: Time) -> bool {
        self.has_several_sources() && self.find_overdue(now).is_some()
    }

    /// Whether one source may do what another does not.
    #[inline]
    pub(crate) fn has_several_sources(&self) -> bool {
        self.sources.len() > 1
    }

    /// Of several sources: once there is enough of every block, and decoding is all that is left: the word for each source that
    /// still owes symbols that they are not needed.
    pub(crate) fn enough(&mut self) -> Vec<Segment> {
        let receives = |block: &Block| block.state == State::Receiving;
        if self.has_unopened() || self.blocks.iter().any(receives) {
            return Vec::new();
        }
        for block in &mut self.blocks {
            block.coming = 0;
        }
        let last = self.object.blocks() - 1;
        let place = self.blocks.len() - 1;
        let mut words = Vec::new();
        for at in 0..self.sources.len() {
            let source = &mut self.sources[at];
            if !source.release_from_debt() {
                continue;
            }
            let header = ScdpHeader {
                kind: ScdpKind::Pull,
                fin: true,
                block: last,
                pull: source.asked_of(place),
                count: source.pulls(),
                blocks: self.object.blocks(),
                ..ScdpHeader::default()
            };
            words.push(self.control(at, header));
        }
        words
    }

    /// The word that the object is whole, for each source.
    pub(crate) fn done(&self) -> impl Iterator<Item = Segment> {
        (0..self.sources.len()).map(|source| {
            self.control(
                source,
                ScdpHeader {
                    kind: ScdpKind::Done,
                    ..ScdpHeader::default()
                },
            )
        })
    }

    fn control(&self, source: usize, header: ScdpHeader) -> Segment {
        Segment {
            tuple: self.sources[source].tuple,
            flow: self.flow,
            payload: 0,
            ecn: Ecn::NotCapable,
            priority: 0,
            path: self.pin,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header: Header::Scdp(header),
        }
    }

    /// When a decoding is over, or symbols that were asked for are overdue or late.
    #[inline]
    pub(crate) fn deadline(&self, now: Time, config: &ScdpConfig) -> Option<Time> {
        if self.complete {
            return None;
        }
        let decodings = self.blocks.iter().filter_map(|block| match block.state {
            State::Decoding { until, .. } => Some(until),
            State::Receiving | State::Whole => None,
        });
        let waits = decodings.chain(self.overdue_at(config)).min();
        if !self.has_several_sources() || self.in_pull_queue || self.is_in_need() {
            return waits;
        }
        Time::earlier(waits, self.late_at(now))
    }

    /// When the next source is late with something that may then be asked of another.
    #[inline(never)]
    fn late_at(&self, now: Time) -> Option<Time> {
        let judge = self.judge(now)?;
        let sources = self.sources.iter();
        sources
            .filter_map(|source| source.next_late_at(judge))
            .min()
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
        for source in &mut self.sources {
            source.release();
        }
    }
}
