//! What a receiver asks for, and of which of its sources.

use super::Receiver;
use crate::scdp::common::block::{Block, State};
use crate::scdp::common::header::{ScdpHeader, ScdpKind};
use crate::scdp::config::ScdpConfig;
use crate::scdp::paper::source::{Judge, Source};
use crate::{Condition, Ecn, Header, Segment};
use alloc::vec::Vec;
use tailcut_units::Time;

impl Receiver {
    /// Whether a pull may be sent: symbols are needed, and some source has less than its window of
    /// them on its way; or what is owed is late, and another source has room for it.
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

    /// Whether a pull is to be sent again: a group has one sender.
    #[inline]
    fn lacks_pull(&self) -> bool {
        self.in_group && self.sources[0].lacks_pull()
    }

    /// The source whose turn it is. One that owes symbols for too long is not asked while others
    /// are there; what it still sends is welcome, and brings it back.
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

    /// The source to ask for a symbol of the block at `place`, if any has room: one that has
    /// source symbols of it left, if it can be, so that the block need not be decoded.
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

    /// Where nothing is needed beside what is on its way, and there are several sources: whether
    /// some of that is late. Gives the block to ask for a symbol of, and the source to ask.
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
    pub(super) fn is_in_need(&self) -> bool {
        self.may_open() || self.lacks_symbols()
    }

    #[inline]
    fn lacks_symbols(&self) -> bool {
        self.blocks.iter().any(|block| block.needs() > 0)
    }

    /// Whether there is a block that nothing has been asked of, and room for it.
    #[inline]
    pub(super) fn may_open(&self) -> bool {
        self.first + (self.blocks.len() as u32) < self.openable
    }

    /// Whether there are blocks that nothing has been asked of.
    #[inline]
    pub(super) fn has_unopened(&self) -> bool {
        self.first + (self.blocks.len() as u32) < self.object.blocks()
    }

    /// A pull, for the first block that needs a symbol. To be called only if one may be sent.
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
            // It will have to be decoded.
            block.on_loss(config.overhead);
        }
        self.pull_of(now, at, number, pull)
    }

    /// The pull that was just counted at a source, for a block of which so many symbols were asked
    /// of it.
    pub(super) fn pull_of(&self, now: Time, source: usize, block: u32, pull: u32) -> Segment {
        let is_last = !self.has_unopened() && !self.lacks_symbols();
        let header = ScdpHeader {
            kind: ScdpKind::Pull,
            fin: is_last && !self.lacks_pull() && !self.is_overdue(now),
            block,
            pull,
            count: self.sources[source].pulls(),
            blocks: self.first,
            ..ScdpHeader::default()
        };
        self.control(source, Header::Scdp(header))
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

    /// Of several sources: once there is enough of every block, and decoding is all that is left:
    /// the word for each source that still owes symbols that they are not needed.
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
            words.push(self.control(at, Header::Scdp(header)));
        }
        words
    }

    /// The word that the object is whole, for each source.
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
            priority: 0,
            path: self.pin,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header,
        }
    }

    /// When the next source is late with something that may then be asked of another.
    #[inline(never)]
    pub(super) fn late_at(&self, now: Time) -> Option<Time> {
        let judge = self.judge(now)?;
        let sources = self.sources.iter();
        sources
            .filter_map(|source| source.next_late_at(judge))
            .min()
    }
}
