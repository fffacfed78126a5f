//! Queue of pulls.
//! Each interface has one queue for all its sessions (NDP paper, section 3.2; SCDP paper, section IV-C).
//! Sessions take turns.
//! Pulls leave no faster than full packets can arrive on the interface, including headers, preamble and gap.
//! So the requested packets arrive at the line rate of the interface.

use super::SessionKey;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Largest number of saved intervals. It limits the number of pulls that can leave together.
const MOST_SAVED: u64 = 8;

/// Sessions with pulls to send, in the order of their turns, and the time of the next pull.
#[derive(Debug)]
pub(crate) struct PullQueue {
    turns: VecDeque<SessionKey>,
    /// Sessions in the class below all other classes. They have a turn only if no other session waits.
    below: VecDeque<SessionKey>,
    interval: Duration,
    next_at: Time,
    /// Time that was charged for pulls of short packets but not used. The time is subtracted from the next intervals.
    saved: Duration,
    /// Whether all pulls must wait in the queue.
    is_held: bool,
}

impl PullQueue {
    /// Creates a queue that sends one pull per `interval`.
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

    /// Turns the delay of pulls on or off. While the delay is on, every pull waits in the queue.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Changes the interval between pulls, counted from the last pull that was sent.
    /// If the next pull was not due yet, its new time is `now` or later.
    pub(crate) fn set_interval(&mut self, now: Time, interval: Duration) {
        // Before the first pull there is no departure time to change.
        if self.next_at > Time::ZERO {
            let moved = self.next_at.saturating_add(interval).as_ps() - self.interval.as_ps();
            self.next_at = Time::from_ps(moved).max(now.min(self.next_at));
        }
        self.interval = interval;
        // The saved time was measured at the old rate, so it is no longer valid.
        self.saved = Duration::ZERO;
    }

    /// Adds a session that has a pull to send and is not in the queue.
    /// With `below`, the session has the class below all other classes, and waits for all other sessions.
    #[inline]
    pub(crate) fn enter(&mut self, session: SessionKey, below: bool) {
        match below {
            false => self.turns.push_back(session),
            true => self.below.push_back(session),
        }
    }

    /// Allows one pull to leave immediately, without the queue.
    /// Returns `false` if a session waits or the next pull is not due.
    #[inline]
    pub(crate) fn take_if_idle(&mut self, now: Time) -> bool {
        let idle = !self.is_held && self.is_empty() && self.next_at <= now;
        if idle {
            // The link was also idle, so saved time must not cause a burst.
            self.saved = Duration::ZERO;
            self.next_at = now + self.interval;
        }
        idle
    }

    /// Returns the session whose turn it is, if a pull may leave now.
    /// The caller reports a sent pull with [`Self::sent`], and adds the session again if it has more pulls.
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

    /// Records that a pull was sent.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time) {
        let taken_off = self.saved.min(self.interval);
        self.saved -= taken_off;
        // The interval starts now, so that a late call causes no burst of pulls.
        self.next_at = now + self.interval - taken_off;
    }

    /// Charges the time of `packets` packets, not of one packet, for the pull that was just sent.
    /// A pull for no packets is charged the time of a header.
    #[inline]
    pub(crate) fn charge(&mut self, packets: u32) {
        // A sixteenth of a full packet is about the length of a header.
        // The minimum of 1 ps ensures that the loop over due pulls ends, even if the interval is below 16 ps.
        let header = (self.interval / 16).max(Duration::from_ps(1));
        let span = (self.interval * u64::from(packets)).max(header);
        let charged = self.next_at.saturating_add(span);
        // `sent` has already charged one interval.
        self.next_at = Time::from_ps(charged.as_ps().saturating_sub(self.interval.as_ps()));
    }

    /// Gives unused time back. The pull was charged for the time of a full packet.
    /// The requested packet needed less time. The difference is `less`.
    #[inline]
    pub(crate) fn refund(&mut self, less: Duration) {
        self.saved = (self.saved + less).min(self.interval * MOST_SAVED);
    }

    /// Returns the time at which the next pull may leave, if any waits.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at)
    }
}
