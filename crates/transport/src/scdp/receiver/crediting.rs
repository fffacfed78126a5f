//! A receiver that gives credits ([`Mode::Credit`](crate::scdp::Mode::Credit)): each source has
//! a window, and owes symbols of blocks that are assigned to it.

use super::Receiver;
use crate::scdp::common::block::State;
use crate::scdp::common::codec::Codec;
use crate::scdp::common::header::{CreditHeader, MAX_ESI, ScdpHeader};
use crate::scdp::common::limits::MAX_WINDOW;
use crate::scdp::config::ScdpConfig;
use crate::scdp::credit::control::Arrival;
use crate::scdp::credit::credits::{Balance, Use};
use crate::scdp::credit::line::Line;
use crate::{Condition, Ecn, Header, Segment};
use tailcut_units::{Duration, Time};

impl Receiver {
    /// Whether it gives credits.
    #[inline]
    pub(crate) fn gives_credits(&self) -> bool {
        !self.lines.is_empty()
    }

    /// What has become of the symbols that the source of a segment was asked for.
    pub(crate) fn balance(&self, segment: &Segment) -> Option<Balance> {
        let from = (segment.tuple.src, segment.tuple.src_port);
        let mut all = self.sources.iter().zip(&self.lines);
        let source = all.find(|(source, _)| {
            (source.tuple.dst, source.tuple.dst_port) == from && source.session == segment.flow
        });
        source.map(|(_, line)| line.credits.balance())
    }

    /// Credits of the last pull: what they ask for arrives on the host's link.
    pub(crate) fn last_credits(&self) -> u32 {
        self.last_credits
    }

    /// A symbol arrives, or its header. Says whether it can be.
    pub(super) fn on_credit_symbol<C: Codec>(
        &mut self,
        now: Time,
        from: usize,
        segment: &Segment,
        header: &ScdpHeader,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        if header.block >= self.object.blocks() || header.esi >= MAX_ESI || header.syn {
            return false;
        }
        self.in_group |= segment.tuple.dst.is_group();
        if self.complete {
            self.heard_at = now;
            return true;
        }
        let trimmed = segment.condition == Condition::Trimmed;
        let arrival = Arrival {
            now,
            number: header.pull,
            round_trip: None,
            stamp: header.count,
            marked: trimmed || segment.ecn == Ecn::Marked,
            may_grow: false,
        };
        let Some(used) = self.lines[from].on_symbol(&arrival, header.block) else {
            return false;
        };
        self.heard_at = now;
        self.receipt.symbols += 1;
        let place = self.place_of(header.block);
        if used != Use::Late {
            self.lines[from].count(place);
        }
        if let Some(place) = place {
            let block = &mut self.blocks[place];
            let enough = block.state != State::Receiving;
            let mut new = false;
            if !trimmed && block.state != State::Whole {
                new = block.insert(header.esi);
                self.decode(now, place, codec);
            }
            self.receipt.in_vain += u32::from(enough || (!trimmed && !new));
            if new && used == Use::Late {
                // It was not lost after all.
                self.lines[from].count(Some(place));
                self.lines[from].credits.on_spurious();
            }
            self.settle_block(place);
        } else {
            self.receipt.in_vain += 1;
        }
        let lost = self.lines[from].find_lost(now);
        self.on_lost(lost, config);
        self.pass_on_from(place);
        true
    }

    /// The place of a block that is not whole: those up to it are opened, as far as they may be. A group is
    /// sent what others have asked for.
    fn place_of(&mut self, block: u32) -> Option<usize> {
        let place = block.checked_sub(self.first)?;
        if block >= self.openable || place >= MAX_WINDOW {
            return None;
        }
        while self.blocks.len() <= place as usize {
            self.open_block();
        }
        Some(place as usize)
    }

    /// What sources owe of a block is no more than it needs.
    fn settle_block(&mut self, place: usize) {
        let needs = self.blocks[place].needs();
        if needs == 0 {
            self.lines.iter_mut().for_each(|line| line.cancel(place));
            return;
        }
        if let [only] = &mut *self.lines {
            let spare = only.assigned(place).saturating_sub(needs);
            only.take_back(place, spare);
            return;
        }
        let mut spare = self.assigned(place).saturating_sub(needs);
        while spare > 0 {
            let most = self
                .lines
                .iter_mut()
                .max_by_key(|line| line.assigned(place));
            let Some(line) = most else { return };
            line.take_back(place, 1);
            spare -= 1;
        }
    }

