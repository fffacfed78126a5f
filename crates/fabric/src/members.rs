//! Sets of members of a multicast group. A set contains the positions of members in the group.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Number of positions in one word of the bit set.
pub(crate) const WORD: usize = 64;

/// Set of members: one word for a group of at most 64 members, and several words for a larger group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Members {
    Few(u64),
    Many(Box<[u64]>),
}

impl Default for Members {
    fn default() -> Self {
        Self::Few(0)
    }
}

impl Members {
    /// Creates an empty set with space for the same number of positions as another set.
    #[inline]
    pub fn none_of(other: &Self) -> Self {
        match other {
            Self::Few(_) => Self::Few(0),
            Self::Many(words) => Self::Many(alloc::vec![0; words.len()].into()),
        }
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match self {
            Self::Few(word) => core::slice::from_ref(word),
            Self::Many(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Few(word) => core::slice::from_mut(word),
            Self::Many(words) => words,
        }
    }

    /// Adds a position to the set.
    #[inline]
    pub fn insert(&mut self, place: usize) {
        match self {
            Self::Few(word) if place < WORD => *word |= bit(place),
            _ => self.insert_among_many(place),
        }
    }

    fn insert_among_many(&mut self, place: usize) {
        match self.words_mut().get_mut(place / WORD) {
            Some(word) => *word |= bit(place),
            None => self.grow(place),
        }
    }

    /// Adds a position that is beyond the current size of the set.
    #[cold]
    fn grow(&mut self, place: usize) {
        let mut words: Vec<u64> = self.words().into();
        words.resize(place / WORD + 1, 0);
        words[place / WORD] |= bit(place);
        *self = Self::Many(words.into());
    }

    /// Removes a position from the set.
    #[inline]
    pub fn remove(&mut self, place: usize) {
        match self {
            Self::Few(word) if place < WORD => *word &= !bit(place),
            Self::Few(_) => {}
            Self::Many(words) => {
                if let Some(word) = words.get_mut(place / WORD) {
                    *word &= !bit(place);
                }
            }
        }
    }

    #[inline]
    pub fn contains(&self, place: usize) -> bool {
        match self {
            Self::Few(word) => place < WORD && word & bit(place) != 0,
            Self::Many(words) => {
                let word = words.get(place / WORD);
                word.is_some_and(|word| word & bit(place) != 0)
            }
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|word| *word == 0)
    }

    /// Returns the position of the only member. Returns `None` if the set is empty or has several members.
    #[inline]
    pub fn sole(&self) -> Option<usize> {
        match self {
            Self::Few(word) => word
                .is_power_of_two()
                .then(|| word.trailing_zeros() as usize),
            Self::Many(words) => {
                let number = words.iter().position(|word| *word != 0)?;
                let (word, rest) = (words[number], &words[number + 1..]);
                let is_sole = word.is_power_of_two() && rest.iter().all(|word| *word == 0);
                is_sole.then(|| number * WORD + word.trailing_zeros() as usize)
            }
        }
    }

    /// Passes each position to `show`, in ascending order.
    #[inline]
    pub fn for_each(&self, mut show: impl FnMut(usize)) {
        let (mut left, rest) = match self {
            Self::Few(word) => (*word, &[][..]),
            Self::Many(words) => (0, &words[..]),
        };
        let mut rest = rest.iter().zip((0..).step_by(WORD));
        let mut first = 0;
        loop {
            while left != 0 {
                show(first + left.trailing_zeros() as usize);
                // Clear the lowest bit, which is the position that was just passed to `show`.
                left &= left - 1;
            }
            let Some((word, place)) = rest.next() else {
                return;
            };
            (left, first) = (*word, place);
        }
    }

    /// Returns the lowest position that is not in the set.
    pub fn vacant(&self) -> usize {
        let words = self.words();
        let full = words.iter().take_while(|word| **word == u64::MAX).count();
        let next = words.get(full).copied().unwrap_or_default();
        full * WORD + next.trailing_ones() as usize
    }
}

#[inline]
const fn bit(place: usize) -> u64 {
    1 << (place % WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_of_places_has_what_was_added_and_not_taken_out(
            most in 1..300usize,
            steps in proptest::collection::vec((any::<bool>(), 0..300usize), 0..400),
        ) {
            let (mut ours, mut plain) = (Members::default(), BTreeSet::new());
            for (adds, place) in steps {
                let place = place % most;
                if adds {
                    ours.insert(place);
                    plain.insert(place);
                } else {
                    ours.remove(place);
                    plain.remove(&place);
                }
                prop_assert_eq!(ours.contains(place), adds);
                let vacant = (0..).find(|place| !plain.contains(place));
                prop_assert_eq!(Some(ours.vacant()), vacant);
            }
            let mut places = Vec::new();
            ours.for_each(|place| places.push(place));
            prop_assert!(places.iter().eq(&plain));
            prop_assert_eq!(ours.is_empty(), plain.is_empty());
            let sole = plain.first().filter(|_| plain.len() == 1);
            prop_assert_eq!(ours.sole(), sole.copied());
            prop_assert!(Members::none_of(&ours).is_empty());
        }
    }

    #[test]
    fn a_set_takes_two_words_of_a_packet() {
        assert_eq!(size_of::<Members>(), 16);
    }
}
