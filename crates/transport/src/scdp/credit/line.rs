//! What a receiver keeps of one of its senders where it gives credits.

use super::config::CreditConfig;
use super::control::{Arrival, Controller};
use super::credits::{Credits, Use};
use crate::scdp::common::header::{CreditHeader, WANTS, Want};
use crate::scdp::config::ScdpConfig;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Pulls that tell again what is owed after a loss, at once. With many open blocks and many losses, all of it would be
/// more pulls than symbols.
const RETELLS: u8 = 2;

/// What is asked of a sender of one block.
#[derive(Clone, Copy, Default, Debug)]
struct Assigned {
    /// Symbols that are to come.
    symbols: u32,
    /// Whether the sender has not been told.
    untold: bool,
    /// Whether some of them may be lost since it was told.
    stale: bool,
}

/// One sender. What is asked of it is told as counts from a credit on, so that which of its symbols are
/// lost need not be known.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) credits: Credits,
    pub(crate) control: Controller,
    /// By block, from the first open one on.
    assigned: VecDeque<Assigned>,
    /// All of those symbols.
    total: u32,
    /// Whether the sender is to be told something, with a credit or without.
    pub(crate) has_news: bool,
    /// Whether any block is stale.
    has_stale: bool,
    /// Pulls that may leave at once to tell of stale blocks.
    retells: u8,
    /// Whether the next pull asks for a word.
    probe_due: bool,
    /// When the last pull left that did.
    probed_at: Time,
    /// Timeouts in a row.
    pub(crate) timeouts: u32,
    /// The same since a symbol came: each waits twice as long.
    fruitless: u32,
    /// Whether the window or its pace held the last pull back.
    limited: bool,
    /// When the next credit may leave.
    paced_to: Time,
    waits_since: Time,
    pub(crate) heard_at: Time,
    /// Since when it owes something.
    owes_since: Time,
    /// The block that is told next where a pull has room, beside those that must be.
    turn: usize,
}

impl Line {
    /// A sender that pushes `pushed` symbols, when `open` blocks are open.
    pub(crate) fn new(
        now: Time,
        pushed: u32,
        open: usize,
        credit: CreditConfig,
        timeout: Duration,
    ) -> Self {
        Self {
            credits: Credits::new(pushed),
            control: Controller::new(credit, now, pushed, timeout),
            assigned: (0..open).map(|_| Assigned::default()).collect(),
            total: 0,
            has_news: false,
            has_stale: false,
            retells: 0,
            probe_due: false,
            probed_at: Time::ZERO,
            timeouts: 0,
            fruitless: 0,
            limited: false,
            paced_to: now,
            waits_since: now,
            heard_at: now,
            owes_since: now,
            turn: 0,
        }
    }

    pub(crate) fn open_block(&mut self) {
        self.assigned.push_back(Assigned::default());
    }

    pub(crate) fn close_block(&mut self) {
        if let Some(assigned) = self.assigned.pop_front() {
            self.total -= assigned.symbols;
        }
    }

    /// Symbols of the block at `place` that are to come from it.
    #[inline]
    pub(crate) fn assigned(&self, place: usize) -> u32 {
        self.assigned.get(place).map_or(0, |one| one.symbols)
    }

    /// It is to send one more of the block at `place`. It has been told so already if it `pushes`.
    pub(crate) fn assign(&mut self, now: Time, place: usize, symbols: u32, pushes: bool) {
        if self.total == 0 {
            self.owes_since = now;
        }
        if let Some(one) = self.assigned.get_mut(place) {
            one.symbols += symbols;
            one.untold |= !pushes;
            self.total += symbols;
        }
    }

    /// It need not send so many of the block at `place`.
    pub(crate) fn take_back(&mut self, place: usize, symbols: u32) -> u32 {
        let Some(one) = self.assigned.get_mut(place) else {
            return 0;
        };
        let taken = one.symbols.min(symbols);
        one.symbols -= taken;
        one.untold |= taken > 0;
        self.total -= taken;
        taken
    }

    /// The block at `place` needs nothing more: what it owes of that is to be told.
    pub(crate) fn cancel(&mut self, place: usize) {
        self.has_news |= self.take_back(place, u32::MAX) > 0;
    }

    /// A symbol of the block at `place` has come, if that is open.
    pub(crate) fn count(&mut self, place: Option<usize>) {
        let one = place.and_then(|place| self.assigned.get_mut(place));
        if let Some(one) = one.filter(|one| one.symbols > 0) {
            one.symbols -= 1;
            self.total -= 1;
        }
    }

    /// Symbols that are to come from it.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    /// Whether it owes symbols for which it has no credit.
    #[inline]
    pub(crate) fn lacks_credit(&self) -> bool {
        self.total > self.credits.in_flight()
    }

