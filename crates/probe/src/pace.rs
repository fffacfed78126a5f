//! Rate control of SYNs. This module does no I/O. Times may start at any fixed moment.

use tailcut_units::{Time, TokenBucket};

/// Largest rate in SYNs per second, unless the user allows more.
pub const MOST: f64 = 640.0;
/// Smallest rate in SYNs per second, even if few answers arrive.
const FEWEST: f64 = 4.0;
/// Number of SYNs that may be sent together after a pause. The number is low, so that routers do not get bursts.
const BURST: f64 = 4.0;
/// Share of missing answers above which the rate is halved, 0 to 1.
const TOO_MANY: f64 = 0.1;
/// Number of probes, answered or not, between two changes of the rate.
const WINDOW: u32 = 20;

/// Part of a token that may be missing when a SYN is sent, because rounded times cause small errors.
const ROUNDING: f64 = 1e-6;

/// Token bucket whose rate is halved if answers are missing, and recovers slowly.
#[derive(Clone, Debug)]
pub struct Pace {
    most: f64,
    rate: f64,
    tokens: TokenBucket,
    answered: u32,
    missed: u32,
}

impl Pace {
    /// Creates a bucket with a rate of `most` SYNs per second, above 0.
    pub fn new(most: f64) -> Self {
        Self {
            most,
            rate: most,
            tokens: TokenBucket::new(BURST),
            answered: 0,
            missed: 0,
        }
    }

    /// Takes a token to send one SYN now. If there is none, returns the time at which the SYN may be sent.
    pub fn take(&mut self, now: Time) -> Result<(), Time> {
        self.tokens.fill(now, self.rate, BURST);
        if self.tokens.tokens() < 1.0 - ROUNDING {
            return Err(self.tokens.holds_at(1.0, self.rate));
        }
        self.tokens.spend(1.0);
        Ok(())
    }

    /// Counts one probe as answered or unanswered. Call this function only for a router that has answered other probes.
    pub fn hear(&mut self, is_answer: bool) {
        match is_answer {
            true => self.answered += 1,
            false => self.missed += 1,
        }
        let heard = self.answered + self.missed;
        if heard < WINDOW {
            return;
        }
        let is_too_fast = f64::from(self.missed) > TOO_MANY * f64::from(heard);
        self.rate = match is_too_fast {
            // If the user sets a rate below `FEWEST`, the rate must stay at or below the user's value.
            true => (self.rate / 2.0).max(FEWEST.min(self.most)),
            false => (self.rate * 1.25).min(self.most),
        };
        (self.answered, self.missed) = (0, 0);
    }

    /// Returns whether missing answers have lowered the rate to a small part of the wanted one.
    pub fn is_slowed(&self) -> bool {
        self.rate < self.most / 16.0
    }

    /// Returns the current rate in SYNs per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::Duration;

    /// Returns the number of SYNs that are sent within a second after `start`.
    /// The sender sends each SYN as soon as the pace allows it.
    fn sent(pace: &mut Pace, start: u64) -> u32 {
        let start = Time::ZERO + Duration::from_ms(1_000 * start);
        let (mut now, mut sent) = (start, 0);
        while now < start + Duration::from_ms(1_000) {
            match pace.take(now) {
                Ok(()) => sent += 1,
                Err(later) => now = later,
            }
        }
        sent
    }

    #[test]
    fn no_second_has_more_than_the_rate_and_a_short_burst() {
        let mut pace = Pace::new(MOST);
        for second in 0..10 {
            let sent = sent(&mut pace, second);
            assert!((638..=645).contains(&sent), "{sent}");
        }
        let after_a_pause = sent(&mut pace, 1_000);
        assert!(after_a_pause <= 645, "{after_a_pause}");
    }

    #[test]
    fn missing_answers_slow_it_down_and_answers_bring_it_back() {
        let mut pace = Pace::new(MOST);
        (0..400).for_each(|number| pace.hear(number % 4 != 0));
        assert!(pace.rate() < 5.0, "{}", pace.rate());
        (0..2_000).for_each(|_| pace.hear(true));
        assert!((pace.rate() - MOST).abs() < 1e-9, "{}", pace.rate());
        let mut slow = Pace::new(2.0);
        (0..400).for_each(|_| slow.hear(false));
        assert!(slow.rate() <= 2.0);
    }
}