    /// Symbols of the block at `place` that are to come.
    #[inline]
    fn assigned(&self, place: usize) -> u32 {
        if let [only] = &*self.lines {
            return only.assigned(place);
        }
        self.lines.iter().map(|line| line.assigned(place)).sum()
    }

    /// Symbols are lost: where nothing else can be fetched meanwhile, a failure to decode would cost a round
    /// trip.
    fn on_lost(&mut self, lost: u32, config: &ScdpConfig) {
        if lost > 0 && !self.has_unopened() {
            let mut open = self.blocks.iter_mut();
            if let Some(block) = open.find(|block| block.state == State::Receiving) {
                block.on_loss(config.overhead);
            }
        }
    }

    /// A source tells how many symbols it has sent, and may ask for a word.
    pub(crate) fn on_status(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
        config: &ScdpConfig,
    ) -> bool {
        let from = self
            .source_of(&segment.tuple)
            .filter(|&from| from < self.lines.len());
        let Some(from) = from.filter(|&from| self.sources[from].session == segment.flow) else {
            return false;
        };
        self.heard_at = now;
        if !self.complete {
            let lost = self.lines[from].on_status(now, header.pull, header.syn);
            self.on_lost(lost, config);
        }
        true
    }

    /// The source repeats its offer: it may not know that the session stands.
    pub(crate) fn on_offer_again(&mut self, now: Time, segment: &Segment) -> bool {
        let from = self
            .source_of(&segment.tuple)
            .filter(|&from| from < self.lines.len());
        let Some(from) = from.filter(|&from| self.sources[from].session == segment.flow) else {
            return false;
        };
        self.heard_at = now;
        self.lines[from].hear(now);
        self.lines[from].has_news = true;
        true
    }

    /// The first block from the place `from` on that needs symbols which no source owes.
    #[inline]
    fn unassigned(&self, from: usize) -> Option<usize> {
        let places = from.min(self.blocks.len())..self.blocks.len();
        let mut blocks = self.blocks.range(places.clone()).zip(places);
        blocks
            .find(|(block, place)| block.needs() > self.assigned(*place))
            .map(|(_, place)| place)
    }

    /// Whether symbols are needed that no source owes.
    #[inline]
    fn has_unassigned(&self) -> bool {
        self.may_open() || self.unassigned(0).is_some()
    }

    /// Within what time a source of several is to answer: twice what the fastest takes.
    fn patience(&self) -> Option<Duration> {
        let heard = self.lines.iter().filter(|line| !line.is_silent());
        let fastest = heard.filter_map(|line| line.control.round_trip()).min()?;
        Some(fastest * 2)
    }

    /// Where nothing is needed beside what sources owe: a block of which one that is behind owes some,
    /// and that source.
    fn overdue(&self, now: Time) -> Option<(usize, usize)> {
        let patience = self.patience()?;
        let is_behind = |line: &&Line| line.is_behind(now, patience);
        if !self.lines.iter().any(|line| is_behind(&line)) {
            return None;
        }
        let places = 0..self.blocks.len();
        places.into_iter().find_map(|place| {
            let owes = |line: &Line| line.assigned(place) > 0 && is_behind(&line);
            Some((place, self.lines.iter().position(owes)?))
        })
    }

    /// Whether the source at `at` may be asked for more.
    #[inline]
    fn can_ask(&self, now: Time, at: usize, unassigned: bool) -> bool {
        let line = &self.lines[at];
        if line.must_pull() {
            return true;
        }
        let room = line.has_room(now);
        if line.lacks_credit() && room {
            return true;
        }
        if self.lines.len() == 1 {
            return unassigned && (room || line.has_spare_credit());
        }
        let others = self.lines.iter().any(|line| !line.is_silent());
        if (line.is_silent() && others) || !(room || line.has_spare_credit()) {
            return false;
        }
        unassigned || self.may_take_over(now, at)
    }

    /// Whether the source at `at` may send what one that is behind owes.
    fn may_take_over(&self, now: Time, at: usize) -> bool {
        let patience = self.patience();
        patience.is_some_and(|patience| !self.lines[at].is_behind(now, patience))
            && !self.lines[at].is_silent()
            && self.overdue(now).is_some_and(|(_, behind)| behind != at)
    }

