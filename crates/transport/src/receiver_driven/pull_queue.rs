//! The one queue of pulls that all sessions of an interface share (NDP paper, section 3.2; SCDP paper,
//! section IV-C): sessions take turns, and pulls leave no faster than full packets can arrive on the
//! interface, headers, preamble and gap counted, so that what they ask for arrives at line rate.

use super::SessionKey;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Intervals that may be saved at most: so many pulls may leave at once.
const MOST_SAVED: u64 = 8;

/// Sessions with pulls to send, in turn, and when the next pull may leave.
#[derive(Debug)]
pub(crate) struct PullQueue {
    turns: VecDeque<SessionKey>,
    /// Those below all classes, which have a turn when no other session has.
    below: VecDeque<SessionKey>,
    interval: Duration,
    next_at: Time,
    /// What pulls of short packets have left of the time that they were charged, to be taken off the next.
    saved: Duration,
    /// Whether all pulls wait in the queue.
    is_held: bool,
}

impl PullQueue {
    /// One pull each `interval`.
    pub(crate) const fn new(interval: Duration) -> Self {
        Self {
            turns: VecDeque::new(),
            below: VecDeque::new(),
            interval,
            next_at: Time::ZERO,
            saved: Duration::ZERO,
            is_held: false,
        }
    }

    /// While it is held, no pull goes past the queue.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// One pull each `interval` from now on, counted from the last pull that was sent; none is due
    /// before `now` that was not.
    pub(crate) fn set_interval(&mut self, now: Time, interval: Duration) {
        if self.next_at > Time::ZERO {
            let moved = self.next_at.saturating_add(interval).as_ps() - self.interval.as_ps();
            self.next_at = Time::from_ps(moved).max(now.min(self.next_at));
        }
        self.interval = interval;
        // It was saved at another rate.
        self.saved = Duration::ZERO;
    }

    /// A session, not in the queue yet, has a pull to send; one that is `below` all classes waits for the
    /// others.
    #[inline]
    pub(crate) fn enter(&mut self, session: SessionKey, below: bool) {
        match below {
            false => self.turns.push_back(session),
            true => self.below.push_back(session),
        }
    }

    /// Takes the right to send one pull at once, past the queue: only when nobody waits.
    #[inline]
    pub(crate) fn take_if_idle(&mut self, now: Time) -> bool {
        let idle = !self.is_held && self.is_empty() && self.next_at <= now;
        if idle {
            // The link stood idle too: nothing is to be made up for.
            self.saved = Duration::ZERO;
            self.next_at = now + self.interval;
        }
        idle
    }

    /// The session whose turn it is, if a pull may leave now. The caller tells by [`Self::sent`] that
    /// one did, and enters the session again if it has more.
    #[inline]
    pub(crate) fn turn(&mut self, now: Time) -> Option<SessionKey> {
        if self.next_at > now {
            return None;
        }
        self.turns.pop_front().or_else(|| self.below.pop_front())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.below.is_empty()
    }

    /// A pull has been sent.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time) {
        let taken_off = self.saved.min(self.interval);
        self.saved -= taken_off;
        self.next_at = now + self.interval - taken_off;
    }

    /// The pull that was just sent asked for so many packets, not for one. One that asks for none takes
    /// as long as a header.
    #[inline]
    pub(crate) fn charge(&mut self, packets: u32) {
        let header = (self.interval / 16).max(Duration::from_ps(1));
        let span = (self.interval * u64::from(packets)).max(header);
        let charged = self.next_at.saturating_add(span);
        self.next_at = Time::from_ps(charged.as_ps().saturating_sub(self.interval.as_ps()));
    }

    /// The packet that a pull asked for took `less` than the full one that the pull was charged.
    #[inline]
    pub(crate) fn refund(&mut self, less: Duration) {
        self.saved = (self.saved + less).min(self.interval * MOST_SAVED);
    }

    /// When the next pull may leave, if any waits.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at)
    }
}
