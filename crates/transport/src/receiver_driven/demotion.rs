//! Multi-level feedback queue at the sender.
//! Sources: PIAS (Bai et al., NSDI 2015, section 4.1) and the SCDP paper (sections IV-C and V).
//! A flow of any size starts in the highest class. The flow moves down one class at each threshold of bytes *sent*.

/// Largest number of thresholds, because switches have eight classes.
pub const MAX_THRESHOLDS: usize = 7;

/// Thresholds of bytes sent, in ascending order. A flow moves down one class at each threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demotion {
    thresholds: [u64; MAX_THRESHOLDS],
    count: u8,
}

impl Demotion {
    /// No demotion: all packets are in class 0.
    pub const NONE: Self = Self {
        thresholds: [u64::MAX; MAX_THRESHOLDS],
        count: 0,
    };

    /// Thresholds of SCDP: 10 KB, 100 KB, 1 MB and 10 MB sent (SCDP paper, section V).
    /// NDP+ also uses the thresholds of SCDP in comparisons with SCDP.
    pub const SCDP: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

    /// Creates a rule that moves a flow down one class at each of `thresholds`, in bytes.
    /// Returns `None` for more than [`MAX_THRESHOLDS`] thresholds, and for thresholds that are not in ascending order.
    pub fn at(thresholds: &[u64]) -> Option<Self> {
        let ascending = thresholds.windows(2).all(|pair| pair[0] < pair[1]);
        if thresholds.len() > MAX_THRESHOLDS || !ascending {
            return None;
        }
        let mut demotion = Self::NONE;
        demotion.thresholds[..thresholds.len()].copy_from_slice(thresholds);
        demotion.count = thresholds.len() as u8;
        Some(demotion)
    }

    /// Returns the class of a packet. `sent` is the number of bytes that the flow has sent before the packet.
    /// Class 0 is the highest.
    #[inline]
    pub fn class(&self, sent: u64) -> u8 {
        let passed = |threshold: &&u64| sent >= **threshold;
        self.thresholds[..usize::from(self.count)]
            .iter()
            .take_while(passed)
            .count() as u8
    }

    /// Returns the number of classes, which is one more than the number of thresholds.
    pub const fn classes(&self) -> u8 {
        self.count + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_goes_down_one_class_for_each_threshold_it_passes() {
        let demotion = Demotion::at(&[10_000, 100_000]).expect("ascending");
        assert_eq!(demotion.classes(), 3);
        for (sent, class) in [
            (0, 0),
            (9_999, 0),
            (10_000, 1),
            (99_999, 1),
            (100_000, 2),
            (u64::MAX, 2),
        ] {
            assert_eq!(demotion.class(sent), class, "after {sent} bytes");
        }
        assert_eq!(Demotion::NONE.class(u64::MAX), 0);
    }

    #[test]
    fn thresholds_that_do_not_ascend_are_refused() {
        assert_eq!(Demotion::at(&[10, 10]), None);
        assert_eq!(Demotion::at(&[1, 2, 3, 4, 5, 6, 7, 8]), None);
    }
}
