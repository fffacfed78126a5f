//! State of one sender of a session, at the receiver in paper mode.

use crate::Share;
use crate::scdp::config::ScdpConfig;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, Time};

/// The smoothed answer time is a moving average. A new sample has the weight 1/8, as in RFC 6298.
const SMOOTHING: u64 = 8;

/// Criteria by which the receiver decides whether a source is late, if there are several sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    pub(crate) now: Time,
    /// Time within which a source should answer.
    pub(crate) patience: Duration,
}

/// Symbols of one block that were requested from one source.
#[derive(Clone, Default, Debug)]
struct Requests {
    /// Number of symbols requested by pulls so far.
    asked: u32,
    /// Number of symbols that the source pushes without a pull.
    pushed: u32,
    /// Number of pending symbols: pushed or requested, but neither the symbol nor its header has arrived.
    coming: u32,
    /// With several senders: request time of each pending symbol, oldest first.
    /// A symbol does not show which request it answers, so the symbol counts as the answer to the oldest request.
    asked_at: VecDeque<Time>,
}

#[derive(Debug)]
pub(crate) struct Source {
    /// Addresses of the pulls that this host sends, so this host is the source.
    pub(crate) tuple: FiveTuple,
    /// Number of the session at the source.
    pub(crate) session: FlowId,
    /// Number of symbols that the source pushes. After that, the receiver keeps this number of symbols pending.
    window: u32,
    share: Share,
    /// Number of pending symbols of open blocks.
    coming: u32,
    /// Total number of pulls so far.
    pulls: u32,
    /// In a group: number of pending symbols, pushed and pulled. A symbol may be of any block that a receiver needs.
    /// `None` if all symbols are for this receiver, so that only symbols of open blocks count.
    to_group: Option<u32>,
    /// Requests for each open block, starting with the first open block.
    blocks: VecDeque<Requests>,
    /// Number of pushed symbols that have not arrived, whole or trimmed.
    /// The source sends all pushed symbols together, so only the last symbol shows how long an answer takes.
    pushes_left: u32,
    /// Smoothed time from a pull to its answer. `None` before the first answer.
    answers_in: Option<Duration>,
    /// Whether only one symbol may be pending. This applies after a timeout, until that symbol arrives.
    probing: bool,
    timeouts: u32,
    waits_since: Time,
    heard_at: Time,
}

impl Source {
    /// Returns a source that pushes `window` symbols. The session has `open` open blocks.
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

    /// Adds an open block.
    pub(crate) fn open_block(&mut self) {
        self.blocks.push_back(Requests::default());
    }

    /// Removes the first open block, which is complete. Pending symbols of this block are no longer needed.
    pub(crate) fn close_block(&mut self) {
        if let Some(requests) = self.blocks.pop_front() {
            self.coming -= requests.coming;
        }
    }

    /// Returns whether other hosts also send to the session, so that they can replace a slow source.
    fn has_others(&self) -> bool {
        self.share.of > 1
    }

    /// Records that the source pushes `count` symbols of the block at `place`.
    pub(crate) fn push(&mut self, now: Time, place: usize, count: u32) {
        let has_others = self.has_others();
        let requests = &mut self.blocks[place];
        // The times of requests show which symbols are late, so that another source can replace them.
        if has_others {
            requests.asked_at.extend((0..count).map(|_| now));
            self.pushes_left += count;
        }
        requests.coming += count;
        requests.pushed += count;
        self.coming += count;
    }

    /// Records that the source sends to a group.
    #[inline]
    pub(crate) fn join_group(&mut self) {
        self.to_group.get_or_insert(self.coming);
    }

    /// Returns whether the source has source symbols of the block at `place` that were not pushed or requested.
    /// The block has `k` source symbols in all.
    pub(crate) fn has_source_symbols(&self, place: usize, k: u32) -> bool {
        let requests = &self.blocks[place];
        requests.pushed.saturating_add(requests.asked) < self.share.of_first(k)
    }

    /// Requests a symbol of the block at `place`, which has `k` source symbols.
    /// Returns the number of symbols of the block requested so far, and whether the answer must be a repair symbol.
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
        // In a group, an earlier pull may still be unused. An unused pull also serves the new request.
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

    /// Returns whether one more pull is needed, because a symbol that this receiver did not request has used a pull.
    #[inline]
    pub(crate) fn lacks_pull(&self) -> bool {
        self.to_group.is_some_and(|pulled| pulled < self.coming)
    }

    /// Sends one more pull for the symbols already requested.
    /// Returns the number of symbols requested of the first open block.
    pub(crate) fn pull_again(&mut self, now: Time) -> u32 {
        self.waits_since = now;
        self.pull();
        self.asked_of(0)
    }

