//! State of one sender of a session, at a receiver in credit mode.

use super::config::CreditConfig;
use super::control::{Arrival, Controller};
use super::credits::{Credits, Use};
use crate::scdp::common::header::{CreditHeader, WANTS, Want};
use crate::scdp::config::ScdpConfig;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Number of pulls that may leave immediately after a loss, to repeat requests for stale blocks.
/// With many losses in many open blocks, repeated requests would need more pulls than symbols (docs/decisions/0010).
const RETELLS: u8 = 2;

/// Symbols of one block that are assigned to a sender.
#[derive(Clone, Copy, Default, Debug)]
struct Assigned {
    /// Number of assigned symbols that have not arrived.
    symbols: u32,
    /// Whether a change is not yet reported to the sender.
    untold: bool,
    /// Whether some of the symbols may have been lost since the last report.
    stale: bool,
}

/// Credit state of one sender. A pull requests a number of symbols of a block, starting after a given credit.
/// So the receiver need not know to which blocks the lost symbols belong.
#[derive(Debug)]
pub(crate) struct CreditedSender {
    pub(crate) credits: Credits,
    pub(crate) control: Controller,
    /// Assigned symbols of each open block, starting with the first open block.
    assigned: VecDeque<Assigned>,
    /// Total number of assigned symbols.
    total: u32,
    /// Whether a pull must leave immediately, even without a new credit.
    pub(crate) has_news: bool,
    /// Whether the entry of any block in `assigned` is stale.
    has_stale: bool,
    /// Number of pulls that may leave immediately to report stale blocks.
    retells: u8,
    /// Whether the next pull must request an answer.
    probe_due: bool,
    /// Departure time of the last pull that requested an answer.
    probed_at: Time,
    /// Number of timeouts in a row.
    pub(crate) timeouts: u32,
    /// Number of timeouts since the last symbol. The timeout doubles with each of these timeouts.
    fruitless: u32,
    /// Whether the window or the pace limited the last pull.
    limited: bool,
    /// Time at which the pace allows the next credit.
    paced_to: Time,
    waits_since: Time,
    pub(crate) heard_at: Time,
    /// Time since which assigned symbols are outstanding.
    owes_since: Time,
    /// Block that the next pull with free entries reports first.
    turn: usize,
}

impl CreditedSender {
    /// Returns the state of a sender that pushes `pushed` symbols. The session has `open` open blocks.
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

    /// Returns the number of assigned symbols of the block at `place` that have not arrived.
    #[inline]
    pub(crate) fn assigned(&self, place: usize) -> u32 {
        self.assigned.get(place).map_or(0, |one| one.symbols)
    }

    /// Assigns `symbols` more symbols of the block at `place`.
    /// With `pushes`, the sender sends the symbols without a request.
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

    /// Withdraws up to `symbols` symbols of the block at `place`. Returns the number of withdrawn symbols.
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

    /// Withdraws all symbols of the block at `place`, which needs none any more. The next pull reports the withdrawal.
    pub(crate) fn cancel(&mut self, place: usize) {
        self.has_news |= self.take_back(place, u32::MAX) > 0;
    }

    /// Records that a symbol of the block at `place` has arrived, if the block is open.
    pub(crate) fn count(&mut self, place: Option<usize>) {
        let one = place.and_then(|place| self.assigned.get_mut(place));
        if let Some(one) = one.filter(|one| one.symbols > 0) {
            one.symbols -= 1;
            self.total -= 1;
        }
    }

    /// Returns the total number of assigned symbols that have not arrived.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    /// Returns whether some of the assigned symbols have no credit.
    #[inline]
    pub(crate) fn lacks_credit(&self) -> bool {
        self.total > self.credits.in_flight()
    }

    /// Returns whether the sender has credits without assigned symbols.
    #[inline]
    pub(crate) fn has_spare_credit(&self) -> bool {
        self.total < self.credits.in_flight()
    }

    /// Returns whether the window admits a batch of credits.
    #[inline]
    fn has_window(&self) -> bool {
        let in_flight = self.credits.in_flight();
        let room = self.control.window().saturating_sub(in_flight);
        // With nothing in flight, no arrival will free more of the window, so a part of a batch must be enough.
        room >= self.control.batch() || (in_flight == 0 && room > 0)
    }

    /// Returns whether a pull may give credits now.
    #[inline]
    pub(crate) fn has_room(&self, now: Time) -> bool {
        self.has_window() && self.paced_at().is_none_or(|at| at <= now)
    }

    /// Returns the time at which the pace allows the next batch of credits.
    fn paced_at(&self) -> Option<Time> {
        let (interval, at_once) = self.control.pace()?;
        // The first credit is due at `paced_to`. The batch waits until its other credits are due too.
        let more = self.control.batch().min(at_once) - 1;
        Some(self.paced_to.saturating_add(interval * u64::from(more)))
    }

    /// Returns the time at which the pace allows a pull that the window already admits.
    pub(crate) fn held_until(&self, now: Time) -> Option<Time> {
        self.paced_at().filter(|at| *at > now && self.has_window())
    }

    /// Returns the number of credits that the pace allows now.
    pub(crate) fn paced(&self, now: Time) -> u32 {
        let Some((interval, at_once)) = self.control.pace() else {
            return u32::MAX;
        };
        if now < self.paced_to {
            return 0;
        }
        let saved = now.since(self.paced_to).as_ps() / interval.as_ps();
        // One credit is due now. After a pause, further credits are available, up to `at_once` in total.
        (saved.min(u64::from(at_once) - 1) + 1) as u32
    }

