//! Delivery of single blocks to an application that reads at its own rate. A window limits the memory.

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

/// Progress of an application that reads single blocks of one session.
#[derive(Debug)]
pub(super) struct Reader {
    order: BlockOrder,
    window: u64,
    /// Number of bytes in the blocks that were reported to the application.
    told: u64,
    /// Number of bytes that the application has read.
    consumed: u64,
    /// Complete blocks that are not yet reported to the application.
    news: VecDeque<BlockRange>,
    /// For each block: number of symbols that arrived for a group while the window did not admit the block.
    /// The sender counts symbols that the receiver's window did not admit as sent.
    missed: BTreeMap<u32, u32>,
    /// Position of the source that sent an unrequested symbol. This source waits for an answer.
    asks: Option<usize>,
}

impl Reader {
    /// Returns the state for a session of `object`, or `None` if a block of the object is larger than the window.
    pub(super) fn new(order: BlockOrder, window: u64, object: &Object) -> Option<Box<Self>> {
        // Block 0 is one of the largest blocks, because long blocks come first.
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

    /// Returns the number of blocks, counted from the first, that may be open or complete.
    pub(super) fn openable(&self, object: &Object) -> u32 {
        object.blocks_within(self.consumed.saturating_add(self.window))
    }
}

impl Receiver {
    /// Returns whether single blocks are reported to the application.
    #[inline]
    pub(crate) fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns the number of blocks, counted from the first, that are open or complete.
    pub(crate) fn opened(&self) -> u32 {
        match self.complete {
            true => self.object.blocks(),
            false => self.first + self.blocks.len() as u32,
        }
    }

    /// Queues a report for each block that has become complete and may be reported.
    #[inline(never)]
    pub(super) fn tell_blocks(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        for (number, block) in (self.first..).zip(&mut self.blocks) {
            let is_whole = block.state == State::Whole;
            // In ascending order, a complete block waits for all blocks before it.
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

    /// Returns the next complete block to report.
    pub(crate) fn next_block(&mut self) -> Option<BlockRange> {
        self.reader.as_mut()?.news.pop_front()
    }

    /// Records that the application has read `bytes` more bytes of the reported blocks.
    pub(crate) fn consume(&mut self, bytes: u64) {
        if let Some(reader) = &mut self.reader {
            // An application cannot read more than was reported to it, so the number is limited.
            reader.consumed = reader.consumed.saturating_add(bytes).min(reader.told);
            self.openable = reader.openable(&self.object);
        }
    }

    /// Processes a symbol or a trimmed header of a block that is not open. The window may not admit the block yet.
    /// The symbol is dropped, and requested again later. Returns `false` if the symbol is invalid.
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
            // Pushed symbols do not count as requested. The number of entries limits the memory.
            if !header.syn && reader.missed.len() < MAX_WINDOW as usize {
                *reader.missed.entry(header.block).or_default() += 1;
            }
        } else {
            reader.asks = Some(from);
        }
        true
    }

    /// Records that a source sent a symbol of a block that needs no symbols.
    /// This receiver may expect no further symbols, because the application reads slowly or decoding takes long.
    /// A source without requests may have had a timeout and need an answer.
    #[inline]
    pub(super) fn note_question(&mut self, from: usize, to_group: bool) {
        if self.has_reader() && !to_group {
            let expects = self.is_in_need() || self.sources.iter().any(Source::owes);
            if let Some(reader) = self.reader.as_mut().filter(|_| !expects) {
                reader.asks = Some(from);
            }
        }
    }

    /// Counts symbols of the newly opened block at `place`.
    /// The counted symbols were sent to the group while the window did not admit the block.
    pub(super) fn count_missed(&mut self, place: usize) {
        let number = self.first + place as u32;
        let missed = self.reader.as_mut().map(|reader| &mut reader.missed);
        let missed = missed.and_then(|missed| missed.remove(&number));
        // A group has a single sender.
        if let (Some(missed), [source]) = (missed, &mut *self.sources) {
            source.count_as_asked(place, missed);
        }
    }

    /// Returns a pull for a source that had a timeout.
    /// The pull shows that the session continues, and which blocks are complete. The pull requests nothing new.
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