    /// The source that is asked next.
    #[inline]
    fn next_line(&self, now: Time) -> Option<usize> {
        let unassigned = self.has_unassigned();
        if self.lines.len() == 1 {
            return self.can_ask(now, 0, unassigned).then_some(0);
        }
        let count = self.lines.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&at| self.can_ask(now, at, unassigned))
    }

    #[inline]
    pub(super) fn can_give(&self, now: Time) -> bool {
        self.next_line(now).is_some()
    }

    /// Assigns one symbol more to the source at `at`, if one is needed. Blocks before the place `from` need
    /// none; what is found is the next `from`.
    fn assign(&mut self, now: Time, at: usize, from: &mut usize) -> bool {
        if let Some(place) = self.unassigned(*from) {
            self.lines[at].assign(now, place, 1, false);
            *from = place;
            return true;
        }
        *from = self.blocks.len();
        if self.may_open() {
            self.open_block();
            let place = self.blocks.len() - 1;
            if self.blocks[place].needs() > self.assigned(place) {
                self.lines[at].assign(now, place, 1, false);
            }
            return true;
        }
        if self.lines.len() == 1 || !self.may_take_over(now, at) {
            return false;
        }
        let Some((place, behind)) = self.overdue(now) else {
            return false;
        };
        self.lines[behind].take_back(place, 1);
        self.lines[at].assign(now, place, 1, false);
        true
    }

    /// A pull that gives the next source as many credits as it has room for. To be called only if one may be
    /// sent.
    pub(super) fn give(&mut self, now: Time) -> Segment {
        let at = self.next_line(now).unwrap_or(0);
        let several = self.lines.len() > 1;
        let window = self.lines[at].control.window();
        let batch = self.lines[at].control.batch();
        let paced = self.lines[at].paced(now);
        let most = match several {
            // Others have their turn.
            true => batch,
            false => window,
        }
        .min(paced);
        let (mut credits, mut renewed, mut from) = (0, 0, 0);
        let is_held = loop {
            let line = &self.lines[at];
            let in_flight = line.credits.in_flight() + credits;
            let has_room = in_flight < window && credits < most;
            if line.total() > in_flight {
                if !has_room {
                    break true;
                }
                credits += 1;
            } else {
                let spare = in_flight > line.total();
                if !spare && !has_room {
                    break true;
                }
                if !self.assign(now, at, &mut from) {
                    break false;
                }
                renewed += u32::from(spare);
            }
        };
        let room = window.saturating_sub(self.lines[at].credits.in_flight() + credits);
        let limited = is_held && (room < batch || credits >= paced);
        let first = self.first;
        let header = self.lines[at].pull(now, first, (credits, renewed, limited));
        self.last_credits = credits;
        self.turn = (at + 1) % self.lines.len();
        let fin = !self.has_unopened() && !self.has_unassigned();
        let header = CreditHeader {
            fin: fin && !self.lines[at].lacks_credit(),
            ..header
        };
        self.control(at, Header::Credit(header))
    }

    /// When a source is overdue first, or late where another could take over.
    pub(super) fn lines_due_at(&self, now: Time, config: &ScdpConfig) -> Option<Time> {
        let due = |line: &Line| {
            // One of several may be to send what another owes.
            let held = line
                .held_until(now)
                .filter(|_| self.lines.len() > 1 || line.lacks_credit() || self.has_unassigned());
            Time::earlier(line.overdue_at(config), held)
        };
        let overdue = self.lines.iter().filter_map(due).min();
        if self.lines.len() == 1 || self.in_pull_queue || self.has_unassigned() {
            return overdue;
        }
        let late = self.patience().and_then(|patience| {
            let at = self
                .lines
                .iter()
                .filter_map(|line| line.silent_at(patience));
            at.filter(|at| *at > now).min()
        });
        Time::earlier(overdue, late)
    }

    /// Asks sources that are overdue whether anything comes. Says whether the session goes on.
    pub(super) fn ask_overdue(&mut self, now: Time, config: &ScdpConfig) -> bool {
        for line in &mut self.lines {
            if line.overdue_at(config).is_some_and(|at| at <= now) {
                line.on_timeout(now);
            }
        }
        let given_up = |line: &Line| line.timeouts > config.max_timeouts;
        !self.lines.iter().all(given_up)
    }
}
