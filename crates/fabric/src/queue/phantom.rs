//! Phantom queues (HULL: Alizadeh et al., NSDI 2012, section 3).
//! A phantom queue is a counter that simulates a queue which drains slower than the link.
//! The counter marks packets, and therefore signals congestion before a real queue forms.
//! For every packet, the counter v first drains: v <- max(0, v - gamma C dt).
//! The symbol gamma is the drain factor, C the rate of the link, and dt the time since the previous packet.
//! If v exceeds the threshold and the packet is ECN-capable, the packet is marked.
//! After the comparison with the threshold, the packet is added: v <- v + size. Packets are never delayed.
//!
//! The counter is stored as the time at which the phantom queue would be empty. This is exact in picoseconds.
//!
//! Deviations: none known. The paper does not define whether the packet itself is counted in the comparison.
//! By default, the counter excludes the packet itself in this comparison, as at a port (RFC 8257, section 3.1).
//! If the packet were counted, the paper's threshold of 1 KB would mark every full packet.
//! One public emulator adds the packet before the comparison. This is an option.
//! In public ns-2 code, the counter is in parallel to the port and not after the port. This is also an option.

use crate::packet::{Ecn, Packet};
use tailcut_units::Rate;

/// Parameters of a phantom queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phantom {
    /// Drain rate gamma, as a share of the link's current rate, above 0 and at most 1.
    /// The main setting of the paper is 0.95.
    pub drain: f64,
    /// Threshold in bytes. A packet is marked if the counter exceeds the threshold. The paper has 1 to 30 KB.
    pub mark_above_bytes: u64,
    /// Value of the counter that is compared with the threshold: before or after the packet is added.
    pub compare: Compare,
    /// Position of the phantom queue: after the port, or in parallel to the port.
    pub placement: Placement,
}

impl Phantom {
    /// Returns the drain rate for a link of this rate, at least 1 bit per second.
    pub(crate) fn drain_rate(&self, link: Rate) -> Rate {
        Rate::from_bps((link.as_bps() as f64 * self.drain) as u64).unwrap_or(Rate::LEAST)
    }
}

/// Position of a phantom queue. Packets are counted at this position.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Placement {
    /// On the link after the port ("bump on the wire"). Packets arrive one after another at the line rate.
    #[default]
    Series,
    /// In parallel to the port. Packets are counted when they arrive, including bursts.
    Parallel,
}

/// Value of the counter that is compared with the threshold.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Compare {
    /// Value before the packet is added, as at a port (RFC 8257, section 3.1).
    #[default]
    Before,
    /// Value after the packet is added, as in one public emulator of HULL.
    After,
}

/// State of a phantom queue.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PhantomState {
    empty_at_ps: u64,
}

impl PhantomState {
    /// Counts a packet at `now`. If the counter exceeds the threshold, marks the packet.
    /// Returns whether the packet was marked. `drain` is the drain rate.
    pub fn pass(
        &mut self,
        now_ps: u64,
        config: &Phantom,
        drain: Rate,
        packet: &mut Packet,
    ) -> bool {
        let takes = drain.serialisation(u64::from(packet.size)).as_ps();
        let found = self.empty_at_ps.max(now_ps);
        self.empty_at_ps = found + takes;
        let compared = match config.compare {
            Compare::Before => found,
            Compare::After => self.empty_at_ps,
        };
        let threshold = drain.serialisation(config.mark_above_bytes).as_ps();
        let marks = compared - now_ps > threshold && packet.ecn.is_markable();
        if marks {
            packet.ecn = Ecn::Marked;
        }
        marks
    }

