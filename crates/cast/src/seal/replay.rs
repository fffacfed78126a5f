//! Window of the packet numbers that have arrived.

/// Size of the window in packet numbers. The window ends at the largest number that has arrived.
/// The window is larger than the largest number of granted credits.
const SPAN: u64 = 8_192;

/// Number of 64-bit words in the window. There is one bit for each packet number.
/// One more word is needed because the window moves by whole words (RFC 6479).
const WORDS: usize = SPAN as usize / 64 + 1;

/// Window of received packet numbers. It covers the 8,192 numbers up to the largest one.
/// Older numbers count as received. The window needs about 1 KB of memory.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    largest: Option<u64>,
    words: Box<[u64; WORDS]>,
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self {
            largest: None,
            words: Box::new([0; WORDS]),
        }
    }
}

impl ReplayWindow {
    /// Returns the largest packet number that has arrived.
    pub fn largest(&self) -> Option<u64> {
        self.largest
    }

    /// Returns whether a packet with this number is new.
    pub fn is_new(&self, number: u64) -> bool {
        match self.largest {
            None => true,
            Some(largest) if number > largest => true,
            Some(largest) if largest - number >= SPAN => false,
            Some(_) => self.words[word(number)] >> (number % 64) & 1 == 0,
        }
    }

    /// Records the number of an authentic packet. Returns whether it was new.
    pub fn take(&mut self, number: u64) -> bool {
        if !self.is_new(number) {
            return false;
        }
        let from = self.largest.map_or(number / 64, |largest| largest / 64);
        if self.largest.is_none_or(|largest| number > largest) {
            // The words between the old and the new largest number still have bits of older numbers.
            // A jump over the whole window clears each word only once.
            let passed = (number / 64 - from).min(WORDS as u64);
            for later in 0..passed {
                self.words[word(number - 64 * later)] = 0;
            }
            self.largest = Some(number);
        }
        self.words[word(number)] |= 1 << (number % 64);
        true
    }
}

fn word(number: u64) -> usize {
    (number / 64 % WORDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_end_of_numbers_is_no_trap() {
        let mut window = ReplayWindow::default();
        assert!(window.take(u64::MAX - 1));
        assert!(window.take(u64::MAX));
        assert!(!window.take(u64::MAX));
        assert!(!window.take(0));
        assert!(window.take(u64::MAX - SPAN + 1));
        assert!(!window.take(u64::MAX - SPAN));
    }

    proptest! {
        /// The window must give the same answers as a set of all numbers. Numbers that are too old count as received.
        #[test]
        fn a_number_is_taken_once(
            start in prop_oneof![0_u64..3, 0..1_u64 << 33],
            steps in proptest::collection::vec(prop_oneof![
                8 => -70_i64..70,
                3 => -9_000_i64..9_000,
                1 => -100_000_i64..100_000,
            ], 1..300),
        ) {
            let (mut window, mut taken) = (ReplayWindow::default(), BTreeSet::new());
            let mut number = start;
            for step in steps {
                number = number.saturating_add_signed(step);
                let largest = taken.last().copied();
                let old = largest.is_some_and(|largest: u64| largest.saturating_sub(number) >= SPAN);
                let new = !old && !taken.contains(&number);
                prop_assert_eq!(window.is_new(number), new);
                prop_assert_eq!(window.take(number), new);
                if !old {
                    taken.insert(number);
                }
                prop_assert_eq!(window.largest(), taken.last().copied());
            }
        }
    }
}
