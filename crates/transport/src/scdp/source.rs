//! One of the hosts that send to a session, as its receiver sees it.

use super::config::ScdpConfig;
use crate::Share;
use alloc::collections::VecDeque;
use tailcut_units::{FiveTuple, Time};

/// Symbols of one block asked of one source.
#[derive(Clone, Copy, Default, Debug)]
struct Requests {
    /// By pulls, so far.
    asked: u32,
    /// Pushed without a pull.
    pushed: u32,
    /// On their way: pushed or asked for, not arrived in any form.
    coming: u32,
}

#[derive(Debug)]
pub(crate) struct Source {
    /// Addresses as this host sends.
    pub(crate) tuple: FiveTuple,
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
    /// After a timeout only one symbol is to be on its way, until it has come.
    probing: bool,
    timeouts: u32,
    waits_since: Time,
}

impl Source {
    /// A source that pushes `window` symbols of its share, when `open` blocks are open.
    pub(crate) fn new(now: Time, tuple: FiveTuple, window: u32, share: Share, open: usize) -> Self {
        Self {
            tuple,
            window,
            share,
            coming: 0,
            pulls: 0,
            to_group: None,
            blocks: (0..open).map(|_| Requests::default()).collect(),
            probing: false,
            timeouts: 0,
            waits_since: now,
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

    /// So many symbols of the block at `place` were pushed.
    pub(crate) fn push(&mut self, place: usize, count: u32) {
        let requests = &mut self.blocks[place];
        requests.coming += count;
        requests.pushed += count;
        self.coming += count;
    }

    /// What it sends goes to a group.
    #[inline]
    pub(crate) fn join_group(&mut self) {
        self.to_group.get_or_insert(self.coming);
    }

    /// Asks for a symbol of the block at `place`, which has `k` source symbols. Gives the number of
    /// symbols asked of it so far, and whether it can only be a repair symbol.
    #[inline]
    pub(crate) fn ask(&mut self, now: Time, place: usize, k: u32) -> (u32, bool) {
        let requests = &mut self.blocks[place];
        requests.asked = requests.asked.saturating_add(1);
        requests.coming += 1;
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
        self.blocks.front().map_or(0, |requests| requests.asked)
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
        self.timeouts = 0;
        self.probing = false;
    }

    /// A symbol came in some form, of the block at `place` if that is open; `to_group` if others have got
    /// it too. Whether one of that block was on its way.
    #[inline]
    pub(crate) fn arrive(&mut self, place: Option<usize>, to_group: bool) -> bool {
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
        } else if to_group {
            // Another receiver asked for it: the sender counts it as sent to this one as well.
            requests.asked = requests.asked.saturating_add(1);
        }
        was_coming
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
        self.to_group = self.to_group.map(|_| 0);
        self.blocks
            .iter_mut()
            .map(|requests| core::mem::take(&mut requests.coming))
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
