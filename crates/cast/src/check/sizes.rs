//! Searches for the largest IP packet that arrives. Each round tries several sizes at the same time.
//! All these sizes are larger than a size that has arrived, and smaller than a size that was lost.

/// Sizes of the first round: the smallest MTU of IPv6, and common MTUs of tunnels, Ethernet and jumbo frames.
const FIRST: [u16; 12] = [
    1_280, 1_350, 1_380, 1_400, 1_420, 1_450, 1_460, 1_480, 1_492, 1_500, 4_000, MOST,
];
/// Largest size that is tried, in bytes.
pub(super) const MOST: u16 = 9_000;
/// Largest number of sizes in one round.
/// With fewer sizes, the search needs more rounds, and each round waits for lost packets.
/// With more sizes, each round sends more packets.
const AT_ONCE: u16 = 12;

/// State of the search for the largest packet.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Largest size that has arrived, in bytes. 0: none.
    arrived: u16,
    /// Smallest size above `arrived` that was lost, in bytes.
    lost: u16,
    /// Largest size that may be tried, in bytes.
    most: u16,
}

impl Sizes {
    /// Creates a search for sizes up to `most` bytes.
    pub(super) fn new(most: u16) -> Self {
        Self {
            arrived: 0,
            lost: most + 1,
            most,
        }
    }

    /// Returns the sizes of the next round, in ascending order. The list is empty if the search has ended.
    pub(super) fn next(&self) -> Vec<u16> {
        if self.arrived == 0 && self.lost > self.most {
            return FIRST
                .into_iter()
                .filter(|size| *size <= self.most)
                .collect();
        }
        let between = self.lost - self.arrived - 1;
        if self.arrived == 0 || between == 0 {
            return Vec::new();
        }
        let steps = between.min(AT_ONCE);
        let mut sizes: Vec<u16> = (1..=steps)
            .map(|step| {
                self.arrived + (u32::from(between) * u32::from(step) / u32::from(steps)) as u16
            })
            .collect();
        // The search always tries the size that is one byte larger than the largest arrived size.
        // If this packet is lost, the search has ended.
        sizes.insert(0, self.arrived + 1);
        sizes.dedup();
        sizes
    }

    /// Records which of the tried sizes have arrived.
    pub(super) fn note(&mut self, tried: &[(u16, bool)]) {
        for (size, _) in tried.iter().filter(|(_, has_arrived)| *has_arrived) {
            self.arrived = self.arrived.max(*size);
        }
        let lost = tried.iter().filter(|(size, _)| *size > self.arrived);
        let lost = lost.map(|(size, _)| *size).chain([self.lost]);
        self.lost = lost.min().unwrap_or(self.lost);
    }

    /// Returns the bytes of the largest packet that arrives, or `None` if no tried size arrives.
    pub(super) fn largest(&self) -> Option<u16> {
        (self.arrived > 0).then_some(self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(mtu: u16, most: u16) -> (Option<u16>, usize) {
        let mut sizes = Sizes::new(most);
        let mut rounds = 0;
        loop {
            let next = sizes.next();
            if next.is_empty() {
                return (sizes.largest(), rounds);
            }
            rounds += 1;
            assert!(next.is_sorted() && next.len() <= 13, "{next:?}");
            let tried: Vec<(u16, bool)> = next.iter().map(|size| (*size, *size <= mtu)).collect();
            sizes.note(&tried);
        }
    }

    #[test]
    fn every_mtu_is_found_in_few_rounds() {
        for mtu in 1_280..=MOST {
            let (found, rounds) = search(mtu, MOST);
            assert_eq!(found, Some(mtu));
            assert!(rounds <= 6, "{mtu}: {rounds}");
        }
        for usual in [1_280, 1_420, 1_480, 1_492, 1_500] {
            assert!(search(usual, MOST).1 <= 2, "{usual}");
        }
        assert_eq!(search(1_279, MOST), (None, 1));
        assert_eq!(search(9_000, 1_480), (Some(1_480), 1));
    }
}