    /// Records that credits have left.
    fn spend(&mut self, now: Time, credits: u32) {
        let Some((interval, at_once)) = self.control.pace() else {
            // If pacing starts later, the time before its start must not count as unused.
            self.paced_to = now;
            return;
        };
        // Unused time counts for at most one burst.
        let saved = (interval * u64::from(at_once - 1)).as_ps();
        let earliest = Time::from_ps(now.as_ps().saturating_sub(saved));
        let from = self.paced_to.max(earliest);
        self.paced_to = from.saturating_add(interval * u64::from(credits));
    }

    /// Returns whether a pull must leave even if the window is full.
    #[inline]
    pub(crate) fn must_pull(&self) -> bool {
        self.has_news || self.probe_due
    }

    /// Records that a packet of the sender has arrived.
    pub(crate) fn hear(&mut self, now: Time) {
        self.heard_at = now;
        self.waits_since = now;
        self.timeouts = 0;
        self.probe_due = false;
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.timeouts > 0
    }

    /// Processes a symbol that uses a credit.
    /// Returns the previous state of the credit, or `None` if the symbol is invalid.
    pub(crate) fn on_symbol(&mut self, arrival: &Arrival, block: u32) -> Option<Use> {
        let used = self.credits.on_use(arrival.number, block);
        let round_trip = match used {
            Use::Nonsense => return None,
            Use::Late => {
                // The controller has already counted this credit, so it gets no arrival for this symbol.
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
            // A credit that was given before a pause does not show the round trip.
            round_trip: round_trip.filter(|_| !silent),
            may_grow: self.limited,
            ..*arrival
        };
        let granted = self.credits.granted();
        self.control.on_arrival(&arrival, granted);
        self.retell(1);
        Some(used)
    }

    /// Finds symbols that are lost because later symbols have overtaken them. Returns their number.
    pub(crate) fn find_lost(&mut self, now: Time) -> u32 {
        let lost = self.credits.sweep();
        self.on_lost(now, lost);
        lost
    }

    /// Processes a report that the sender has used all credits before `sent`.
    /// `asks` is true if the sender requests an answer. Returns the number of symbols that now count as lost.
    pub(crate) fn on_status(&mut self, now: Time, sent: u32, asks: bool) -> u32 {
        // The report may have overtaken symbols that were requested after the probe.
        // A sender that requests an answer has sent nothing for a long time, so its report covers all symbols.
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

    /// Allows `pulls` pulls to leave immediately for stale blocks.
    /// Later pulls also report stale blocks, and each arrived symbol allows one more immediate pull.
    fn retell(&mut self, pulls: u8) {
        if self.has_stale {
            self.retells = self.retells.max(pulls);
            self.has_news = true;
        }
    }

    /// Returns the time at which assigned symbols are overdue.
    /// Returns `None` if no symbols are assigned, or if they have no credit.
    pub(crate) fn overdue_at(&self, config: &ScdpConfig) -> Option<Time> {
        let owes = self.total > 0 && self.credits.in_flight() > 0;
        let span = self
            .control
            .timeout()
            // The limit of 20 avoids an overflow of the shift.
            .saturating_mul(1 << self.fruitless.min(20));
        // The timeout is never below the estimate, even if the path is slower than `max_timeout`.
        let span = span.min(config.max_timeout.max(self.control.timeout()));
        owes.then(|| self.waits_since.saturating_add(span))
    }

    /// Processes a timeout. The next pull requests an answer.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.timeouts = self.timeouts.saturating_add(1);
        self.fruitless = self.fruitless.saturating_add(1);
        self.waits_since = now;
        self.probe_due = true;
        // Without arriving symbols, no pull repeats a request.
        // All requests are repeated together (docs/decisions/0010).
        for one in &mut self.assigned {
            one.untold |= one.symbols > 0;
        }
    }

    /// Returns the time at which the sender starts to count as silent, unless a packet arrives before.
    /// Returns `None` if no assigned symbols are outstanding.
    pub(crate) fn silent_at(&self, patience: Duration) -> Option<Time> {
        let since = self.heard_at.max(self.owes_since);
        (self.total > 0).then(|| since.saturating_add(patience))
    }

    /// Returns whether the round trip to the sender is longer than `patience`.
    pub(crate) fn is_slow(&self, patience: Duration) -> bool {
        let round_trip = self.control.round_trip();
        round_trip.is_some_and(|round_trip| round_trip > patience)
    }

    /// Returns whether this sender is slow or silent, so that the receiver should not wait for its assigned symbols.
    pub(crate) fn is_behind(&self, now: Time, patience: Duration) -> bool {
        let silent = self.silent_at(patience).is_some_and(|at| at <= now);
        silent || (self.total > 0 && self.is_slow(patience))
    }

    /// Returns a pull that gives `credits` new credits and renews `renewed` old credits.
    /// `limited` is true if the window or the pace allows no more credits.
    /// `first` is the number of the first open block.
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
        // The receiver may move symbols between sources without any answer from the sources.
        // Each source must still reach its timeout.
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

    /// Returns the requests of a pull.
    /// Order of requests: the first block with assigned symbols, unreported changes, stale blocks, and other blocks.
    /// Within each group, the blocks take turns.
    fn wants(&mut self, first: u32) -> [Want; WANTS] {
        let mut wants = [Want::NONE; WANTS];
        let mut free = wants.iter_mut();
        // Blocks are removed in order, so the lowest block delays all others.
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
            // A request covers all credits after the first open credit.
            // The number in a request therefore includes symbols that have already arrived for later credits.
            let ahead = self.credits.ahead_of(first + place as u32);
            *want = Want {
                // `u16::MAX` marks an unused entry.
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

    /// Frees memory at the end of the session.
    pub(crate) fn release(&mut self) {
        self.assigned = VecDeque::new();
        self.total = 0;
        self.credits = Credits::new(0);
    }
}