    /// Returns the total number of pulls so far.
    #[inline]
    pub(crate) fn pulls(&self) -> u32 {
        self.pulls
    }

    /// Records that a packet of the source has arrived.
    #[inline]
    pub(crate) fn hear(&mut self, now: Time) {
        self.waits_since = now;
        self.heard_at = now;
        self.timeouts = 0;
        self.probing = false;
    }

    /// Records that a symbol has arrived, whole or trimmed. `place` is the position of its block, if the block is open.
    /// `to_group` is true if other receivers get the symbol too. Returns whether a symbol of this block was pending.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, place: Option<usize>, to_group: bool) -> bool {
        // Every symbol uses one pull of this receiver, even if another receiver requested the symbol.
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
            // Another receiver requested this symbol. The sender counts it as sent to this receiver too.
            requests.asked = requests.asked.saturating_add(1);
        }
        was_coming
    }

    /// Adds a sample to the smoothed answer time.
    fn measure_answer(&mut self, took: Duration) {
        // The source pushes its symbols together, so only the last symbol is a sample of the answer time.
        self.pushes_left = self.pushes_left.saturating_sub(1);
        if self.pushes_left > 0 {
            return;
        }
        self.answers_in = Some(match self.answers_in {
            Some(usual) => (usual * (SMOOTHING - 1) + took) / SMOOTHING,
            None => took,
        });
    }

    /// Returns the smoothed time from a pull to its answer, or `None` if it is unknown or the source is silent.
    pub(crate) fn answers_in(&self) -> Option<Duration> {
        self.answers_in.filter(|_| !self.is_silent())
    }

    /// Returns the time at which the source starts to count as silent, unless a packet arrives before.
    /// Returns `None` if no symbols are pending.
    fn silent_at(&self, patience: Duration) -> Option<Time> {
        let oldest = |requests: &Requests| requests.asked_at.front().copied();
        let owes_since = self.blocks.iter().filter_map(oldest).min()?;
        Some(self.heard_at.max(owes_since).saturating_add(patience))
    }

    /// Returns whether this source is slow or silent, so that the receiver should not wait for its pending symbols.
    pub(crate) fn is_behind(&self, judge: Judge) -> bool {
        let silent_at = self.silent_at(judge.patience);
        silent_at.is_some_and(|silent_at| self.is_slow(judge) || silent_at <= judge.now)
    }

    fn is_slow(&self, judge: Judge) -> bool {
        let answers_in = self.answers_in;
        answers_in.is_some_and(|answers_in| answers_in > judge.patience)
    }

    /// Returns the number of late symbols of the block at `place`.
    /// If the source is slow or silent, all its pending symbols are late.
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

    /// Returns the time at which the next symbol becomes late, or `None` if all symbols are late already.
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

    /// Counts `symbols` symbols of the block at `place` as requested. The sender counts them as sent to this receiver.
    pub(crate) fn count_as_asked(&mut self, place: usize, symbols: u32) {
        let requests = &mut self.blocks[place];
        requests.asked = requests.asked.saturating_add(symbols);
    }

    /// Returns the number of symbols of the block at `place` that were requested from the source.
    pub(crate) fn asked_of(&self, place: usize) -> u32 {
        self.blocks.get(place).map_or(0, |requests| requests.asked)
    }

    /// Stops waiting for all pending symbols of the source. Returns whether there were any.
    pub(crate) fn release_from_debt(&mut self) -> bool {
        self.pushes_left = 0;
        for requests in &mut self.blocks {
            requests.coming = 0;
            requests.asked_at.clear();
        }
        core::mem::take(&mut self.coming) > 0
    }

    /// Starts the timeout at `now`.
    #[inline]
    pub(crate) fn wait_from(&mut self, now: Time) {
        self.waits_since = now;
    }

    /// Returns whether fewer symbols than a window are pending.
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

    /// Returns the time at which the pending symbols are overdue.
    #[inline]
    pub(crate) fn overdue_at(&self, config: &ScdpConfig) -> Time {
        let span = config.backed_off(self.timeouts);
        self.waits_since.saturating_add(span)
    }

    /// Treats all requests as lost. Returns the number of lost symbols for each open block.
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

    /// Returns whether the source has sent nothing during too many timeouts in a row.
    pub(crate) fn is_given_up(&self, config: &ScdpConfig) -> bool {
        self.timeouts > config.max_timeouts
    }

    /// Frees memory at the end of the session.
    pub(crate) fn release(&mut self) {
        self.blocks = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Returns one of two sources, with one open block.
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
