//! One of the hosts that send to a session, as its receiver sees it.

use crate::Share;
use crate::scdp::config::ScdpConfig;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, Time};

/// What an answer counts in the smoothed time: one part in so many (as in RFC 6298).
const SMOOTHING: u64 = 8;

/// How the answers of a source that is one of several are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    pub(crate) now: Time,
    /// Within this a source is to answer.
    pub(crate) patience: Duration,
}

/// Symbols of one block asked of one source.
#[derive(Clone, Default, Debug)]
struct Requests {
    /// By pulls, so far.
    asked: u32,
    /// Pushed without a pull.
    pushed: u32,
    /// On their way: pushed or asked for, not arrived in any form.
    coming: u32,
    /// With several senders: when each of those was asked for, the oldest first. Which of them a symbol
    /// answers is not known, so that it is taken for an answer to the oldest.
    asked_at: VecDeque<Time>,
}

#[derive(Debug)]
pub(crate) struct Source {
    /// Addresses as this host sends.
    pub(crate) tuple: FiveTuple,
    /// Its name of the session.
    pub(crate) session: FlowId,
    /// Symbols that it pushes, and that are to be on their way afterwards.
    window: u32,
    share: Share,
    /// Symbols of open blocks on their way.
    coming: u32,
    /// Pulls so far.
    pulls: u32,
    /// Pushed and pulled symbols on their way, when they go to a group: of whichever block some receiver
    /// wants. `None` when all are for this receiver, and just those of open blocks count.
    to_group: Option<u32>,
    /// From the first open block on.
    blocks: VecDeque<Requests>,
    /// Of the pushed symbols, those that have not come in any form. All were on their way at once, so
    /// that only the last of them tells how long an answer takes.
    pushes_left: u32,
    /// How long the source takes to answer a pull, smoothed; `None` before its first answer.
    answers_in: Option<Duration>,
    /// After a timeout only one symbol is to be on its way, until it has come.
    probing: bool,
    timeouts: u32,
    waits_since: Time,
    heard_at: Time,
}

impl Source {
    /// A source that pushes `window` symbols of its share, when `open` blocks are open.
    pub(crate) fn new(
        now: Time,
        (tuple, session): (FiveTuple, FlowId),
        window: u32,
        share: Share,
        open: usize,
    ) -> Self {
        Self {
            tuple,
            session,
            window,
            share,
            coming: 0,
            pulls: 0,
            to_group: None,
            blocks: (0..open).map(|_| Requests::default()).collect(),
            pushes_left: 0,
            answers_in: None,
            probing: false,
            timeouts: 0,
            waits_since: now,
            heard_at: now,
        }
    }

    /// One more block is open.
    pub(crate) fn open_block(&mut self) {
        self.blocks.push_back(Requests::default());
    }

    /// The first open block is whole: what is still coming of it is of no use.
    pub(crate) fn close_block(&mut self) {
        if let Some(requests) = self.blocks.pop_front() {
            self.coming -= requests.coming;
        }
    }

    /// Whether other hosts send to the session too, so that one may do what another does not.
    fn has_others(&self) -> bool {
        self.share.of > 1
    }

    /// So many symbols of the block at `place` were pushed.
    pub(crate) fn push(&mut self, now: Time, place: usize, count: u32) {
        let has_others = self.has_others();
        let requests = &mut self.blocks[place];
        if has_others {
            requests.asked_at.extend((0..count).map(|_| now));
            self.pushes_left += count;
        }
        requests.coming += count;
        requests.pushed += count;
        self.coming += count;
    }

    /// What it sends goes to a group.
    #[inline]
    pub(crate) fn join_group(&mut self) {
        self.to_group.get_or_insert(self.coming);
    }

    /// Whether source symbols of the block at `place`, which has `k`, are left that were neither pushed nor
    /// asked for.
    pub(crate) fn has_source_symbols(&self, place: usize, k: u32) -> bool {
        let requests = &self.blocks[place];
        requests.pushed.saturating_add(requests.asked) < self.share.of_first(k)
    }

