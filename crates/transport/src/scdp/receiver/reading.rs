//! An application that is told of blocks and reads them in its own time, so that what is held for
//! it has a bound.

use super::Receiver;
use crate::scdp::common::block::State;
use crate::scdp::common::header::{MAX_ESI, ScdpHeader};
use crate::scdp::common::limits::MAX_WINDOW;
use crate::scdp::common::object::Object;
use crate::scdp::config::BlockOrder;
use crate::scdp::paper::source::Source;
use crate::{BlockRange, Segment};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::Time;

/// What one session's application has been told and has read.
#[derive(Debug)]
pub(super) struct Reader {
    order: BlockOrder,
    window: u64,
    /// Bytes of the blocks that the application knows of, and of those that it has read.
    told: u64,
    consumed: u64,
    /// Whole blocks that it is to be told of.
    news: VecDeque<BlockRange>,
    /// Symbols for a group of blocks that have no room yet, by block: the sender counts them as
    /// sent.
    missed: BTreeMap<u32, u32>,
    /// The source that sent something that nobody asked for, and waits for a word.
    asks: Option<usize>,
}

impl Reader {
    /// That of a session for `object`; `None` where one block of it is more than the window.
    pub(super) fn new(order: BlockOrder, window: u64, object: &Object) -> Option<Box<Self>> {
        let fits = object.bytes_before(1) <= window;
        fits.then(|| {
            Box::new(Self {
                order,
                window,
                told: 0,
                consumed: 0,
                news: VecDeque::new(),
                missed: BTreeMap::new(),
                asks: None,
            })
        })
    }

    /// How many blocks, from the first, may be open.
    pub(super) fn openable(&self, object: &Object) -> u32 {
        object.blocks_within(self.consumed.saturating_add(self.window))
    }
}

impl Receiver {
    /// Whether the application is told of blocks.
    #[inline]
    pub(crate) fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// How many blocks, from the first, are open or whole.
    pub(crate) fn opened(&self) -> u32 {
        match self.complete {
            true => self.object.blocks(),
            false => self.first + self.blocks.len() as u32,
        }
    }

    /// Notes the blocks that have become whole, and may be told of.
    #[inline(never)]
    pub(super) fn tell_blocks(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        for (number, block) in (self.first..).zip(&mut self.blocks) {
            let is_whole = block.state == State::Whole;
            if !is_whole && reader.order == BlockOrder::Ascending {
                return;
            }
            if is_whole && !block.told {
                block.told = true;
                let range = BlockRange {
                    block: number,
                    from: self.object.bytes_before(number),
                    to: self.object.bytes_before(number + 1),
                };
                reader.told += range.to - range.from;
                reader.news.push_back(range);
            }
        }
    }

    /// A whole block that the application does not know of yet.
    pub(crate) fn next_block(&mut self) -> Option<BlockRange> {
        self.reader.as_mut()?.news.pop_front()
    }

    /// The application has read `bytes` bytes more of the blocks that it knows of.
    pub(crate) fn consume(&mut self, bytes: u64) {
        if let Some(reader) = &mut self.reader {
            reader.consumed = reader.consumed.saturating_add(bytes).min(reader.told);
            self.openable = reader.openable(&self.object);
        }
    }

    /// A symbol, or its header, of a block that is not open. It may be one that there was no room
    /// for; says whether it can be. It is gone, and is asked for again when there is.
    #[cold]
    pub(super) fn on_beyond(
        &mut self,
        now: Time,
        from: usize,
        segment: &Segment,
        header: &ScdpHeader,
    ) -> bool {
        let exists = header.block < self.object.blocks() && header.esi < MAX_ESI;
        let Some(reader) = self.reader.as_mut().filter(|_| exists) else {
            return false;
        };
        self.heard_at = now;
        self.receipt.symbols += 1;
        self.receipt.in_vain += 1;
        let to_group = segment.tuple.dst.is_group();
        let source = &mut self.sources[from];
        source.hear(now);
        if to_group {
            self.in_group = true;
            source.join_group();
            source.arrive(now, None, true);
            // What is pushed does not count as asked for.
            if !header.syn && reader.missed.len() < MAX_WINDOW as usize {
                *reader.missed.entry(header.block).or_default() += 1;
            }
        } else {
            reader.asks = Some(from);
        }
        true
    }

    /// A source sent something of a block that there is enough of. Where nothing else is expected,
    /// because the application reads late or a block takes long to decode, it may have timed out.
    #[inline]
    pub(super) fn note_question(&mut self, from: usize, to_group: bool) {
        if self.has_reader() && !to_group {
            let expects = self.is_in_need() || self.sources.iter().any(Source::owes);
            if let Some(reader) = self.reader.as_mut().filter(|_| !expects) {
                reader.asks = Some(from);
            }
        }
    }

    /// What a group was sent of the block at `place`, which is open from now on, while there was
    /// no room.
    pub(super) fn count_missed(&mut self, place: usize) {
        let number = self.first + place as u32;
        let missed = self.reader.as_mut().map(|reader| &mut reader.missed);
        let missed = missed.and_then(|missed| missed.remove(&number));
        if let (Some(missed), [source]) = (missed, &mut *self.sources) {
            source.count_as_asked(place, missed);
        }
    }

    /// For a source that has heard nothing for too long: that the session stands, and which blocks
    /// are whole. It asks for nothing new.
    pub(crate) fn still_here(&mut self, now: Time) -> Option<Segment> {
        let source = self
            .reader
            .as_mut()?
            .asks
            .take()
            .filter(|_| !self.complete)?;
        let asked = self.sources[source].asked_of(0);
        Some(self.pull_of(now, source, self.first, asked))
    }
}
