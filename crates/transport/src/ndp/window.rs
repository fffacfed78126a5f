//! Compact record of the packets of a flow: two bits for each packet from the lowest unfinished packet.

use alloc::collections::VecDeque;

/// Largest distance of a packet from the lowest unfinished packet. Packets beyond this distance are invalid.
// The limit bounds the memory that an invalid header can cause a host to allocate: 2 bits x 2^22 are 1 MB.
pub(crate) const MAX_SPAN: u64 = 1 << 22;

/// State bits of 64 consecutive packets.
#[derive(Clone, Copy, Default, Debug)]
struct Word {
    done: u64,
    waits: u64,
}

/// State of each packet: done (arrived or acknowledged), waiting (the caller defines the meaning), or idle.
/// All packets below [`Window::base`] are done and use no memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    words: VecDeque<Word>,
    /// Packet number of the first bit of `words[0]`, divided by 64.
    first: u64,
    base: u64,
    done: u64,
}

impl Window {
    /// Returns the lowest packet that is not done.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the number of packets that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    #[inline]
    fn word(&self, index: u64) -> Word {
        let place = (index / 64).checked_sub(self.first);
        let word = place.and_then(|place| self.words.get(place as usize));
        word.copied().unwrap_or_default()
    }

    /// Returns the word that contains a packet. The packet is at least `base` and in reach.
    #[inline]
    fn word_mut(&mut self, index: u64) -> &mut Word {
        let place = (index / 64 - self.first) as usize;
        if self.words.len() <= place {
            self.words.resize(place + 1, Word::default());
        }
        &mut self.words[place]
    }

    #[inline]
    pub(crate) fn is_done(&self, index: u64) -> bool {
        index < self.base || self.word(index).done >> (index % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn waits(&self, index: u64) -> bool {
        index >= self.base && self.word(index).waits >> (index % 64) & 1 == 1
    }

    /// Returns whether packet `index` is less than [`MAX_SPAN`] above `base`, so that it can be recorded.
    #[inline]
    pub(crate) fn in_reach(&self, index: u64) -> bool {
        index.saturating_sub(self.base) < MAX_SPAN
    }

    /// Sets whether packet `index` is waiting. The packet must be in reach.
    #[inline]
    pub(crate) fn set_waits(&mut self, index: u64, waits: bool) {
        // Packets below the base are done and never wait.
        if index >= self.base {
            let bit = 1 << (index % 64);
            let word = self.word_mut(index);
            word.waits = if waits {
                word.waits | bit
            } else {
                word.waits & !bit
            };
        }
    }

    /// Marks packet `index` as done. The packet must be in reach. Returns `false` if it was done before.
    #[inline]
    pub(crate) fn set_done(&mut self, index: u64) -> bool {
        // All packets below the base are done, and their bits are no longer stored.
        if index < self.base {
            return false;
        }
        let bit = 1 << (index % 64);
        let word = self.word_mut(index);
        let new = word.done & bit == 0;
        word.done |= bit;
        word.waits &= !bit;
        if new {
            self.done += 1;
            if index == self.base {
                self.advance();
            }
        }
        new
    }

    /// Marks all packets below `end` as done. `end` must be in reach.
    pub(crate) fn set_done_below(&mut self, end: u64) {
        while self.base < end {
            self.set_done(self.base);
        }
    }

    fn advance(&mut self) {
        while let Some(word) = self.words.front() {
            let from = self.base % 64;
            let run = u64::from((!(word.done >> from)).trailing_zeros());
            self.base += run.min(64 - from);
            // The base stopped inside this word, or could not move past the first packet of the word.
            if !self.base.is_multiple_of(64) || run == 0 {
                return;
            }
            self.words.pop_front();
            self.first += 1;
        }
    }

    /// Returns the lowest packet below `end` that is neither done nor waiting.
    pub(crate) fn first_idle(&self, end: u64) -> Option<u64> {
        if self.base >= end {
            return None;
        }
        let mut index = self.base;
        for word in &self.words {
            let busy = (word.done | word.waits) >> (index % 64);
            let run = u64::from((!busy).trailing_zeros());
            if run < 64 - index % 64 {
                index += run;
                return (index < end).then_some(index);
            }
            index = (index / 64 + 1) * 64;
            if index >= end {
                return None;
            }
        }
        // All packets beyond the last word are idle.
        Some(index)
    }

    /// Clears the waiting state of all packets.
    pub(crate) fn clear_waits(&mut self) {
        for word in &mut self.words {
            word.waits = 0;
        }
    }

    /// Frees the memory of a flow whose packets are all done.
    pub(crate) fn release(&mut self) {
        self.words = VecDeque::new();
        self.first = self.base / 64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Compares the window with a plain model: two lists of booleans.
        #[test]
        fn agrees_with_two_lists_of_bools(
            operations in proptest::collection::vec((0u64..300, 0u8..4), 1..400)
        ) {
            let mut window = Window::default();
            let (mut done, mut waits) = (vec![false; 400], vec![false; 400]);
            for (index, operation) in operations {
                let i = index as usize;
                match operation {
                    0 | 1 => {
                        prop_assert_eq!(window.set_done(index), !done[i]);
                        done[i] = true;
                        waits[i] = false;
                    }
                    2 => {
                        if !done[i] {
                            window.set_waits(index, true);
                            waits[i] = true;
                        }
                    }
                    _ => {
                        let end = index / 4;
                        window.set_done_below(end);
                        done[..end as usize].fill(true);
                        waits[..end as usize].fill(false);
                    }
                }
                let base = done.iter().position(|done| !done).expect("400 and only 300 used");
                prop_assert_eq!(window.base(), base as u64);
                prop_assert_eq!(window.done(), done.iter().filter(|done| **done).count() as u64);
                for end in [0u64, 1, 63, 64, 65, 128, 300] {
                    let idle = (0..end).find(|&n| !done[n as usize] && !waits[n as usize]);
                    prop_assert_eq!(window.first_idle(end), idle, "below {}", end);
                }
                let all: Vec<bool> = (0..400).map(|n| window.is_done(n)).collect();
                prop_assert_eq!(&all, &done);
                let all: Vec<bool> = (0..400).map(|n| window.waits(n)).collect();
                prop_assert_eq!(&all, &waits);
            }
        }
    }
}
