//! Credits that a receiver has given to one sender. Each symbol contains the number of the credit that it uses.
//! A gap in the numbers of used credits shows a loss, and the age of a used credit is a round trip.

use crate::scdp::common::limits::MAX_WINDOW;
use alloc::collections::VecDeque;
use tailcut_units::Time;

/// Number of later credits that must be used before a credit counts as lost (RFC 9002, section 6.1.1).
const REORDERING: u32 = 3;
/// Upper bound of the reordering limit. The limit doubles when a symbol arrives that had counted as lost.
// Without an upper bound on reordering, only the timeout would detect losses on paths with much reordering.
const MAX_REORDERING: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    InFlight,
    Here,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Credit {
    /// Time at which the credit was given. `Time::MAX` if it cannot be used to measure the path.
    given_at: Time,
    state: State,
    /// Block of the symbol that has arrived.
    block: u32,
}

/// Result of the use of a credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// The credit was in flight. The value is the time at which the credit was given, if its age measures the path.
    InFlight(Option<Time>),
    /// The credit had counted as lost, or was used before.
    Late,
    /// The credit is invalid: a correct sender cannot have this credit.
    Nonsense,
}

/// Counts of the symbols that a receiver has requested from one sender, including pushed symbols.
/// `asked` is the sum of all other fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Balance {
    /// Total number of requested symbols.
    pub asked: u32,
    /// Number of symbols that have arrived, whole or trimmed.
    pub arrived: u32,
    /// Number of symbols that count as lost.
    pub lost: u32,
    /// Number of symbols that have not arrived and do not count as lost.
    pub in_flight: u32,
}

/// Credits of one sender, starting with the first credit that is still open.
#[derive(Debug)]
pub(crate) struct Credits {
    ring: VecDeque<Credit>,
    /// Number of the first credit in `ring`.
    next: u32,
    /// Highest number of a used credit, plus 1.
    highest: u32,
    /// First credit that the search for losses has not checked.
    swept: u32,
    in_flight: u32,
    arrived: u32,
    lost: u32,
    /// Highest number of a credit whose symbol counts as lost.
    last_lost: u32,
    reordering: u32,
}

impl Credits {
    /// Returns the credits of a sender that pushes `pushed` symbols. The pushed symbols use the first credits.
    /// The age of the first credits does not measure the path.
    pub(crate) fn new(pushed: u32) -> Self {
        let mut credits = Self {
            ring: VecDeque::new(),
            next: 0,
            highest: 0,
            swept: 0,
            in_flight: 0,
            arrived: 0,
            lost: 0,
            last_lost: 0,
            reordering: REORDERING,
        };
        // The departure times of pushed symbols are unknown, so these credits give no round-trip samples.
        credits.give(Time::MAX, pushed);
        credits
    }

    /// Gives `count` more credits.
    pub(crate) fn give(&mut self, now: Time, count: u32) {
        let credit = Credit {
            given_at: now,
            state: State::InFlight,
            block: 0,
        };
        self.ring.extend((0..count).map(|_| credit));
        self.in_flight += count;
    }

    /// Sets a new start time for the last `count` credits.
    /// The sender already has the last `count` credits, but gets symbols for them only now.
    pub(crate) fn renew(&mut self, now: Time, count: u32) {
        // A sender uses credits in order, so unused credits have numbers above the highest used number.
        let unused = (self.granted() - self.highest.max(self.next)).min(count) as usize;
        let from = self.ring.len() - unused;
        for credit in self.ring.range_mut(from..) {
            credit.given_at = now;
        }
    }

    /// Returns the total number of credits given.
    pub(crate) fn granted(&self) -> u32 {
        self.next + self.ring.len() as u32
    }

    /// Returns the first credit that is still open.
    /// Every earlier credit is closed: its symbol has arrived or counts as lost.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Returns the highest number of a credit whose symbol counts as lost.
    pub(crate) fn last_lost(&self) -> u32 {
        self.last_lost
    }

    /// Returns the number of credits whose symbols have not arrived and do not count as lost.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns the number of credits whose symbols count as lost.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the counts of all credits.
    pub(crate) fn balance(&self) -> Balance {
        Balance {
            asked: self.granted(),
            arrived: self.arrived,
            lost: self.lost,
            in_flight: self.in_flight,
        }
    }

    /// Records the arrival of a symbol of `block` that uses credit `number`.
    pub(crate) fn on_use(&mut self, number: u32, block: u32) -> Use {
        let Some(place) = number.checked_sub(self.next) else {
            return Use::Late;
        };
        // A number without a credit is valid within this range.
        // In a group, the sender does not wait for a receiver that has requested all that it needs.
        // A receiver that has requested all symbols still gets the symbols of the group.
        // The second window in the limit leaves space for the numbers of the group's symbols.
        if place >= MAX_WINDOW * 2 {
            return Use::Nonsense;
        }
        if number >= self.granted() {
            self.give(Time::MAX, number + 1 - self.granted());
        }
        let Some(credit) = self.ring.get_mut(place as usize) else {
            return Use::Nonsense;
        };
        self.highest = self.highest.max(number + 1);
        let before = credit.state;
        credit.state = State::Here;
        credit.block = block;
        let given_at = credit.given_at;
        match before {
            State::InFlight => {
                self.in_flight -= 1;
                self.arrived += 1;
                Use::InFlight((given_at < Time::MAX).then_some(given_at))
            }
            State::Lost => {
                self.lost -= 1;
                self.arrived += 1;
                Use::Late
            }
            State::Here => Use::Late,
        }
    }

    /// Raises the reordering limit, because a symbol that had counted as lost has arrived.
    pub(crate) fn on_spurious(&mut self) {
        self.reordering = (self.reordering * 2).min(MAX_REORDERING);
    }