    /// Changes the drain rate at `now`. The counter keeps its bytes.
    pub fn drain_changes(&mut self, now_ps: u64, before: Rate, after: Rate) {
        let left = u128::from(self.empty_at_ps.saturating_sub(now_ps));
        let bits = left * u128::from(before.as_bps());
        let left = bits.div_ceil(u128::from(after.as_bps()));
        self.empty_at_ps = now_ps.saturating_add(u64::try_from(left).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_follows_its_closed_form_and_marks_by_either_rule() {
        for compare in [Compare::Before, Compare::After] {
            let config = Phantom {
                drain: 0.95,
                mark_above_bytes: 6_000,
                compare,
                placement: Placement::Series,
            };
            let mut phantom = PhantomState::default();
            // The reference is v <- max(0, v - gamma C dt), then v <- v + size, in floating point.
            let (mut v, mut before) = (0.0f64, 0u64);
            let mut state = 9;
            let mut now = 0;
            let (mut marked, mut unmarked) = (0, 0);
            for _ in 0..20_000 {
                state = tailcut_units::mix64(state);
                now += state % 14_000_000;
                let size = 64 + (state >> 40) as u32 % 1_475;
                let found = (v - 950e6 / 8.0 * (now - before) as f64 * 1e-12).max(0.0);
                v = found + f64::from(size);
                before = now;
                let mut packet = Packet {
                    size,
                    ecn: Ecn::Capable,
                    ..Packet::default()
                };
                let marks = phantom.pass(now, &config, Rate::from_mbps(950), &mut packet);
                let compared = match compare {
                    Compare::Before => found,
                    Compare::After => v,
                };
                if (compared - 6_000.0).abs() > 1.0 {
                    assert_eq!(marks, compared > 6_000.0, "{compare:?}, {compared}");
                }
                *(if marks { &mut marked } else { &mut unmarked }) += 1;
            }
            assert!(marked > 1_000 && unmarked > 1_000, "{marked} {unmarked}");
        }
    }

    #[test]
    fn a_threshold_below_a_packet_marks_only_what_finds_one() {
        let config = Phantom {
            drain: 1.0,
            mark_above_bytes: 1_000,
            compare: Compare::default(),
            placement: Placement::Series,
        };
        let mut phantom = PhantomState::default();
        let mut pass = |now_us: u64| {
            let mut packet = Packet {
                size: 1_538,
                ecn: Ecn::Capable,
                ..Packet::default()
            };
            phantom.pass(now_us * 1_000_000, &config, Rate::from_gbps(1), &mut packet)
        };
        // 1,538 bytes drain in 12.3 us. The counter is empty for the first two packets.
        // For the third packet, it still contains the second.
        assert_eq!([pass(0), pass(20), pass(21)], [false, false, true]);
    }

    #[test]
    fn the_counter_keeps_its_bytes_when_the_drain_rate_changes() {
        let config = Phantom {
            drain: 1.0,
            mark_above_bytes: 10_000,
            compare: Compare::Before,
            placement: Placement::Series,
        };
        let (fast, slow) = (Rate::from_gbps(8), Rate::from_gbps(2));
        let mut phantom = PhantomState::default();
        let mut packet = Packet {
            size: 3_000,
            ..Packet::default()
        };
        phantom.pass(0, &config, fast, &mut packet);
        // After 1 us, 1,000 bytes have drained. The remaining 2,000 bytes need 8 us at a quarter of the rate.
        phantom.drain_changes(1_000_000, fast, slow);
        assert_eq!(phantom.empty_at_ps, 9_000_000);
        phantom.drain_changes(5_000_000, slow, fast);
        assert_eq!(phantom.empty_at_ps, 6_000_000);
    }

    #[test]
    fn a_packet_that_is_not_ecn_capable_counts_but_is_not_marked() {
        let config = Phantom {
            drain: 1.0,
            mark_above_bytes: 0,
            compare: Compare::After,
            placement: Placement::Series,
        };
        let mut packet = Packet {
            size: 1_000,
            ..Packet::default()
        };
        assert!(!PhantomState::default().pass(0, &config, Rate::from_gbps(1), &mut packet));
        assert_eq!(packet.ecn, Ecn::NotCapable);
    }
}