    /// Asks for a symbol of the block at `place`, which has `k` source symbols. Gives the number of
    /// symbols asked of it so far, and whether it can only be a repair symbol.
    #[inline]
    pub(crate) fn ask(&mut self, now: Time, place: usize, k: u32) -> (u32, bool) {
        let has_others = self.has_others();
        let requests = &mut self.blocks[place];
        requests.asked = requests.asked.saturating_add(1);
        requests.coming += 1;
        if has_others {
            requests.asked_at.push_back(now);
        }
        self.coming += 1;
        let sent = requests.pushed.saturating_add(requests.asked);
        let asked = (requests.asked, sent > self.share.of_first(k));
        self.waits_since = now;
        if self.to_group.is_none() || self.lacks_pull() {
            self.pull();
        }
        asked
    }

    fn pull(&mut self) {
        self.pulls = self.pulls.saturating_add(1);
        if let Some(pulled) = &mut self.to_group {
            *pulled += 1;
        }
    }

    /// Whether a pull went on a symbol that was not asked for, and another has to be sent in its place.
    #[inline]
    pub(crate) fn lacks_pull(&self) -> bool {
        self.to_group.is_some_and(|pulled| pulled < self.coming)
    }

    /// Pulls once more for what was asked for. Gives the number of symbols asked of the first open block.
    pub(crate) fn pull_again(&mut self, now: Time) -> u32 {
        self.waits_since = now;
        self.pull();
        self.asked_of(0)
    }

    /// Pulls so far.
    #[inline]
    pub(crate) fn pulls(&self) -> u32 {
        self.pulls
    }

    /// Something came from it.
    #[inline]
    pub(crate) fn hear(&mut self, now: Time) {
        self.waits_since = now;
        self.heard_at = now;
        self.timeouts = 0;
        self.probing = false;
    }

