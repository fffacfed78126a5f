//! Selection of the symbols that a receiver requests, and of the source for each.

use super::Receiver;
use crate::scdp::common::block::{Block, State};
use crate::scdp::common::header::{ScdpHeader, ScdpKind};
use crate::scdp::config::ScdpConfig;
use crate::scdp::paper::source::{Judge, Source};
use crate::{Condition, Ecn, Header, Segment};
use alloc::vec::Vec;
use tailcut_units::Time;

impl Receiver {
    /// Returns whether a pull may be sent.
    /// A pull may be sent in two cases:
    /// Symbols are needed, and the window of a source is not full.
    /// Or symbols are late, and another source can replace them.
    #[inline]
    pub(crate) fn can_pull(&self, now: Time) -> bool {
        if self.complete {
            return false;
        }
        if self.gives_credits() {
            return self.can_give(now);
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

    /// Returns whether a pull must be repeated. This happens only in a group, which has one sender.
    #[inline]
    fn lacks_pull(&self) -> bool {
        self.in_group && self.sources[0].lacks_pull()
    }

    /// Returns the source whose turn it is. A silent source is skipped while other sources answer.
    /// When a packet arrives from a silent source, this source gets its turns again.
    #[inline]
    fn next_source(&self) -> Option<usize> {
        if let [only] = &*self.sources {
            return only.has_room().then_some(0);
        }
        self.next_source_that(|_| true)
    }

    /// Returns the next source for which `may` returns true. Sources take turns.
    fn next_source_that(&self, may: impl Fn(&Source) -> bool) -> Option<usize> {
        // If all sources are silent, no source is skipped. Otherwise nothing could be requested any more.
        let all_silent = self.sources.iter().all(Source::is_silent);
        let count = self.sources.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&at| {
                let source = &self.sources[at];
                source.has_room() && (all_silent || !source.is_silent()) && may(source)
            })
    }

    /// Returns the source for a symbol of the block at `place`, if the window of any source is not full.
    /// Sources that have source symbols of this block come first, because source symbols need no decoding.
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

    /// Returns the criteria for late sources, if there are several.
    /// A source is late after twice the answer time of the fastest source.
    fn judge(&self, now: Time) -> Option<Judge> {
        let answers_in = self.sources.iter().filter_map(Source::answers_in);
        let fastest = answers_in.min()?;
        let patience = fastest * 2;
        Some(Judge { now, patience })
    }

    /// Returns the block and the source for a request that replaces a late symbol.
    /// Late symbols are replaced in sessions with several sources, after all needed symbols have been requested.
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

    /// Returns whether a symbol is needed that was not yet requested.
    #[inline]
    pub(super) fn is_in_need(&self) -> bool {
        self.may_open() || self.lacks_symbols()
    }

    #[inline]
    fn lacks_symbols(&self) -> bool {
        self.blocks.iter().any(|block| block.needs() > 0)
    }

    /// Returns whether a block may be opened now.
    #[inline]
    pub(super) fn may_open(&self) -> bool {
        self.first + (self.blocks.len() as u32) < self.openable
    }

    /// Returns whether some blocks are not open yet.
    #[inline]
    pub(super) fn has_unopened(&self) -> bool {
        self.first + (self.blocks.len() as u32) < self.object.blocks()
    }

    /// Returns a pull for the first block that needs a symbol. The caller has checked that a pull may be sent.
    pub(crate) fn pull(&mut self, now: Time, config: &ScdpConfig) -> Segment {
        if self.gives_credits() {
            return self.give(now);
        }
        if self.lacks_pull() {
            let asked = self.sources[0].pull_again(now);
            return self.pull_of(now, 0, self.first, asked);
        }
        let needed = self.blocks.iter().position(|block| block.needs() > 0);
        let overdue = match needed {
            None if self.has_several_sources() && !self.may_open() => self.find_overdue(now),
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
            // The answer will be a repair symbol, so the block will have to be decoded.
            block.on_loss(config.overhead);
        }
        self.pull_of(now, at, number, pull)
    }

    /// Returns the pull that was just counted at a source.
    /// `pull` is the number of symbols of the block that were requested from this source.
    pub(super) fn pull_of(&self, now: Time, source: usize, block: u32, pull: u32) -> Segment {
        let is_last = !self.has_unopened() && !self.lacks_symbols();
        let header = ScdpHeader {
            kind: ScdpKind::Pull,
            // This pull is not the last pull if a repeated pull, or a pull for a late symbol, must follow.
            fin: is_last && !self.lacks_pull() && !self.is_overdue(now),
            block,
            pull,
            count: self.sources[source].pulls(),
            blocks: self.first,
            ..ScdpHeader::default()
        };
        self.control(source, Header::Scdp(header))
    }

    /// Returns whether another source should replace a late symbol.
    #[inline]
    fn is_overdue(&self, now: Time) -> bool {
        self.has_several_sources() && self.find_overdue(now).is_some()
    }

    /// Returns whether there are several sources, so that one source can replace another.
    #[inline]
    pub(crate) fn has_several_sources(&self) -> bool {
        self.sources.len() > 1
    }

    /// Returns a pull for each source with pending symbols, when all blocks have enough symbols. Only decoding remains.
    /// The pulls report that the pending symbols are not needed.
    pub(crate) fn enough(&mut self) -> Vec<Segment> {
        let receives = |block: &Block| block.state == State::Receiving;
        if self.has_unopened() || self.blocks.iter().any(receives) {
            return Vec::new();
        }
        // Pending symbols are not needed, so the session no longer waits for them.
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
                // The count of requested symbols has not grown, so this pull requests nothing new.
                pull: source.asked_of(place),
                count: source.pulls(),
                blocks: self.object.blocks(),
                ..ScdpHeader::default()
            };
            words.push(self.control(at, Header::Scdp(header)));
        }
        words
    }

    /// Returns the reports that the object is complete, one for each source.
    pub(crate) fn done(&self) -> impl Iterator<Item = Segment> {
        (0..self.sources.len()).map(|source| {
            self.control(
                source,
                Header::Scdp(ScdpHeader {
                    kind: ScdpKind::Done,
                    ..ScdpHeader::default()
                }),
            )
        })
    }

    pub(super) fn control(&self, source: usize, header: Header) -> Segment {
        Segment {
            tuple: self.sources[source].tuple,
            flow: self.sources[source].session,
            payload: 0,
            ecn: Ecn::NotCapable,
            // Pulls have the highest class, so that data in the queues does not delay them.
            priority: 0,
            path: self.pin,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header,
        }
    }

    /// Returns the earliest time at which a symbol becomes late, so that another source may replace it.
    #[inline(never)]
    pub(super) fn late_at(&self, now: Time) -> Option<Time> {
        let judge = self.judge(now)?;
        let sources = self.sources.iter();
        sources
            .filter_map(|source| source.next_late_at(judge))
            .min()
    }
}
