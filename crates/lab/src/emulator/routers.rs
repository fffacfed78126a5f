//! Routers: switches that reply to packets whose TTL expires, at a limited rate.
//!
//! Sources: RFC 1812, 4.3.2.8 (a router limits the rate of its ICMP errors; here, by a token bucket) and 5.3.1 (TTL).
//! The default limit is Linux's limit for all errors of a machine, `net.ipv4.icmp_msgs_per_sec` and `icmp_msgs_burst`.
//! Hardware routers allow about 100 to 1,000 replies per second.
//!
//! Deviations from real routers:
//! - A switch has a single address for all of its links.
//! - There is no second limit for each receiver (Linux's `icmp_ratelimit`).

use crate::emulator::addresses;
use crate::emulator::frames::line_time;
use std::num::NonZeroU32;
use tailcut_fabric::Packet;
use tailcut_units::Time;
use tailcut_wire::foreign::{RouterAddress, time_exceeded};

/// Maximum number of replies that a switch may send in one burst (size of the token bucket).
const BURST: f64 = 50.0;
/// Default number of replies per second.
pub const USUAL_RATE: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
/// Priority class of network control packets.
const PRIORITY: u8 = 0;

/// Counters of a switch as a router.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RouterCounts {
    /// Number of packets whose TTL expired at the router.
    pub ended: u64,
    /// Number of replies that the router has sent.
    pub answered: u64,
}

#[derive(Clone, Debug)]
struct Router {
    counts: RouterCounts,
    tokens: f64,
    filled_at: Time,
}

/// Router state of all switches of a lab.
#[derive(Clone, Debug)]
pub struct Routers {
    /// Maximum number of replies per second of each switch.
    rate: f64,
    routers: Vec<Router>,
}

impl Routers {
    /// Creates `switches` routers. Each router sends at most `rate` replies per second, and at most 50 in one burst.
    pub fn new(switches: usize, rate: NonZeroU32) -> Self {
        let router = Router {
            counts: RouterCounts::default(),
            tokens: BURST,
            filled_at: Time::ZERO,
        };
        Self {
            rate: f64::from(rate.get()),
            routers: vec![router; switches],
        }
    }

    /// Writes the reply to a packet whose TTL has expired at a switch.
    /// Returns the packet of the reply and the length of its frame in bytes.
    /// Returns `None` if the rate limit forbids a reply. `ended` is the frame as the switch received it.
    pub fn answer(
        &mut self,
        now: Time,
        switch: u32,
        packet: &Packet,
        ended: &[u8],
        out: &mut [u8],
    ) -> Option<(Packet, usize)> {
        let router = self.routers.get_mut(switch as usize)?;
        router.counts.ended += 1;
        let since = now.since(router.filled_at).as_secs_f64();
        router.tokens = (router.tokens + since * self.rate).min(BURST);
        router.filled_at = now;
        if router.tokens < 1.0 {
            return None;
        }
        let address = RouterAddress {
            mac: addresses::switch_mac(switch),
            ipv4: addresses::switch_ipv4(switch),
        };
        let length = time_exceeded(ended, address, out)?;
        router.tokens -= 1.0;
        router.counts.answered += 1;
        let answer = Packet {
            // A switch has no host number, so the reply gets the number of the packet's destination.
            src: packet.dst,
            dst: packet.src,
            flow_hash: packet.flow_hash,
            size: line_time(length),
            priority: PRIORITY,
            path: Packet::ANY_PATH,
            ..Packet::default()
        };
        Some((answer, length))
    }

    /// Returns the counters of each switch.
    pub fn counts(&self) -> impl Iterator<Item = RouterCounts> {
        self.routers.iter().map(|router| router.counts)
    }
}

/// Returns the hop limit that a host's packet gets in the fabric. 0 means no limit.
/// A packet with TTL 0 expires at the first switch, like a packet with TTL 1.
pub fn hop_limit(ttl: Option<u8>) -> u8 {
    ttl.map_or(0, |ttl| ttl.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Duration, HostId};

    /// Returns a datagram from host 0 to host 1.
    fn frame() -> Vec<u8> {
        let [from, to] = [0, 1].map(HostId);
        let macs = (addresses::mac(from), addresses::mac(to));
        let addresses = [from, to].map(|host| addresses::ipv4(host).octets());
        let builder = etherparse::PacketBuilder::ethernet2(macs.0, macs.1);
        let builder = builder.ipv4(addresses[0], addresses[1], 1).udp(7, 9);
        let mut frame = Vec::new();
        builder.write(&mut frame, &[0; 10]).expect("fits");
        frame
    }

    fn packet() -> Packet {
        Packet {
            src: HostId(0),
            dst: HostId(1),
            ..Packet::default()
        }
    }

    #[test]
    fn a_switch_answers_at_its_rate_and_a_burst_after_silence() {
        let mut routers = Routers::new(2, NonZeroU32::new(100).expect("above 0"));
        let frame = frame();
        let mut answers = |switch: u32, at: Time, asked: u32| {
            let mut out = [0; 600];
            let asked = (0..asked).map(|_| routers.answer(at, switch, &packet(), &frame, &mut out));
            asked.flatten().count()
        };
        assert_eq!(answers(0, Time::ZERO, 80), 50);
        assert_eq!(
            answers(1, Time::ZERO, 3),
            3,
            "each switch has its own bucket"
        );
        let later = Time::ZERO.saturating_add(Duration::from_ms(105));
        assert_eq!(answers(0, later, 80), 10);
        let much_later = later.saturating_add(Duration::from_ms(60_000));
        assert_eq!(answers(0, much_later, 80), 50);
        let counts: Vec<RouterCounts> = routers.counts().collect();
        assert_eq!((counts[0].ended, counts[0].answered), (240, 110));
    }

    #[test]
    fn an_answer_goes_back_to_the_sender_with_the_switchs_own_address() {
        let mut routers = Routers::new(3, USUAL_RATE);
        let mut out = [0; 600];
        let answer = routers.answer(Time::ZERO, 2, &packet(), &frame(), &mut out);
        let (answer, length) = answer.expect("an answer");
        assert_eq!((answer.src, answer.dst), (HostId(1), HostId(0)));
        // The length is the sum of three outer headers (Ethernet, IP, ICMP) and of the datagram.
        // The datagram consists of an IP header, a UDP header and payload.
        assert_eq!(length, 14 + 20 + 8 + 20 + 8 + 10);
        assert_eq!(answer.size, line_time(length));
        assert_eq!(out[26..30], addresses::switch_ipv4(2).octets());
        assert!(
            routers
                .answer(Time::ZERO, 3, &packet(), &frame(), &mut out)
                .is_none()
        );
    }
}