    /// Whether it holds credits for which nothing is asked.
    #[inline]
    pub(crate) fn has_spare_credit(&self) -> bool {
        self.total < self.credits.in_flight()
    }

    /// Whether the window has room for as many credits as a pull gives.
    #[inline]
    fn has_window(&self) -> bool {
        let in_flight = self.credits.in_flight();
        let room = self.control.window().saturating_sub(in_flight);
        room >= self.control.batch() || (in_flight == 0 && room > 0)
    }

    /// Whether a pull may give credits now.
    #[inline]
    pub(crate) fn has_room(&self, now: Time) -> bool {
        self.has_window() && self.paced_at().is_none_or(|at| at <= now)
    }

    /// When a pull may leave as far as the pace goes.
    fn paced_at(&self) -> Option<Time> {
        let (interval, at_once) = self.control.pace()?;
        let more = self.control.batch().min(at_once) - 1;
        Some(self.paced_to.saturating_add(interval * u64::from(more)))
    }

    /// When a pull may leave for which the window has room already.
    pub(crate) fn held_until(&self, now: Time) -> Option<Time> {
        self.paced_at().filter(|at| *at > now && self.has_window())
    }

    /// Credits that the pace lets leave now.
    pub(crate) fn paced(&self, now: Time) -> u32 {
        let Some((interval, at_once)) = self.control.pace() else {
            return u32::MAX;
        };
        if now < self.paced_to {
            return 0;
        }
        let saved = now.since(self.paced_to).as_ps() / interval.as_ps();
        (saved.min(u64::from(at_once) - 1) + 1) as u32
    }

    /// Credits leave.
    fn spend(&mut self, now: Time, credits: u32) {
        let Some((interval, at_once)) = self.control.pace() else {
            self.paced_to = now;
            return;
        };
        let saved = (interval * u64::from(at_once - 1)).as_ps();
        let earliest = Time::from_ps(now.as_ps().saturating_sub(saved));
        let from = self.paced_to.max(earliest);
        self.paced_to = from.saturating_add(interval * u64::from(credits));
    }

    /// Whether a pull is to leave whatever the window.
    #[inline]
    pub(crate) fn must_pull(&self) -> bool {
        self.has_news || self.probe_due
    }

    /// Something came from it.
    pub(crate) fn hear(&mut self, now: Time) {
        self.heard_at = now;
        self.waits_since = now;
        self.timeouts = 0;
        self.probe_due = false;
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.timeouts > 0
    }

    /// A symbol has come that uses a credit. Says whether it can be, and whether it had been taken for lost
    /// or used before.
    pub(crate) fn on_symbol(&mut self, arrival: &Arrival, block: u32) -> Option<Use> {
        let used = self.credits.on_use(arrival.number, block);
        let round_trip = match used {
            Use::Nonsense => return None,
            Use::Late => {
                self.fruitless = 0;
                self.hear(arrival.now);
                return Some(used);
            }
            Use::InFlight(given_at) => given_at.map(|given_at| arrival.now.since(given_at)),
        };
        let silent = self.fruitless > 0;
        self.fruitless = 0;
        self.hear(arrival.now);
        let arrival = Arrival {
            // What was asked for before a pause says little.
            round_trip: round_trip.filter(|_| !silent),
            may_grow: self.limited,
            ..*arrival
        };
        let granted = self.credits.granted();
        self.control.on_arrival(&arrival, granted);
        self.retell(1);
        Some(used)
    }

    /// Symbols that were overtaken are lost.
    pub(crate) fn find_lost(&mut self, now: Time) -> u32 {
        let lost = self.credits.sweep();
        self.on_lost(now, lost);
        lost
    }

    /// The sender has used all credits before `sent`. `asks`: it waits for a word.
    pub(crate) fn on_status(&mut self, now: Time, sent: u32, asks: bool) -> u32 {
        // It may have overtaken symbols that were asked for not long before. One that waits for a word
        // has sent nothing for long.
        let before = if asks { Time::MAX } else { self.probed_at };
        let lost = self.credits.on_status(sent, before);
        self.hear(now);
        self.has_news |= asks;
        self.on_lost(now, lost);
        lost
    }

    fn on_lost(&mut self, now: Time, lost: u32) {
        if lost > 0 {
            let (number, granted) = (self.credits.last_lost(), self.credits.granted());
            self.control.on_lost(now, lost, number, granted);
        }
        if self.credits.advance() {
            for one in &mut self.assigned {
                one.stale |= one.symbols > 0;
                self.has_stale |= one.stale;
            }
            self.retell(RETELLS);
        }
    }

