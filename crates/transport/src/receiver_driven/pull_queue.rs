//! The one queue of pulls that all sessions of an interface share (NDP paper, section 3.2; SCDP paper,
//! section IV-C): sessions take turns, and pulls leave no faster than full packets can arrive on the
//! interface, headers, preamble and gap counted, so that what they ask for arrives at line rate.

use super::SessionKey;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Sessions with pulls to send, in turn, and when the next pull may leave.
#[derive(Debug)]
pub(crate) struct PullQueue {
    turns: VecDeque<SessionKey>,
    interval: Duration,
    next_at: Time,
}

impl PullQueue {
    /// One pull each `interval`.
    pub(crate) const fn new(interval: Duration) -> Self {
        Self {
            turns: VecDeque::new(),
            interval,
            next_at: Time::ZERO,
        }
    }

    /// A session, not in the queue yet, has a pull to send.
    #[inline]
    pub(crate) fn enter(&mut self, session: SessionKey) {
        self.turns.push_back(session);
    }

    /// Takes the right to send one pull at once, past the queue: only when nobody waits.
    #[inline]
    pub(crate) fn take_if_idle(&mut self, now: Time) -> bool {
        let idle = self.turns.is_empty() && self.next_at <= now;
        if idle {
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
        self.turns.pop_front()
    }

    /// A pull has been sent.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time) {
        self.next_at = now + self.interval;
    }

    /// When the next pull may leave, if any waits.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        (!self.turns.is_empty()).then_some(self.next_at)
    }
}
