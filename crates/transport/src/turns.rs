//! Order of transmission within a host: strict priority between classes, and round robin within a class.
//! A host thus treats its own packets like a switch with priorities.
//! In the SCDP paper, symbols move to lower classes as bytes are sent (section IV-A).
//! The classes also follow PIAS (NSDI 2015, section 4).

use crate::receiver_driven::MAX_THRESHOLDS;
use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// Number of classes: the classes of demotion, and one lower class.
const CLASSES: usize = MAX_THRESHOLDS + 2;

/// Keys of sessions, connections or packets that wait to be sent.
/// There are nine classes: the classes of [`Demotion`](crate::Demotion), and one lower class.
/// A larger class number is taken modulo nine.
#[derive(Debug)]
pub struct Turns<K> {
    highest: VecDeque<K>,
    /// All lower classes, or `None` until the first key enters one of them.
    /// Most hosts use one class, and nine queues would need five cache lines.
    lower: Option<Box<[VecDeque<K>; CLASSES - 1]>>,
    /// Bit mask of the classes with waiting keys.
    waiting: u16,
}

impl<K: Copy + PartialEq> Default for Turns<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + PartialEq> Turns<K> {
    /// Creates an empty queue.
    pub const fn new() -> Self {
        Self {
            highest: VecDeque::new(),
            lower: None,
            waiting: 0,
        }
    }

    #[inline]
    fn class(&mut self, class: usize) -> &mut VecDeque<K> {
        match class.checked_sub(1) {
            None => &mut self.highest,
            Some(lower) => self.lower(lower),
        }
    }

    #[inline(never)]
    fn lower(&mut self, index: usize) -> &mut VecDeque<K> {
        let lower = self
            .lower
            .get_or_insert_with(|| Box::new([const { VecDeque::new() }; CLASSES - 1]));
        &mut lower[index]
    }

    /// Appends `key` to a class. The key must not be waiting.
    #[inline]
    pub fn enter(&mut self, key: K, class: u8) {
        // The remainder keeps the index in range, for any class number.
        let class = usize::from(class) % CLASSES;
        self.class(class).push_back(key);
        self.waiting |= 1 << class;
    }

    /// Puts `key` at the head of a class. The key must not be waiting.
    #[inline]
    pub(crate) fn enter_first(&mut self, key: K, class: u8) {
        let class = usize::from(class) % CLASSES;
        self.class(class).push_front(key);
        self.waiting |= 1 << class;
    }

    /// Moves `key` from the class in which it waits to the end of another class.
    pub(crate) fn change(&mut self, key: K, from: u8, to: u8) {
        let class = usize::from(from) % CLASSES;
        let turns = self.class(class);
        turns.retain(|other| *other != key);
        if turns.is_empty() {
            self.waiting &= !(1 << class);
        }
        self.enter(key, to);
    }

    /// Removes and returns the key whose turn it is.
    #[inline]
    pub fn take(&mut self) -> Option<K> {
        if self.waiting == 0 {
            return None;
        }
        let class = self.waiting.trailing_zeros() as usize;
        let turns = self.class(class);
        let key = turns.pop_front();
        if turns.is_empty() {
            self.waiting &= !(1 << class);
        }
        key
    }

    /// Returns the key whose turn it is, and does not remove it.
    #[inline]
    pub fn first(&self) -> Option<K> {
        match self.waiting.trailing_zeros() as usize {
            0 => self.highest.front().copied(),
            class => self.lower.as_ref()?.get(class - 1)?.front().copied(),
        }
    }

    /// Returns whether no key is waiting.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn all(turns: &mut Turns<char>) -> Vec<char> {
        core::iter::from_fn(|| turns.take()).collect()
    }

    #[test]
    fn high_classes_go_first_and_a_class_in_turn() {
        let mut turns = Turns::new();
        for (key, class) in [('a', 2), ('b', 0), ('c', 2), ('d', 7)] {
            turns.enter(key, class);
        }
        turns.enter_first('e', 2);
        assert_eq!(all(&mut turns), ['b', 'e', 'a', 'c', 'd']);
        assert!(turns.is_empty());
    }

    #[test]
    fn who_changes_class_is_its_last_and_has_one_turn() {
        let mut turns = Turns::new();
        for (key, class) in [('a', 1), ('b', 3), ('c', 1)] {
            turns.enter(key, class);
        }
        turns.change('b', 3, 1);
        turns.change('a', 1, 4);
        assert_eq!(all(&mut turns), ['c', 'b', 'a']);
    }
}
