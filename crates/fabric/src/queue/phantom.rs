//! Phantom queues (HULL: Alizadeh et al., NSDI 2012, section 3): a counter that simulates a queue
//! drained slower than the link, and marks by it, so that congestion is signalled before a queue
//! forms. On every packet v <- max(0, v - gamma C dt), the packet is marked if v is above the
//! threshold and it is ECN-capable, then v <- v + size. The packets themselves are never delayed.
//!
//! The counter is kept as the instant at which it would be empty, which is exact in picoseconds.
//!
//! Deviations: none known. Whether the packet itself counts in what is compared the paper leaves open:
//! here it does not, as at a port (RFC 8257, section 3.1), since a threshold of 1 KB, which the paper
//! has, would mark every full packet; one public emulator adds the packet first, and that rule is
//! offered. Public ns-2 code has the counter beside the port instead of behind it; both placements are
//! offered.

use crate::packet::{Ecn, Packet};
use tailcut_units::Rate;

/// A phantom queue's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phantom {
    /// The drain rate, gamma C; 0.95 of the link's in the paper's main setting.
    pub drain: Rate,
    /// Packets are marked when the counter is above this many bytes (1 to 30 KB in the paper).
    pub mark_above_bytes: u64,
    /// Which value of the counter that is.
    pub compare: Compare,
    /// Where packets are counted.
    pub placement: Placement,
}

/// Where a phantom queue sees the packets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Placement {
    /// On the link behind the port ("bump on the wire"): packets arrive one after another at the
    /// line rate.
    #[default]
    Series,
    /// Beside the port: packets are counted as they arrive, bursts included.
    Parallel,
}

/// What is compared with the threshold.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Compare {
    /// What the packet finds, as at a port (RFC 8257, section 3.1).
    #[default]
    Before,
    /// What it leaves, itself included, as in one public emulator of HULL.
    After,
}

/// A phantom queue at work.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PhantomState {
    empty_at_ps: u64,
}

impl PhantomState {
    /// Counts a packet at `now` and marks it if the counter is above the threshold. Says whether it
    /// did.
    pub fn pass(&mut self, now_ps: u64, config: &Phantom, packet: &mut Packet) -> bool {
        let takes = config.drain.serialisation(u64::from(packet.size)).as_ps();
        let found = self.empty_at_ps.max(now_ps);
        self.empty_at_ps = found + takes;
        let compared = match config.compare {
            Compare::Before => found,
            Compare::After => self.empty_at_ps,
        };
        let threshold = config.drain.serialisation(config.mark_above_bytes).as_ps();
        let marks = compared - now_ps > threshold && packet.ecn.is_markable();
        if marks {
            packet.ecn = Ecn::Marked;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_follows_its_closed_form_and_marks_by_either_rule() {
        for compare in [Compare::Before, Compare::After] {
            let config = Phantom {
                drain: Rate::from_mbps(950),
                mark_above_bytes: 6_000,
                compare,
                placement: Placement::Series,
            };
            let mut phantom = PhantomState::default();
            // v <- max(0, v - gamma C dt), then + size, in floating point.
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
                let marks = phantom.pass(now, &config, &mut packet);
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
            drain: Rate::from_gbps(1),
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
            phantom.pass(now_us * 1_000_000, &config, &mut packet)
        };
        // 1,538 B drain in 12.3 us: the first two find nothing, the third finds the second.
        assert_eq!([pass(0), pass(20), pass(21)], [false, false, true]);
    }

    #[test]
    fn a_packet_that_is_not_ecn_capable_counts_but_is_not_marked() {
        let config = Phantom {
            drain: Rate::from_gbps(1),
            mark_above_bytes: 0,
            compare: Compare::After,
            placement: Placement::Series,
        };
        let mut packet = Packet {
            size: 1_000,
            ..Packet::default()
        };
        assert!(!PhantomState::default().pass(0, &config, &mut packet));
        assert_eq!(packet.ecn, Ecn::NotCapable);
    }
}