    /// Marks credits as lost that enough later credits have overtaken. Returns the number of these credits.
    pub(crate) fn sweep(&mut self) -> u32 {
        let end = self.highest.saturating_sub(self.reordering);
        self.lose_until(end, Time::MAX)
    }

    /// Processes the sender's report that it has used all credits before `sent`.
    /// A credit that was given before `before`, and whose symbol has not arrived, counts as lost.
    /// Returns the number of credits that are lost for this reason.
    pub(crate) fn on_status(&mut self, sent: u32, before: Time) -> u32 {
        // A faulty sender may report credits that it does not have, so the number is limited.
        let sent = sent.min(self.granted());
        self.highest = self.highest.max(sent);
        self.lose_until(sent, before)
    }

    fn lose_until(&mut self, end: u32, before: Time) -> u32 {
        self.swept = self.swept.max(self.next);
        let mut lost = 0;
        while self.swept < end {
            let place = (self.swept - self.next) as usize;
            let Some(credit) = self.ring.get_mut(place) else {
                break;
            };
            if credit.state == State::InFlight {
                // The report does not cover this credit and later credits, because they were given too late.
                // A credit with `Time::MAX` was given at an unknown time, so it does not end the search.
                if credit.given_at >= before && credit.given_at < Time::MAX {
                    break;
                }
                credit.state = State::Lost;
                lost += 1;
                self.last_lost = self.swept;
            }
            self.swept += 1;
        }
        self.in_flight -= lost;
        self.lost += lost;
        lost
    }

    /// Removes credits that are no longer open. Returns whether one of them was lost.
    pub(crate) fn advance(&mut self) -> bool {
        let mut any_lost = false;
        while let Some(credit) = self.ring.front()
            && credit.state != State::InFlight
        {
            any_lost |= credit.state == State::Lost;
            self.ring.pop_front();
            self.next += 1;
        }
        any_lost
    }

    /// Returns the number of symbols of a block that have arrived and use credits at or after [`Self::next`].
    /// The search covers only credits that can be out of order.
    pub(crate) fn ahead_of(&self, block: u32) -> u32 {
        let used = self.highest.saturating_sub(self.next) as usize;
        let used = self.ring.range(..used.min(self.ring.len()));
        let here = |credit: &&Credit| credit.state == State::Here && credit.block == block;
        used.filter(here).count() as u32
    }

    /// Returns the numbers of credits in flight, arrived and lost in the ring. Only tests use this.
    #[cfg(test)]
    fn states(&self) -> (u32, u32, u32) {
        let count = |state| self.ring.iter().filter(|one| one.state == state).count() as u32;
        (
            count(State::InFlight),
            count(State::Here),
            count(State::Lost),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gap_is_a_loss_once_three_later_ones_are_used_and_what_comes_after_all_is_no_loss() {
        let mut credits = Credits::new(2);
        credits.give(Time::ZERO, 6);
        assert_eq!(credits.on_use(0, 0), Use::InFlight(None), "pushed");
        for number in [2, 3] {
            assert_eq!(credits.on_use(number, 0), Use::InFlight(Some(Time::ZERO)));
            assert_eq!(credits.sweep(), 0);
        }
        credits.on_use(4, 0);
        assert_eq!(credits.sweep(), 1, "number 1");
        assert!(credits.advance());
        assert_eq!((credits.next(), credits.in_flight()), (5, 3));
        assert_eq!(credits.on_use(1, 0), Use::Late);
    }

    #[test]
    fn a_sender_that_has_sent_all_shows_what_is_lost_at_the_end() {
        let mut credits = Credits::new(4);
        credits.on_use(0, 0);
        credits.give(Time::from_ns(50), 1);
        assert_eq!(
            credits.on_status(5, Time::from_ns(20)),
            3,
            "the later credit does not count as lost"
        );
        assert!(credits.advance());
        assert_eq!((credits.next(), credits.in_flight()), (4, 1));
    }

    #[test]
    fn numbers_that_were_never_given_are_unexpected_within_a_window_and_nonsense_beyond() {
        let mut credits = Credits::new(1);
        assert_eq!(credits.on_use(2, 0), Use::InFlight(None));
        assert_eq!((credits.granted(), credits.in_flight()), (3, 2));
        assert_eq!(credits.on_use(u32::MAX, 0), Use::Nonsense);
        assert_eq!(credits.granted(), 3);
    }

    proptest! {
        /// Checks that every credit has arrived, is lost, or is in flight.
        #[test]
        fn what_was_given_has_come_or_is_lost_or_in_flight(
            steps in proptest::collection::vec((0u8..5, 0u32..40), 1..300),
        ) {
            let mut credits = Credits::new(5);
            let mut came = alloc::collections::BTreeSet::new();
            for (step, number) in steps {
                match step {
                    0 => credits.give(Time::ZERO, number % 8),
                    1 => {
                        credits.on_status(number, Time::MAX);
                    }
                    _ => {
                        let number = credits.next().saturating_sub(5) + number;
                        if number < credits.granted() {
                            let was_lost = number < credits.next() && !came.contains(&number);
                            let used = credits.on_use(number, 0);
                            prop_assert!(used != Use::Nonsense);
                            if !was_lost {
                                came.insert(number);
                            }
                        }
                    }
                }
                credits.sweep();
                credits.advance();
                let (in_flight, _, _) = credits.states();
                prop_assert_eq!(in_flight, credits.in_flight());
                let sum = came.len() as u32 + credits.lost() + credits.in_flight();
                prop_assert_eq!(credits.granted(), sum);
            }
        }
    }
}
