//! One session at its receiver (SCDP paper, section IV-C, Algorithm 2).

use super::block::{Block, State};
use super::codec::{Attempt, Codec};
use super::config::{MAX_WINDOW, ScdpConfig};
use super::header::{MAX_ESI, ScdpHeader, ScdpKind};
use super::object::Object;
use crate::{Condition, Ecn, Header, PathPin, Segment};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Time};

/// One of the hosts that send to a session.
#[derive(Debug)]
struct Source {
    /// Addresses as this host sends.
    tuple: FiveTuple,
    /// Symbols that it pushes, and that are to be on their way afterwards.
    window: u32,
    /// Symbols on their way: pushed or asked for, not arrived in any form.
    coming: u32,
    /// From the first open block on: symbols asked for.
    asked: VecDeque<u32>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    flow: FlowId,
    pin: PathPin,
    object: Object,
    sources: Vec<Source>,
    /// The first block that is not whole, and those after it that symbols have been asked of.
    first: u32,
    blocks: VecDeque<Block>,
    /// After a timeout only one symbol is to be on its way, until it has come.
    probing: bool,
    timeouts: u32,
    waits_since: Time,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    /// When a packet last arrived.
    pub(crate) heard_at: Time,
    pub(crate) complete: bool,
}

impl Receiver {
    /// The session that the SYN symbol `segment` (or its header) opens; `None` when its options make
    /// no sense.
    pub(crate) fn new(now: Time, segment: &Segment, header: &ScdpHeader) -> Option<Self> {
        let object = Object::from_options(header.length, header.symbol, header.blocks)?;
        let pushed = u64::from(header.window);
        if pushed == 0 || pushed > object.symbols() || header.window > MAX_WINDOW {
            return None;
        }
        let source = Source {
            tuple: segment.tuple.reversed(),
            window: header.window,
            coming: header.window,
            asked: VecDeque::new(),
        };
        let mut receiver = Self {
            flow: segment.flow,
            pin: if header.pinned {
                segment.path
            } else {
                PathPin::NONE
            },
            object,
            sources: vec![source],
            first: 0,
            blocks: VecDeque::new(),
            probing: false,
            timeouts: 0,
            waits_since: now,
            in_pull_queue: false,
            timer_at: Time::MAX,
            heard_at: now,
            complete: false,
        };
        let mut pushed = header.window;
        while pushed > 0 {
            let block = receiver.open_block();
            block.coming = block.needs().min(pushed);
            pushed -= block.coming;
        }
        Some(receiver)
    }

    pub(crate) fn flow(&self) -> FlowId {
        self.flow
    }

    /// The addresses of the sources, as this host sends.
    pub(crate) fn tuples(&self) -> impl Iterator<Item = &FiveTuple> {
        self.sources.iter().map(|source| &source.tuple)
    }

    /// Asks for nothing yet of the next block.
    fn open_block(&mut self) -> &mut Block {
        let number = self.first + self.blocks.len() as u32;
        self.blocks
            .push_back(Block::new(self.object.source_symbols(number)));
        for source in &mut self.sources {
            source.asked.push_back(0);
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// A symbol arrives, or its header if `trimmed`. Says whether it can be.
    pub(crate) fn on_symbol<C: Codec>(
        &mut self,
        now: Time,
        header: &ScdpHeader,
        trimmed: bool,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        let open = self.first + self.blocks.len() as u32;
        if header.block >= open || header.esi >= MAX_ESI {
            return false;
        }
        self.heard_at = now;
        if self.complete {
            return true;
        }
        self.waits_since = now;
        self.timeouts = 0;
        self.probing = false;
        let source = &mut self.sources[0];
        source.coming = source.coming.saturating_sub(1);
        let Some(place) = header.block.checked_sub(self.first) else {
            return true;
        };
        let block = &mut self.blocks[place as usize];
        block.coming = block.coming.saturating_sub(1);
        if trimmed {
            block.on_loss(config.overhead);
        } else if block.state != State::Whole {
            block.insert(header.esi);
            self.decode(now, place as usize, codec);
        }
        self.pass_on_whole_blocks();
        true
    }

    /// Has a block decoded, if it has enough symbols.
    fn decode<C: Codec>(&mut self, now: Time, place: usize, codec: &mut C) {
        let block = &mut self.blocks[place];
        while block.is_decodable() {
            let number = self.first + place as u32;
            let decoding = codec.decode(&Attempt {
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
                self.waits_since = now;
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
                source.asked.pop_front();
            }
        }
        self.complete = self.first == self.object.blocks();
    }

    /// Whether a pull may be sent to a source: symbols are needed, and less than a window of them is
    /// on its way.
    #[inline]
    pub(crate) fn can_pull(&self) -> bool {
        let window = if self.probing {
            1
        } else {
            self.sources[0].window
        };
        !self.complete && self.sources[0].coming < window && self.is_in_need()
    }

    /// Whether a symbol is needed that has not been asked for.
    #[inline]
    fn is_in_need(&self) -> bool {
        let open = self.first + self.blocks.len() as u32;
        open < self.object.blocks() || self.blocks.iter().any(|block| block.needs() > 0)
    }

    /// A pull, for the first block that needs a symbol. To be called only if one may be sent.
    pub(crate) fn pull(&mut self, now: Time) -> Segment {
        let place = self.blocks.iter().position(|block| block.needs() > 0);
        let place = place.unwrap_or_else(|| {
            self.open_block();
            self.blocks.len() - 1
        });
        self.blocks[place].coming += 1;
        let source = &mut self.sources[0];
        source.coming += 1;
        source.asked[place] = source.asked[place].saturating_add(1);
        let pull = source.asked[place];
        self.waits_since = now;
        let header = ScdpHeader {
            kind: ScdpKind::Pull,
            fin: !self.is_in_need(),
            block: self.first + place as u32,
            pull,
            ..ScdpHeader::default()
        };
        self.control(header)
    }

    /// The word that the object is whole.
    pub(crate) fn done(&self) -> Segment {
        self.control(ScdpHeader {
            kind: ScdpKind::Done,
            ..ScdpHeader::default()
        })
    }

    fn control(&self, header: ScdpHeader) -> Segment {
        Segment {
            tuple: self.sources[0].tuple,
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

    /// When a decoding is over, or symbols that were asked for are overdue.
    pub(crate) fn deadline(&self, config: &ScdpConfig) -> Option<Time> {
        if self.complete {
            return None;
        }
        let decodings = self.blocks.iter().filter_map(|block| match block.state {
            State::Decoding { until, .. } => Some(until),
            State::Receiving | State::Whole => None,
        });
        decodings.chain(self.overdue_at(config)).min()
    }

    fn overdue_at(&self, config: &ScdpConfig) -> Option<Time> {
        let receiving = self.blocks.iter().any(|b| b.state == State::Receiving);
        let waits = receiving && !self.in_pull_queue;
        let span = config.backed_off(self.timeouts);
        waits.then(|| self.waits_since.saturating_add(span))
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
        // What was asked for is lost, or the pulls are.
        self.timeouts += 1;
        self.waits_since = now;
        self.probing = true;
        for source in &mut self.sources {
            source.coming = 0;
        }
        for block in &mut self.blocks {
            block.coming = 0;
            block.on_loss(config.overhead);
        }
        self.timeouts <= config.max_timeouts
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn release(&mut self) {
        self.blocks = VecDeque::new();
        for source in &mut self.sources {
            source.asked = VecDeque::new();
        }
    }
}
