//! Phantom queues (HULL: Alizadeh et al., NSDI 2012, section 3): a counter that simulates a queue
//! drained slower than the link, and marks by it, so that congestion is signalled before a queue
//! forms. On every packet v <- max(0, v - gamma C dt) + size; an ECN-capable packet is marked when
//! v is above the threshold. The packets themselves are never delayed.
//!
//! The counter is kept as the instant at which it would be empty, which is exact in picoseconds.
//!
//! Deviations: none known. Public ns-2 code has the counter beside the port instead of behind it;
//! both placements are offered.

use crate::packet::{Ecn, Packet};
use tailcut_units::Rate;

/// A phantom queue's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phantom {
    /// The drain rate, gamma C; 0.95 of the link's in the paper's main setting.
    pub drain: Rate,
    /// Packets that bring the counter above this many bytes are marked (1 to 30 KB in the paper).
    pub mark_above_bytes: u64,
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

/// A phantom queue at work.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PhantomState {
    empty_at_ps: u64,
}

impl PhantomState {
    /// Counts a packet at `now` and marks it if that brings the counter above the threshold. Says
    /// whether it did.
    pub fn pass(&mut self, now_ps: u64, config: &Phantom, packet: &mut Packet) -> bool {
        let takes = config.drain.serialisation(u64::from(packet.size)).as_ps();
        self.empty_at_ps = self.empty_at_ps.max(now_ps) + takes;
        let threshold = config.drain.serialisation(config.mark_above_bytes).as_ps();
        let marks = self.empty_at_ps - now_ps > threshold && packet.ecn == Ecn::Capable;
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
    fn the_counter_follows_its_closed_form() {
        let config = Phantom {
            drain: Rate::from_mbps(950),
            mark_above_bytes: 6_000,
            placement: Placement::Series,
        };
        let mut phantom = PhantomState::default();
        // v <- max(0, v - gamma C dt) + size, in floating point.
        let (mut v, mut before) = (0.0f64, 0u64);
        let mut state = 9;
        let mut now = 0;
        let (mut marked, mut unmarked) = (0, 0);
        for _ in 0..20_000 {
            state = tailcut_units::mix64(state);
            now += state % 14_000_000;
            let size = 64 + (state >> 40) as u32 % 1_475;
            v = (v - 950e6 / 8.0 * (now - before) as f64 * 1e-12).max(0.0) + f64::from(size);
            before = now;
            let mut packet = Packet {
                size,
                ecn: Ecn::Capable,
                ..Packet::default()
            };
            let marks = phantom.pass(now, &config, &mut packet);
            if (v - 6_000.0).abs() > 1.0 {
                assert_eq!(marks, v > 6_000.0, "v = {v}");
            }
            *(if marks { &mut marked } else { &mut unmarked }) += 1;
        }
        assert!(marked > 1_000 && unmarked > 1_000, "{marked} {unmarked}");
    }

    #[test]
    fn a_packet_that_is_not_ecn_capable_counts_but_is_not_marked() {
        let config = Phantom {
            drain: Rate::from_gbps(1),
            mark_above_bytes: 0,
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
