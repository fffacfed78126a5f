//! Receiver in credit mode ([`Mode::Credit`](crate::scdp::Mode::Credit)).
//! Each source has a window, and each needed symbol is assigned to one source.

use super::Receiver;
use crate::scdp::common::block::State;
use crate::scdp::common::codec::Codec;
use crate::scdp::common::header::{CreditHeader, MAX_ESI, ScdpHeader};
use crate::scdp::common::limits::MAX_WINDOW;
use crate::scdp::config::ScdpConfig;
use crate::scdp::credit::control::Arrival;
use crate::scdp::credit::credited_sender::CreditedSender;
use crate::scdp::credit::credits::{Balance, Use};
use crate::{Condition, Ecn, Header, Segment};
use tailcut_units::{Duration, Time};

impl Receiver {
    /// Returns whether the receiver is in credit mode.
    #[inline]
    pub(crate) fn gives_credits(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns the counts of the symbols that were requested from the source of a segment.
    pub(crate) fn balance(&self, segment: &Segment) -> Option<Balance> {
        let from = (segment.tuple.src, segment.tuple.src_port);
        let mut all = self.sources.iter().zip(&self.lines);
        let source = all.find(|(source, _)| {
            (source.tuple.dst, source.tuple.dst_port) == from && source.session == segment.flow
        });
        source.map(|(_, line)| line.credits.balance())
    }

    /// Returns the number of credits in the last pull.
    /// The pull queue reserves time for the credits of a pull, because the requested symbols will use the host's link.
    pub(crate) fn last_credits(&self) -> u32 {
        self.last_credits
    }

    /// Processes a symbol or a trimmed header. Returns `false` if it is invalid.
    pub(super) fn on_credit_symbol<C: Codec>(
        &mut self,
        now: Time,
        from: usize,
        segment: &Segment,
        header: &ScdpHeader,
        codec: &mut C,
        config: &ScdpConfig,
    ) -> bool {
        // In credit mode an offer opens the session, so a valid symbol never has SYN.
        if header.block >= self.object.blocks() || header.esi >= MAX_ESI || header.syn {
            return false;
        }
        self.in_group |= segment.tuple.dst.is_group();
        if self.complete {
            self.heard_at = now;
            return true;
        }
        let trimmed = segment.condition == Condition::Trimmed;
        // Only `CreditedSender` can compute the round trip and `may_grow`, so it sets these two values.
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
                // The symbol was not lost, although the receiver had counted it as lost.
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

    /// Returns the position of a block that is not complete. Opens all blocks up to this block, if allowed.
    /// A group also gets symbols that other receivers have requested.
    fn place_of(&mut self, block: u32) -> Option<usize> {
        let place = block.checked_sub(self.first)?;
        // The second limit bounds the number of open blocks for any block number that a packet contains.
        if block >= self.openable || place >= MAX_WINDOW {
            return None;
        }
        while self.blocks.len() <= place as usize {
            self.open_block();
        }
        Some(place as usize)
    }

    /// Reduces the assigned symbols of a block to the number that it needs.
    fn settle_block(&mut self, place: usize) {
        let needs = self.blocks[place].needs();
        if needs == 0 {
            self.lines.iter_mut().for_each(|line| line.cancel(place));
            return;
        }
        // Only a complete block causes an immediate pull (`cancel`). A smaller need can wait for the next pull.
        if let [only] = &mut *self.lines {
            let spare = only.assigned(place).saturating_sub(needs);
            only.take_back(place, spare);
            return;
        }
        // Symbols are withdrawn one by one from the source with most symbols, so that all sources keep some symbols.
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

    /// Returns the number of assigned symbols of the block at `place`.
    #[inline]
    fn assigned(&self, place: usize) -> u32 {
        if let [only] = &*self.lines {
            return only.assigned(place);
        }
        self.lines.iter().map(|line| line.assigned(place)).sum()
    }

    /// Processes lost symbols. If all blocks are open, the first incomplete block gets extra symbols.
    /// Without the extra symbols, a failed decoding would cost a round trip in which nothing else can be requested.
    fn on_lost(&mut self, lost: u32, config: &ScdpConfig) {
        if lost > 0 && !self.has_unopened() {
            let mut open = self.blocks.iter_mut();
            if let Some(block) = open.find(|block| block.state == State::Receiving) {
                block.on_loss(config.overhead);
            }
        }
    }

    /// Processes a status: a source reports the number of symbols that it has sent, and may request an answer.
    pub(crate) fn on_status(
        &mut self,
        now: Time,
        segment: &Segment,
        header: &ScdpHeader,
        config: &ScdpConfig,
    ) -> bool {
        // A status of an older session, or of a source without credit state, is ignored.
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

    /// Processes a repeated offer. The source may have received no answer so far.
    pub(crate) fn on_offer_again(&mut self, now: Time, segment: &Segment) -> bool {
        let from = self
            .source_of(&segment.tuple)
            .filter(|&from| from < self.lines.len());
        let Some(from) = from.filter(|&from| self.sources[from].session == segment.flow) else {
            return false;
        };
        self.heard_at = now;
        self.lines[from].hear(now);
        // The repeated offer gets an answer, although nothing has changed.
        self.lines[from].has_news = true;
        true
    }

    /// Returns the position of the first block, at `from` or later, that needs symbols not assigned to any source.
    #[inline]
    fn unassigned(&self, from: usize) -> Option<usize> {
        let places = from.min(self.blocks.len())..self.blocks.len();
        let mut blocks = self.blocks.range(places.clone()).zip(places);
        blocks
            .find(|(block, place)| block.needs() > self.assigned(*place))
            .map(|(_, place)| place)
    }

    /// Returns whether there are needed symbols that are not assigned to any source.
    #[inline]
    fn has_unassigned(&self) -> bool {
        self.may_open() || self.unassigned(0).is_some()
    }

    /// Returns the time within which each of several sources should answer: twice the round trip of the fastest source.
    fn patience(&self) -> Option<Duration> {
        let heard = self.lines.iter().filter(|line| !line.is_silent());
        let fastest = heard.filter_map(|line| line.control.round_trip()).min()?;
        Some(fastest * 2)
    }

    /// Returns a block with symbols that are assigned to a late source, and the position of that source.
    /// The search applies when all needed symbols are assigned.
    fn overdue(&self, now: Time) -> Option<(usize, usize)> {
        let patience = self.patience()?;
        let is_behind = |line: &&CreditedSender| line.is_behind(now, patience);
        // Usually no source is late, and this check avoids the search through the blocks.
        if !self.lines.iter().any(|line| is_behind(&line)) {
            return None;
        }
        let places = 0..self.blocks.len();
        places.into_iter().find_map(|place| {
            let owes = |line: &CreditedSender| line.assigned(place) > 0 && is_behind(&line);
            Some((place, self.lines.iter().position(owes)?))
        })
    }

    /// Returns whether a pull may request more symbols from the source at `at`.
    #[inline]
    fn can_ask(&self, now: Time, at: usize, unassigned: bool) -> bool {
        let line = &self.lines[at];
        if line.must_pull() {
            return true;
        }
        let room = line.has_room(now);
        // Symbols without a credit are assigned already, so even a silent source gets the credits for them.
        if line.lacks_credit() && room {
            return true;
        }
        if self.lines.len() == 1 {
            return unassigned && (room || line.has_spare_credit());
        }
        // A silent source gets no further symbols while another source answers.
        let others = self.lines.iter().any(|line| !line.is_silent());
        if (line.is_silent() && others) || !(room || line.has_spare_credit()) {
            return false;
        }
        unassigned || self.may_take_over(now, at)
    }

    /// Returns whether the source at `at` may replace symbols of a late source.
    fn may_take_over(&self, now: Time, at: usize) -> bool {
        let patience = self.patience();
        patience.is_some_and(|patience| !self.lines[at].is_behind(now, patience))
            && !self.lines[at].is_silent()
            && self.overdue(now).is_some_and(|(_, behind)| behind != at)
    }

    /// Returns the source that receives the next pull, if any.
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

    /// Assigns one more symbol to the source at `at`. Returns `false` if no symbol is needed.
    /// The search starts at the position `from` and updates it. No block before `from` needs symbols.
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
            // A new block needs at least one symbol, and no symbol of it is assigned yet.
            self.lines[at].assign(now, place, 1, false);
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

    /// Returns a pull that gives the next source as many credits as the window and the pace admit.
    /// The caller has checked that a pull may be sent.
    pub(super) fn give(&mut self, now: Time) -> Segment {
        let at = self.next_line(now).unwrap_or(0);
        let several = self.lines.len() > 1;
        let window = self.lines[at].control.window();
        let batch = self.lines[at].control.batch();
        let paced = self.lines[at].paced(now);
        let most = match several {
            // The pull gives only one batch, so that the other sources also get their turns.
            true => batch,
            false => window,
        }
        .min(paced);
        let (mut credits, mut renewed, mut from) = (0, 0, 0);
        let is_held = loop {
            let line = &self.lines[at];
            let in_flight = line.credits.in_flight() + credits;
            let has_room = in_flight < window && credits < most;
            // A symbol without a credit is assigned to the source, so the source gets a credit.
            if line.total() > in_flight {
                if !has_room {
                    break true;
                }
                credits += 1;
            } else {
                // All assigned symbols have credits. A new symbol uses a spare credit, if the source has one.
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
        // The window may grow only while it limits the receiver.
        // A window that admits less than a batch counts as full, because no pull leaves for so few symbols.
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

    /// Returns the earliest time at which a source is overdue, or another source can replace its late symbols.
    pub(super) fn lines_due_at(&self, now: Time, config: &ScdpConfig) -> Option<Time> {
        let due = |line: &CreditedSender| {
            // With several sources, this source may have to replace symbols of another source.
            let held = line
                .held_until(now)
                .filter(|_| self.lines.len() > 1 || line.lacks_credit() || self.has_unassigned());
            Time::earlier(line.overdue_at(config), held)
        };
        let overdue = self.lines.iter().filter_map(due).min();
        // Another source replaces late symbols only if all needed symbols are assigned and no pull waits.
        if self.lines.len() == 1 || self.in_pull_queue || self.has_unassigned() {
            return overdue;
        }
        let late = self.patience().and_then(|patience| {
            let at = self
                .lines
                .iter()
                .filter_map(|line| line.silent_at(patience));
            // If the time were in the past, the timer would expire again immediately.
            at.filter(|at| *at > now).min()
        });
        Time::earlier(overdue, late)
    }

    /// Sends probes to overdue sources. Returns `false` if the session has failed.
    pub(super) fn ask_overdue(&mut self, now: Time, config: &ScdpConfig) -> bool {
        for line in &mut self.lines {
            if line.overdue_at(config).is_some_and(|at| at <= now) {
                line.on_timeout(now);
            }
        }
        let given_up = |line: &CreditedSender| line.timeouts > config.max_timeouts;
        !self.lines.iter().all(given_up)
    }
}