    /// A symbol came in some form, of the block at `place` if that is open; `to_group` if others have got
    /// it too. Whether one of that block was on its way.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, place: Option<usize>, to_group: bool) -> bool {
        if let Some(pulled) = &mut self.to_group {
            *pulled = pulled.saturating_sub(1);
        }
        let Some(requests) = place.and_then(|place| self.blocks.get_mut(place)) else {
            return false;
        };
        let was_coming = requests.coming > 0;
        if was_coming {
            requests.coming -= 1;
            self.coming -= 1;
            if let Some(asked_at) = requests.asked_at.pop_front() {
                self.measure_answer(now.since(asked_at));
            }
        } else if to_group {
            // Another receiver asked for it: the sender counts it as sent to this one as well.
            requests.asked = requests.asked.saturating_add(1);
        }
        was_coming
    }

    /// A symbol that was on its way has come after so long.
    fn measure_answer(&mut self, took: Duration) {
        self.pushes_left = self.pushes_left.saturating_sub(1);
        if self.pushes_left > 0 {
            return;
        }
        self.answers_in = Some(match self.answers_in {
            Some(usual) => (usual * (SMOOTHING - 1) + took) / SMOOTHING,
            None => took,
        });
    }

    /// How long it takes to answer a pull; `None` while that is not known, or while it is silent.
    pub(crate) fn answers_in(&self) -> Option<Duration> {
        self.answers_in.filter(|_| !self.is_silent())
    }

    /// When it is taken for silent if it is not heard before; `None` while it owes nothing.
    fn silent_at(&self, patience: Duration) -> Option<Time> {
        let oldest = |requests: &Requests| requests.asked_at.front().copied();
        let owes_since = self.blocks.iter().filter_map(oldest).min()?;
        Some(self.heard_at.max(owes_since).saturating_add(patience))
    }

    /// Whether nothing that it owes is to be counted on: it is slow, or silent.
    pub(crate) fn is_behind(&self, judge: Judge) -> bool {
        let silent_at = self.silent_at(judge.patience);
        silent_at.is_some_and(|silent_at| self.is_slow(judge) || silent_at <= judge.now)
    }

    fn is_slow(&self, judge: Judge) -> bool {
        let answers_in = self.answers_in;
        answers_in.is_some_and(|answers_in| answers_in > judge.patience)
    }

    /// Symbols of the block at `place` that are on their way for too long: those that are lost, or all if
    /// it is behind.
    pub(crate) fn late_of(&self, place: usize, judge: Judge) -> u32 {
        let Some(requests) = self.blocks.get(place) else {
            return 0;
        };
        if self.is_behind(judge) {
            return requests.coming;
        }
        let late = |asked_at: &&Time| judge.now.since(**asked_at) >= judge.patience;
        requests.asked_at.iter().take_while(late).count() as u32
    }

    /// When it is next late with something, unless it is late with all already.
    pub(crate) fn next_late_at(&self, judge: Judge) -> Option<Time> {
        let silent_at = self.silent_at(judge.patience)?;
        if self.is_slow(judge) || silent_at <= judge.now {
            return None;
        }
        let first_late = |requests: &Requests| {
            let mut each = requests.asked_at.iter();
            each.find_map(|asked_at| {
                let late_at = asked_at.saturating_add(judge.patience);
                (late_at > judge.now).then_some(late_at)
            })
        };
        let late_at = self.blocks.iter().filter_map(first_late).min();
        Time::earlier(late_at, Some(silent_at))
    }

    /// The sender counts `symbols` of the block at `place` as sent, though nothing was asked.
    pub(crate) fn count_as_asked(&mut self, place: usize, symbols: u32) {
        let requests = &mut self.blocks[place];
        requests.asked = requests.asked.saturating_add(symbols);
    }

    /// Symbols asked of it so far of the block at `place`.
    pub(crate) fn asked_of(&self, place: usize) -> u32 {
        self.blocks.get(place).map_or(0, |requests| requests.asked)
    }

    /// What it owes is not waited for any more. Says whether it owed anything.
    pub(crate) fn release_from_debt(&mut self) -> bool {
        self.pushes_left = 0;
        for requests in &mut self.blocks {
            requests.coming = 0;
            requests.asked_at.clear();
        }
        core::mem::take(&mut self.coming) > 0
    }

    /// Waits from now on.
    #[inline]
    pub(crate) fn wait_from(&mut self, now: Time) {
        self.waits_since = now;
    }

    /// Whether less than its window is on its way.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        let window = if self.probing { 1 } else { self.window };
        self.coming < window
    }

    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.timeouts > 0
    }

    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.coming > 0
    }

    /// When what it was asked for is overdue.
    #[inline]
    pub(crate) fn overdue_at(&self, config: &ScdpConfig) -> Time {
        let span = config.backed_off(self.timeouts);
        self.waits_since.saturating_add(span)
    }

    /// What it was asked for is lost, or the pulls are. Gives the symbols of each open block that come
    /// no more.
    pub(crate) fn give_up_requests(&mut self, now: Time) -> impl Iterator<Item = u32> {
        self.timeouts = self.timeouts.saturating_add(1);
        self.waits_since = now;
        self.probing = true;
        self.coming = 0;
        self.pushes_left = 0;
        self.to_group = self.to_group.map(|_| 0);
        self.blocks.iter_mut().map(|requests| {
            requests.asked_at.clear();
            core::mem::take(&mut requests.coming)
        })
    }

    /// Whether it has been silent for too long.
    pub(crate) fn is_given_up(&self, config: &ScdpConfig) -> bool {
        self.timeouts > config.max_timeouts
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn release(&mut self) {
        self.blocks = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// One of two senders, with one block open.
    fn one_of_two() -> Source {
        let share = Share { index: 0, of: 2 };
        Source::new(Time::ZERO, (FiveTuple::default(), FlowId(0)), 3, share, 1)
    }

    #[test]
    fn of_the_symbols_that_are_pushed_only_the_last_tells_how_long_an_answer_takes() {
        let mut source = one_of_two();
        source.push(Time::ZERO, 0, 3);
        let mut known = Vec::new();
        for us in [10, 20, 30] {
            let now = Time::from_ns(us * 1_000);
            source.hear(now);
            assert!(source.arrive(now, Some(0), false));
            known.push(source.answers_in());
        }
        assert_eq!(known, [None, None, Some(Duration::from_us(30))]);
    }

    #[test]
    fn a_pull_that_is_repeated_asks_for_all_that_was_asked_for() {
        let mut source = one_of_two();
        for asked in 1..=3 {
            assert_eq!(source.ask(Time::ZERO, 0, 98), (asked, false));
        }
        assert_eq!(source.pull_again(Time::from_ns(1)), 3);
    }
}
