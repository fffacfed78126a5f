//! Weighted ECMP (Zhou et al., "WCMP: Weighted Cost Multipathing for Improved Fairness in Data Centers", EuroSys 2014).
//! A hash of the flow chooses a port. The probability of a port is proportional to its weight.
//!
//! Deviations: the weight of a port is the rate of its link.
//! The controller of WCMP uses the capacity of the whole path.
//! The weights of this model are exact. Real switches approximate weights with repeated entries of a table.
//! A port whose link is down has the weight zero.

use super::own::{LoadBalancer, PortView};
use super::spec::{Choice, NamedBalancer};
use crate::packet::Packet;
use tailcut_units::{Time, mix64};

/// Returns the load balancer `@weighted-ecmp`.
pub(super) fn balancer() -> NamedBalancer {
    let summary =
        "one path for each flow, by a hash of its five-tuple, in proportion to the rates of links";
    NamedBalancer {
        source: "WCMP, EuroSys 2014",
        // A custom balancer gets only the number of its switch and no seed.
        // The hash is therefore the same in every run.
        ..NamedBalancer::custom("weighted-ecmp", summary, Choice::Flow, |switch| Weighted {
            seed: mix64(u64::from(switch) + 1),
        })
    }
}

/// Weighted ECMP at one switch.
#[derive(Debug)]
struct Weighted {
    /// Seed of the switch. Different seeds make switches of two tiers choose independently.
    seed: u64,
}

impl LoadBalancer for Weighted {
    fn select(&mut self, _: Time, packet: &Packet, ports: &[PortView]) -> usize {
        let weight = |port: &PortView| match port.is_up {
            true => u128::from(port.rate.as_bps()),
            false => 0,
        };
        let all: u128 = ports.iter().map(weight).sum();
        let hash = u128::from(mix64(u64::from(packet.flow_hash) ^ self.seed));
        // The hash selects a position in the sum of all weights: the sum times hash / 2^64.
        // A sum of rates has fewer than 64 bits, so the product does not overflow.
        let mut place = hash.saturating_mul(all) >> 64;
        for (index, port) in ports.iter().enumerate() {
            match place.checked_sub(weight(port)) {
                Some(rest) => place = rest,
                None => return index,
            }
        }
        // The loop finds no port only if all links are down.
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::Rate;

    fn port(gbps: u64, is_up: bool) -> PortView {
        PortView {
            port: 0,
            backlog_bytes: 0,
            backlog_packets: 0,
            rate: Rate::from_gbps(gbps),
            is_up,
            accepted_packets: 0,
            accepted_bytes: 0,
            dropped: 0,
        }
    }

    fn chosen(ports: &[PortView]) -> [u32; 3] {
        let mut balancer = Weighted { seed: 5 };
        let mut counts = [0; 3];
        for flow_hash in 0..40_000 {
            let packet = Packet {
                flow_hash,
                ..Packet::default()
            };
            counts[balancer.select(Time::ZERO, &packet, ports)] += 1;
        }
        counts
    }

    #[test]
    fn flows_are_in_proportion_to_the_rates_of_links_that_are_up() {
        let near = |found: [u32; 3], expected: [u32; 3]| {
            // The limit of 450 is above five standard deviations (433) of a share of 1/4.
            let close = found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) < 450);
            assert!(close, "{found:?}");
        };
        near(
            chosen(&[port(10, true), port(20, true), port(10, true)]),
            [10_000, 20_000, 10_000],
        );
        let one_down = chosen(&[port(10, true), port(20, false), port(30, true)]);
        near(one_down, [10_000, 0, 30_000]);
        assert_eq!(one_down[1], 0);
    }

    #[test]
    fn a_flow_stays_on_its_port() {
        let ports = [port(10, true), port(40, true), port(10, true)];
        let mut balancer = Weighted { seed: 9 };
        let packet = Packet {
            flow_hash: 77,
            ..Packet::default()
        };
        let first = balancer.select(Time::ZERO, &packet, &ports);
        assert!((0..100).all(|_| balancer.select(Time::ZERO, &packet, &ports) == first));
    }
}
