//! The credits that a receiver has given to one sender. A symbol carries the number of the credit that
//! it uses, so that a gap in the numbers shows a loss, and the credit's age the round trip.

use crate::scdp::common::limits::MAX_WINDOW;
use alloc::collections::VecDeque;
use tailcut_units::Time;

/// A credit is lost when so many later ones have been used (RFC 9002, section 6.1.1).
const REORDERING: u32 = 3;
/// The same at most, after symbols that had been taken for lost came.
const MAX_REORDERING: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    InFlight,
    Here,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Credit {
    /// When it was given; `Time::MAX` where that says nothing about the path.
    given_at: Time,
    state: State,
    /// The block of the symbol that has come.
    block: u32,
}

/// What the use of a credit tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// It was in flight, and had been given then, if that says how long the path is.
    InFlight(Option<Time>),
    /// It had been taken for lost, or has been used before.
    Late,
    /// No honest sender can have it.
    Nonsense,
}

/// What has become of the symbols that a receiver has asked one sender for, pushed ones included:
/// `asked` is the sum of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Balance {
    /// All of them.
    pub asked: u32,
    /// Those that came, whole or trimmed.
    pub arrived: u32,
    /// Those that are taken for lost.
    pub lost: u32,
    /// Those of which nothing is known yet.
    pub in_flight: u32,
}

/// The credits from the first on that is not accounted for.
#[derive(Debug)]
pub(crate) struct Credits {
    ring: VecDeque<Credit>,
    /// The number of the first in the ring.
    next: u32,
    /// One past the highest that has been used.
    highest: u32,
    /// Every credit before this one has been looked at for being lost.
    swept: u32,
    in_flight: u32,
    arrived: u32,
    lost: u32,
    /// The highest credit that was taken for lost.
    last_lost: u32,
    reordering: u32,
}

impl Credits {
    /// A sender that pushes uses the first `pushed` ones, which are no measure of the path.
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
        credits.give(Time::MAX, pushed);
        credits
    }

    /// Gives `count` more.
    pub(crate) fn give(&mut self, now: Time, count: u32) {
        let credit = Credit {
            given_at: now,
            state: State::InFlight,
            block: 0,
        };
        self.ring.extend((0..count).map(|_| credit));
        self.in_flight += count;
    }

    /// The last `count` credits, which the sender holds, are used only from now on.
    pub(crate) fn renew(&mut self, now: Time, count: u32) {
        let unused = (self.granted() - self.highest.max(self.next)).min(count) as usize;
        let from = self.ring.len() - unused;
        for credit in self.ring.range_mut(from..) {
            credit.given_at = now;
        }
    }

    /// How many have been given.
    pub(crate) fn granted(&self) -> u32 {
        self.next + self.ring.len() as u32
    }

    /// Every credit before this one is accounted for.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The highest that was taken for lost.
    pub(crate) fn last_lost(&self) -> u32 {
        self.last_lost
    }

    /// Given, not used and not lost.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Taken for lost so far.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// What has become of all of them.
    pub(crate) fn balance(&self) -> Balance {
        Balance {
            asked: self.granted(),
            arrived: self.arrived,
            lost: self.lost,
            in_flight: self.in_flight,
        }
    }

    /// A symbol of `block` has come that uses credit `number`.
    pub(crate) fn on_use(&mut self, number: u32, block: u32) -> Use {
        let Some(place) = number.checked_sub(self.next) else {
            return Use::Late;
        };
        // A group's symbol that this receiver has no part in, and that the sender has not waited for.
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

    /// A symbol came that had been taken for lost: the path reorders more than was thought.
    pub(crate) fn on_spurious(&mut self) {
        self.reordering = (self.reordering * 2).min(MAX_REORDERING);
    }

    /// Takes for lost what so many later ones have overtaken. Gives how many.
    pub(crate) fn sweep(&mut self) -> u32 {
        let end = self.highest.saturating_sub(self.reordering);
        self.lose_until(end, Time::MAX)
    }

    /// The sender says that it has used all before `sent`: those that are not here and were given
    /// before `before` are lost. Gives how many.
    pub(crate) fn on_status(&mut self, sent: u32, before: Time) -> u32 {
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

    /// Forgets what is accounted for. Says whether some of it was lost.
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

    /// How many symbols of a block have come that use credits from [`Self::next`] on. Looks at as many
    /// as may be out of order.
    pub(crate) fn ahead_of(&self, block: u32) -> u32 {
        let used = self.highest.saturating_sub(self.next) as usize;
        let used = self.ring.range(..used.min(self.ring.len()));
        let here = |credit: &&Credit| credit.state == State::Here && credit.block == block;
        used.filter(here).count() as u32
    }

    /// What the ring holds: those in flight, here and lost. For tests.
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
            "not the one given since"
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
        /// Every credit that was given has come, is lost, or is in flight.
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