    /// So many pulls may leave at once to tell of stale blocks; the rest is told by those that leave anyway, and by one
    /// after each symbol.
    fn retell(&mut self, pulls: u8) {
        if self.has_stale {
            self.retells = self.retells.max(pulls);
            self.has_news = true;
        }
    }

    /// When what it owes is overdue; `None` where it owes nothing or holds no credit.
    pub(crate) fn overdue_at(&self, config: &ScdpConfig) -> Option<Time> {
        let owes = self.total > 0 && self.credits.in_flight() > 0;
        let span = self
            .control
            .timeout()
            .saturating_mul(1 << self.fruitless.min(20));
        let span = span.min(config.max_timeout.max(self.control.timeout()));
        owes.then(|| self.waits_since.saturating_add(span))
    }

    /// It is overdue: it is asked whether anything comes.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.timeouts = self.timeouts.saturating_add(1);
        self.fruitless = self.fruitless.saturating_add(1);
        self.waits_since = now;
        self.probe_due = true;
        for one in &mut self.assigned {
            one.untold |= one.symbols > 0;
        }
    }

    /// When it is taken for silent if it is not heard; `None` while it owes nothing.
    pub(crate) fn silent_at(&self, patience: Duration) -> Option<Time> {
        let since = self.heard_at.max(self.owes_since);
        (self.total > 0).then(|| since.saturating_add(patience))
    }

    /// Whether it takes longer than it may.
    pub(crate) fn is_slow(&self, patience: Duration) -> bool {
        let round_trip = self.control.round_trip();
        round_trip.is_some_and(|round_trip| round_trip > patience)
    }

    /// Whether what it owes is not to be counted on.
    pub(crate) fn is_behind(&self, now: Time, patience: Duration) -> bool {
        let silent = self.silent_at(patience).is_some_and(|at| at <= now);
        silent || (self.total > 0 && self.is_slow(patience))
    }

    /// A pull that gives so many credits more, and one after which the window or the pace had no room if it
    /// was `limited`. `first` is the number of the first open block.
    pub(crate) fn pull(
        &mut self,
        now: Time,
        first: u32,
        (credits, renewed, limited): (u32, u32, bool),
    ) -> CreditHeader {
        self.limited = limited;
        if credits > 0 {
            self.spend(now, credits);
        }
        self.credits.renew(now, renewed);
        self.credits.give(now, credits);
        // Where symbols are passed from source to source and none answers, each is asked in time all
        // the same.
        if credits > 0 || self.heard_at >= self.waits_since {
            self.waits_since = now;
        }
        let probe = core::mem::take(&mut self.probe_due);
        if probe {
            self.probed_at = now;
        }
        CreditHeader {
            probe,
            fin: false,
            granted: self.credits.granted(),
            next: self.credits.next(),
            whole: first,
            lost: self.credits.lost(),
            wants: self.wants(first),
        }
    }

    /// What a pull tells: the first block of which something is to come, those of which the sender was not
    /// told, those of which something may be lost since, and others; all in turn.
    fn wants(&mut self, first: u32) -> [Want; WANTS] {
        let mut wants = [Want::NONE; WANTS];
        let mut free = wants.iter_mut();
        let lowest = self.assigned.iter().position(|one| one.symbols > 0);
        let after = self.turn.min(self.assigned.len());
        let in_turn = (after..self.assigned.len()).chain(0..after);
        let untold = in_turn.clone().filter(|&place| self.assigned[place].untold);
        let stale = in_turn.clone().filter(|&place| self.assigned[place].stale);
        let others = in_turn.filter(|&place| self.assigned[place].symbols > 0);
        let mut told = [usize::MAX; WANTS];
        let mut count = 0;
        for place in lowest.into_iter().chain(untold).chain(stale).chain(others) {
            if told.contains(&place) {
                continue;
            }
            let Some(want) = free.next() else { break };
            let ahead = self.credits.ahead_of(first + place as u32);
            *want = Want {
                ahead: place.min(usize::from(u16::MAX - 1)) as u16,
                symbols: (self.assigned[place].symbols + ahead).min(u32::from(u16::MAX)) as u16,
            };
            told[count] = place;
            count += 1;
        }
        for &place in &told[..count] {
            self.assigned[place].untold = false;
            self.assigned[place].stale = false;
        }
        self.turn = told[..count].last().map_or(0, |last| last + 1);
        self.has_stale = self.assigned.iter().any(|one| one.stale);
        self.retells = self.retells.saturating_sub(1);
        let untold = self.assigned.iter().any(|one| one.untold);
        self.has_news = untold || (self.has_stale && self.retells > 0);
        wants
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn release(&mut self) {
        self.assigned = VecDeque::new();
        self.total = 0;
        self.credits = Credits::new(0);
    }
}
